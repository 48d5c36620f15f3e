"""How long a test waits for what should come: one bound for all, which a busy machine does not reach (AUDIT-N18).

A bound of a test's own is a guess at how fast the machine is. What a bound proves (two seconds after a stop) is a
promise of the program's, is short, and has a name.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
SHORTEST_GUESS_S = 10

BOUNDS = ("timeout", "within_s")
"""Words by which a bound is given."""

BOUNDED = ("fail_after", "move_on_after", "wait", "join")
"""Calls whose first argument is a bound."""


def guesses(tree: ast.AST) -> Iterator[int]:
    """The lines in which a number of ten seconds and more stands where something is waited for."""
    for node in ast.walk(tree):
        for bound in bounds(node):
            value = getattr(bound, "value", None)
            if isinstance(value, int | float) and value >= SHORTEST_GUESS_S:
                yield bound.lineno


def bounds(node: ast.AST) -> Iterator[ast.expr]:
    """What a call gives as a bound, or a function takes for one by itself."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield from (word.value for word in node.keywords if word.arg in BOUNDS)
        yield from node.args[:1] if name in BOUNDED else []
    elif isinstance(node, ast.arguments):
        for names, values in (
            (node.kwonlyargs, node.kw_defaults),
            ((node.posonlyargs + node.args)[::-1], node.defaults[::-1]),
        ):
            given = zip(names, values, strict=False)
            yield from (value for each, value in given if value is not None and each.arg in BOUNDS)


def test_no_test_guesses_how_fast_the_machine_is() -> None:
    """AUDIT-N18"""
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in guesses(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == [], "wait for musician.testing.waiting.HANG_S"


def test_a_guess_is_found() -> None:
    lines = (
        "run(argv, timeout=60)",
        "with anyio.fail_after(30): pass",
        "run(argv, timeout=HANG_S)",
        "wait(timeout=2)",
        "client.end(within_s=120)",
        "process.wait(60), process.wait(HANG_S), process.wait(0.1), text.join([10])",
        "def wait(look, *, within_s=60): pass",
        "def wait(look, within_s: float = 60): pass",
    )
    assert sorted(guesses(ast.parse("\n".join(lines)))) == [1, 2, 5, 6, 7, 8]
