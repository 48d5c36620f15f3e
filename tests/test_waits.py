"""How long a test waits for what should come: one bound for all, which a busy machine does not reach (AUDIT-N18).

A bound of a test's own is a guess at how fast the machine is. What a bound proves (two seconds after a stop) is a
promise of the program's, is short, and has a name.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
SHORTEST_GUESS_S = 10


def guesses(tree: ast.AST) -> Iterator[int]:
    """The lines in which a number of ten seconds and more stands where something is waited for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            bounds = [word.value for word in node.keywords if word.arg == "timeout"]
            bounds += node.args if name == "fail_after" else []
            for bound in bounds:
                if isinstance(bound, ast.Constant) and float(str(bound.value or 0)) >= SHORTEST_GUESS_S:
                    yield node.lineno


def test_no_test_guesses_how_fast_the_machine_is() -> None:
    """AUDIT-N18"""
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in guesses(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == [], "wait for musician.testing.waiting.HANG_S"


def test_a_guess_is_found() -> None:
    text = (
        "run(argv, timeout=60)\nwith anyio.fail_after(30): pass\nrun(argv, timeout=HANG_S)\nwait(timeout=2)"
    )
    assert list(guesses(ast.parse(text))) == [1, 2]
