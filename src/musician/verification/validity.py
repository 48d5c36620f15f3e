"""Tests the tests: a new or changed test must be able to fail (D16).

Each is run against the code as it was at the last checkpoint. One that passes there does not show what the
checkpoint did: it is named. That alone is no proof of a bad test, for a test may well pin down how older code behaves;
whether such tests hold a checkpoint back is the setting ``validity.least_failing_pct``, by default only when not a
single new or changed test fails there, and never where the task says ``may-pass-before``. A trivial test holds it back
in any case, wherever it stands: behind an import that fails in the old tree it fails there for the import's sake.

A test file of which the commands run nothing (it is outside of ``testpaths``, or left out by ``addopts``) is no part of
it: what never runs shows nothing, however it would end. Such files are named.

Where only tests changed, nothing could make them fail; where the runner is not pytest or unittest, single tests
cannot be told apart. Both are said. A test that breaks in the old tree for any reason, a missing import above all,
can fail: that is what it should do there.
"""

from collections.abc import Collection, Sequence

import anyio.to_thread

from musician.protocol.values import replace
from musician.trees.git import Git
from musician.verification.change import CodeChange, is_test_side
from musician.verification.commands import CommandRunner, Ran
from musician.verification.findings import Validity
from musician.verification.invocation import invocations
from musician.verification.oldtree import as_now, runner_beside
from musician.verification.testcode import Candidate, by_name, changed_tests, files_run, outcomes_of

MAX_TESTS = 100
"""New or changed tests looked at, at one checkpoint; what is over is counted."""


async def try_the_tests(
    change: CodeChange,
    commands: Sequence[str],
    *,
    runner: CommandRunner,
    time_limit_s: float,
    never_run: Collection[str] = (),
) -> Validity:
    """Run the change's new and changed tests on the old code, by those of ``commands`` that can name them.

    ``never_run`` are the files to leave out (:func:`never_run_in`).
    """
    found = await anyio.to_thread.run_sync(changed_tests, Git(runner.tree), change)
    if not found:
        return Validity()
    run = tuple(each for each in found if each.path not in never_run)
    tried = Validity()
    if run:
        tried = await _tried(run, change, commands, runner=runner, time_limit_s=time_limit_s)
    tried = replace(tried, left_out=tried.left_out + len(found) - len(run))
    return replace(tried, trivial=tuple(str(each) for each in found if each.is_trivial))


def never_run_in(git: Git, change: CodeChange, ran: Sequence[Ran]) -> tuple[str, ...]:
    """Return the files of new and changed tests of which no command has run a single test.

    None where a run has not named all its tests: then nobody can tell.
    """
    records = [each.record for each in ran if each.record is not None]
    if not records or any(len(each.outcomes) < each.counts.total for each in records):
        return ()
    files = dict.fromkeys(each.path for each in changed_tests(git, change))
    run = files_run(files, (name for each in records for name in each.outcomes))
    return tuple(path for path in files if path not in run)


async def _tried(
    found: Sequence[Candidate],
    change: CodeChange,
    commands: Sequence[str],
    *,
    runner: CommandRunner,
    time_limit_s: float,
) -> Validity:
    candidates = tuple(found[:MAX_TESTS])
    if not change.subjects:
        return Validity(why_not="only tests changed", left_out=len(found))
    hows = invocations(commands)
    if not hows:
        return Validity(why_not="not possible with this test runner", left_out=len(found))
    how = next((how for how in hows if any(how.reaches(each.path) for each in candidates)), None)
    if how is None:
        return Validity(why_not="outside the folder that the tests run in", left_out=len(found))
    candidates = tuple(each for each in candidates if how.reaches(each.path))
    # Whole files: naming single tests would end the run if one of them does not exist.
    files = tuple(dict.fromkeys(each.path for each in candidates))
    put = as_now(file for file in change.files if is_test_side(file.path))
    async with runner_beside(
        runner, change.base, put=put, folder=how.folder, time_limit_s=time_limit_s
    ) as beside:
        ran = await beside.run(how.of_files(files, to_the_end=True))
    if ran.record is None:
        why = ran.result.why or "the run left no record"
        return Validity(why_not=f"on the code as it was: {why}", left_out=len(found))
    outcomes = by_name(ran.record.outcomes)
    there = {each: outcomes_of(each, outcomes) for each in candidates}
    passing = [each for each, found_there in there.items() if found_there == {"passed"}]
    failing = [each for each, found_there in there.items() if "failed" in found_there]
    examined = len(passing) + len(failing)
    return Validity(
        examined=examined,
        cannot_fail=tuple(str(each) for each in passing),
        left_out=len(found) - examined,
    )
