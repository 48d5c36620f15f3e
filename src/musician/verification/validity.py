"""Testing the tests: a new or changed test must be able to fail (D16).

Each is run against the code as it was at the last checkpoint. One that passes there does not show what the
checkpoint did: it is named. That alone is no proof of a bad test, for a test may well pin down how older code behaves;
whether such tests hold a checkpoint back is the setting ``validity.least_failing_pct``, by default only when not a
single new or changed test fails there. A test that passes there *and* whose every assertion is about constants, or
that neither asserts nor calls anything, holds it back in any case.

Where only tests changed, nothing could make them fail; where the runner is not pytest or unittest, single tests
cannot be told apart. Both are said. A test that breaks in the old tree for any reason, a missing import above all,
can fail: that is what it should do there.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from musician.trees.git import Git
from musician.verification.change import Change, is_test_file, is_test_side, read_blobs
from musician.verification.commands import CommandRunner, Ran
from musician.verification.counts import Outcome
from musician.verification.findings import Validity
from musician.verification.invocation import Invocation, Runner, module_name, read_invocation
from musician.verification.oldtree import old_tree

__all__ = ["MAX_TESTS", "Candidate", "changed_tests", "try_the_tests"]

MAX_TESTS = 100
"""New or changed tests looked at, at one checkpoint; what is over is counted."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A new or changed test: ``name`` is "test_a" or "Class.test_a"."""

    path: str
    name: str
    is_trivial: bool

    def __str__(self) -> str:
        return f"{self.path}::{self.name.replace('.', '::')}"


async def try_the_tests(
    change: Change,
    commands: Sequence[str],
    *,
    tree: Path,
    runner: CommandRunner,
    time_limit_s: float,
) -> Validity:
    """Run the change's new and changed tests on the old code, by whichever of ``commands`` can name them."""
    found = await anyio.to_thread.run_sync(changed_tests, Git(tree), change)
    candidates = found[:MAX_TESTS]
    if not candidates:
        return Validity()
    if not change.subjects:
        return Validity(why_not="only tests changed", left_out=len(found))
    invocations = [each for command in commands if (each := read_invocation(command)) is not None]
    if not invocations:
        return Validity(why_not="not possible with this test runner", left_out=len(found))
    how = next((how for how in invocations if any(how.reaches(each.path) for each in candidates)), None)
    if how is None:
        return Validity(why_not="outside the folder that the tests run in", left_out=len(found))
    candidates = tuple(each for each in candidates if how.reaches(each.path))
    ran = await _run_there(change, candidates, how, tree=tree, runner=runner, time_limit_s=time_limit_s)
    if ran.record is None:
        why = ran.result.why or "the run left no record"
        return Validity(why_not=f"on the code as it was: {why}", left_out=len(found))
    outcomes = _by_name(ran.record.outcomes)
    there = {each: _outcomes_of(each, outcomes) for each in candidates}
    passing = [each for each, found_there in there.items() if found_there == {"passed"}]
    failing = [each for each, found_there in there.items() if "failed" in found_there]
    examined = len(passing) + len(failing)
    return Validity(
        examined=examined,
        cannot_fail=tuple(str(each) for each in passing),
        trivial=tuple(str(each) for each in passing if each.is_trivial),
        left_out=len(found) - examined,
    )


async def _run_there(
    change: Change,
    candidates: Sequence[Candidate],
    how: Invocation,
    *,
    tree: Path,
    runner: CommandRunner,
    time_limit_s: float,
) -> Ran:
    """Whole files, for naming single tests would end the run where one of them is not found."""
    files = tuple(dict.fromkeys(each.path for each in candidates))
    replaced = [file for file in change.files if is_test_side(file.path)]
    async with old_tree(tree, change.base, replaced=replaced, env=runner.env, folder=how.folder) as old:
        there = runner.elsewhere(old.path, env=old.env, time_limit_s=min(time_limit_s, runner.time_limit_s))
        command = how.of_files(files, *_ALL_OF_THEM[how.runner])
        ran = await there.run(command)
        runner.spent_s += there.spent_s
        return ran


_ALL_OF_THEM = {
    Runner.PYTEST: ("--continue-on-collection-errors", "--maxfail=0"),
    Runner.UNITTEST: ("-v",),
}
"""Options with which no failure hides the tests after it, and every test is named."""


def changed_tests(git: Git, change: Change) -> tuple[Candidate, ...]:
    """The tests that are new, or whose code differs, in the order of files and lines."""
    files = [file for file in change.present if file.is_python and is_test_file(file.path)]
    contents = read_blobs(git, (blob for file in files for blob in (file.old_blob, file.new_blob)))
    found: list[Candidate] = []
    for file in files:
        new = _tests_in(contents.get(file.new_blob, b""))
        old = _tests_in(contents.get(file.old_blob, b"")) if file.old_blob else {}
        found += (
            Candidate(path=file.path, name=name, is_trivial=_is_trivial(test.node))
            for name, test in new.items()
            if name not in old or test.differs_from(old[name])
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Test:
    node: _Function
    text: bytes

    def differs_from(self, other: "_Test") -> bool:
        # the text first: most tests of a changed file are as they were
        return self.text != other.text and ast.dump(self.node) != ast.dump(other.node)


def _tests_in(source: bytes) -> dict[str, _Test]:
    """Test functions and methods by name; none in a file that does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines = source.split(b"\n")
    return {name: _Test(node, _text_of(node, lines)) for name, node in _functions(tree.body, "")}


def _functions(nodes: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")


def _text_of(node: _Function, lines: Sequence[bytes]) -> bytes:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return b"\n".join(lines[first - 1 : node.end_lineno])


def _is_trivial(node: _Function) -> bool:
    """Whether all it asserts is about constants, or it neither asserts nor calls, raises or waits for anything."""
    asserted: list[bool] = []
    acts = False
    for each in (inner for statement in node.body for inner in ast.walk(statement)):
        if isinstance(each, ast.Assert):
            asserted.append(_is_constant(each.test))
        elif isinstance(each, ast.Call) and _last_name(each.func).lstrip("_").startswith(_ASSERTING):
            asserted.append(all(map(_is_constant, each.args)) and bool(each.args))
        elif isinstance(each, ast.Call | ast.Raise | ast.Await):
            acts = True
    return all(asserted) if asserted else not acts


_ASSERTING = ("assert", "fail", "raises", "warns", "check", "expect", "verify", "ensure", "must", "should")


def _is_constant(node: ast.expr) -> bool:
    return not any(isinstance(each, ast.Name | ast.Attribute | ast.Call) for each in ast.walk(node))


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _by_name(outcomes: Mapping[str, Outcome]) -> dict[str, list[tuple[str, Outcome]]]:
    """Recorded outcomes by a test's last name; each with its whole name, without parameters."""
    sorted_out: dict[str, list[tuple[str, Outcome]]] = {}
    for recorded, outcome in outcomes.items():
        whole = recorded.partition("[")[0].replace("::", ".")
        sorted_out.setdefault(whole.rpartition(".")[2], []).append((whole, outcome))
    return sorted_out


def _outcomes_of(candidate: Candidate, outcomes: Mapping[str, list[tuple[str, Outcome]]]) -> set[Outcome]:
    """All outcomes of one test: of its parameters, or none if it did not run.

    Names are recorded from wherever the runner's root is, so one may be the end of the other.
    """
    module = f".{module_name(candidate.path)}"
    own = _ending_alike(f"{module}.{candidate.name}", outcomes)
    # a file that cannot be imported is recorded under its own name, and none of its tests is
    return own or {outcome for outcome in _ending_alike(module, outcomes) if outcome == "failed"}


def _ending_alike(wanted: str, outcomes: Mapping[str, list[tuple[str, Outcome]]]) -> set[Outcome]:
    near = outcomes.get(wanted.rpartition(".")[2], [])
    return {
        outcome for whole, outcome in near if wanted.endswith(f".{whole}") or f".{whole}".endswith(wanted)
    }
