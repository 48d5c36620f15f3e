"""Judges a change by the tests and referees that stood before it (D26).

If a change touches no existing test, nothing that tests are compared with and no referee, there is nothing to
look at, and nothing is run. Otherwise one scratch tree is laid out: the present code, with every test, every
file beside them and every referee as they were. Its test results are compared with those of this checkpoint's
own run:

- a test that fails there repeatedly, and did not fail on the old code, is a changed expectation, or shows
what a changed
  referee hides;
- a test that passes there and is now gone, skipped, expected to fail or left out, is named, unless it only
  has another name or place;
- a changed referee needs a judge in any case, unless it only adds what tests must ask for.

Tests that are skipped or expected to fail although nothing of theirs changed are run on the old code, once: the change
may be what has disabled them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import PurePosixPath

from anyio.to_thread import run_sync

from musician.protocol.rules.referee import MAX_FINDINGS, Finding, FindingKind, may_change
from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.verification.change import ChangedFile, CodeChange, is_test_file, is_test_side, read_blobs
from musician.verification.commands import CommandRunner, Ran
from musician.verification.counts import Outcome
from musician.verification.findings import named
from musician.verification.imports import Project
from musician.verification.invocation import Invocation, invocations, shared_out
from musician.verification.oldtree import as_before, runner_beside
from musician.verification.referees import Referee, changed_referees
from musician.verification.run import settle
from musician.verification.testcode import Candidate, by_name, changed_tests, outcomes_of, tests_in

IDLE = ("skipped", "xfailed")
_KIND_NOW: Mapping[Outcome | None, FindingKind] = {
    None: FindingKind.NOT_RUN,
    "skipped": FindingKind.SKIPPED,
    "xfailed": FindingKind.EXPECTED_TO_FAIL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The ``findings`` in order, and further remarks."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


async def judge_by_the_base(
    change: CodeChange,
    project: Project,
    commands: Sequence[str],
    now: Sequence[Ran],
    *,
    runner: CommandRunner,
    idle_before: Collection[str],
    allowed: Sequence[str],
) -> Judged:
    """Judge the change. ``now`` is what this checkpoint ran; ``idle_before`` are tests that were skipped or
    expected to fail before.
    """
    git = Git(runner.tree)
    referees = await run_sync(partial(changed_referees, git, change, commands))
    is_referee = {each.file.path for each in referees}
    tests = tuple(
        file
        for file in change.listed
        if file.path not in is_referee
        and is_test_side(file.path)
        and (file.kind != "created" or _is_test(file.path))
    )
    bench = _Bench(
        change=change,
        project=project,
        commands=commands,
        runner=runner,
        allowed=allowed,
        referees=referees,
        tests=tests,
        now=_outcomes(now),
        counted_now=sum(ran.result.counts.ran for ran in now if ran.result.counts is not None),
    )
    if referees or any(file.kind != "created" for file in tests):
        await bench.run_the_old_tests()
    await bench.look_at_the_sleeping(idle_before)
    return Judged(findings=bench.bounded(), notes=tuple(bench.notes))


@dataclass(slots=True, kw_only=True)
class _Bench:
    change: CodeChange
    project: Project
    commands: Sequence[str]
    runner: CommandRunner
    allowed: Sequence[str]
    referees: tuple[Referee, ...]
    tests: tuple[ChangedFile, ...]
    now: Mapping[str, Outcome]
    counted_now: int
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    """Tests that something was found of."""

    async def run_the_old_tests(self) -> None:
        put = [*self.tests, *(each.file for each in self.referees)]
        failing: set[str] = set()
        quiet: list[str] = []
        passing: set[str] = set()
        counted = 0
        async with runner_beside(self.runner, self.change.tree_id, put=as_before(put)) as there:
            for command in self._old_commands():
                done = await settle(there, command)
                counts, outcomes = done.ran.result.counts, done.ran.outcomes
                counted += 0 if counts is None else counts.ran
                passing |= {name for name, outcome in outcomes.items() if outcome == "passed"}
                if done.green:
                    continue
                failing |= {name for name, outcome in outcomes.items() if outcome == "failed"}
                if not done.ran.result.failed_tests and not done.ran.result.ran_nothing:
                    quiet.append(done.ran.result.why or done.note)
        if failing or quiet:
            failing, quiet = await self._without_what_failed_before(failing, quiet)
        self._tell_the_failing(failing, quiet)
        self._tell_the_missing(passing - failing, counted)

    def _old_commands(self) -> tuple[str, ...]:
        """Return all of the checkpoint's commands; if only tests changed that can be named, commands for
        these alone.
        """
        hows = invocations(self.commands)
        files = [file.path for file in self.tests if file.kind != "created" and is_test_file(file.path)]
        derived = _of_files(hows, files)
        only_tests = len(files) == sum(file.kind != "created" for file in self.tests) and not self.referees
        if only_tests and derived and len(hows) == len(self.commands):
            return derived
        missed = [path for path in files if not any(how.runs_all_of(path) for how in hows)]
        return tuple(dict.fromkeys((*self.commands, *_of_files(hows, missed))))

    async def _without_what_failed_before(
        self, failing: set[str], quiet: list[str]
    ) -> tuple[set[str], list[str]]:
        """Drop failures that the old code has too: they are not caused by this change (D27)."""
        before = await self._run_on_the_base(self._old_commands())
        as_before = failing & {name for name, outcome in _outcomes(before).items() if outcome == "failed"}
        is_quiet = any(not ran.result.passed and not ran.result.failed_tests for ran in before)
        if as_before or (quiet and is_quiet):
            self.notes.append(f"the old tests fail as before: {named(sorted(as_before) or quiet)}")
        return failing - as_before, [] if is_quiet else quiet

    async def _run_on_the_base(self, commands: Iterable[str]) -> list[Ran]:
        async with runner_beside(self.runner, self.change.base) as there:
            return [await there.run(command) for command in commands]

    def _tell_the_failing(self, failing: set[str], quiet: list[str]) -> None:
        changed = {file.path for file in self.tests if file.kind != "created"}
        places = {name: self._place(name) for name in failing}
        for path in sorted({place for place in places.values() if place in changed}):
            here = sorted(name for name, place in places.items() if place == path)
            self._find(
                FindingKind.CHANGED_EXPECTATION,
                [path],
                f"as it was, {named(here)} fails on the code as it is",
            )
        self.named |= failing
        others = [*sorted(name for name, place in places.items() if place not in changed), *quiet]
        said = (
            f"with it as it was, this fails: {named(others)}"
            if others
            else "with it as it was everything passes"
        )
        for each in self.referees:
            if others or not each.is_harmless:
                self._find(
                    FindingKind.REFEREE, [each.file.path], f"{each.file.path} is {each.file.kind}; {said}"
                )
        if others and not self.referees:
            paths = sorted(changed)
            self._find(
                FindingKind.CHANGED_EXPECTATION,
                paths,
                f"with {named(paths)} as before, this fails on the code as it is: {named(others)}",
            )

    def _tell_the_missing(self, passing: set[str], counted: int) -> None:
        lost: dict[tuple[FindingKind, str], list[str]] = {}
        moved = self._moved()
        for name in sorted(passing):
            outcome = self.now.get(name)
            if outcome in ("passed", "failed") or self._is_moved(name, moved):
                continue
            place = self._place(name)
            kind = _KIND_NOW[outcome]
            if outcome is None and not self._stands_in(name, place):
                kind = FindingKind.REMOVED
            lost.setdefault((kind, place), []).append(name)
            self.named.add(name)
        self._find_by_place(lost)
        if not lost and not self.now and counted > self.counted_now:
            text = f"{counted - self.counted_now} of {counted} tests are not run any more"
            self._find(FindingKind.NOT_RUN, self._changed_paths(), text)

    async def look_at_the_sleeping(self, idle_before: Collection[str]) -> None:
        known = {*idle_before, *self.named}
        created = {file.path for file in self.change.listed if file.kind == "created"}
        asleep = {
            name: place
            for name, outcome in self.now.items()
            if outcome in IDLE and name not in known and (place := self._place(name)) not in created
        }
        if not asleep:
            return
        commands = _of_files(invocations(self.commands), sorted(set(asleep.values()) - {""})) or tuple(
            self.commands
        )
        before = _outcomes(await self._run_on_the_base(commands))
        woken: dict[tuple[FindingKind, str], list[str]] = {}
        for name, place in asleep.items():
            if before.get(name) == "passed" or _has_passed_within(name, before):
                woken.setdefault((_KIND_NOW[self.now[name]], place), []).append(name)
        self._find_by_place(woken)

    # -- names and places -----------------------------------------------------------------------------------------

    def _place(self, name: str) -> str:
        """Return the file that a recorded test is in; "" if it cannot be determined."""
        parts = name.partition("[")[0].replace("::", ".").split(".")
        paths = {file.path for file in self.tests} | self.project.blobs.keys()
        for end in range(len(parts), 0, -1):
            tail = "/".join(parts[:end]) + ".py"
            if tail in paths:
                return tail
            below = [path for path in paths if path.endswith(f"/{tail}")]
            if len(below) == 1 and end > 1:
                return below[0]
        return ""

    def _changed_paths(self) -> list[str]:
        changed = [file.path for file in self.tests if file.kind != "created"]
        return sorted([*changed, *(each.file.path for each in self.referees)])

    def _stands_in(self, name: str, place: str) -> bool:
        """Whether the test is still in its file, as far as the text shows."""
        file = next((file for file in self.tests if file.path == place), None)
        if file is None:
            return bool(place) or all(file.kind != "deleted" for file in self.tests)
        source = read_blobs(Git(self.runner.tree), [file.new_blob]).get(file.new_blob, b"")
        last = name.partition("[")[0].replace("::", ".").rpartition(".")[2]
        return any(each.rpartition(".")[2] == last for each in tests_in(source))

    def _moved(self) -> set[str]:
        """Return the bodies of passed tests with new names: a test that is gone may be among them."""
        git = Git(self.runner.tree)
        seen = by_name(self.now)
        new = [each for each in changed_tests(git, self.change) if outcomes_of(each, seen) == {"passed"}]
        return {each.does for each in new}

    def _is_moved(self, name: str, moved: set[str]) -> bool:
        """Whether a new test does what a test that is gone did."""
        if not moved:
            return False
        seen = by_name({name: "passed"})
        for file in self.tests:
            source = read_blobs(Git(self.runner.tree), [file.old_blob]).get(file.old_blob, b"")
            for test, code in tests_in(source).items():
                if code.does in moved and outcomes_of(
                    Candidate(path=file.path, name=test, is_trivial=False), seen
                ):
                    return True
        return False

    def _find_by_place(self, found: Mapping[tuple[FindingKind, str], list[str]]) -> None:
        for (kind, place), names in found.items():
            paths = [place] if place else self._changed_paths()
            self._find(kind, paths, f"{place}: {named(names)}" if place else named(names))

    def _find(self, kind: FindingKind, paths: Sequence[str], text: str) -> None:
        allowed = may_change(self.allowed, paths)
        self.findings.append(Finding(kind=kind, text=text, allowed=allowed))

    def bounded(self) -> tuple[Finding, ...]:
        if len(self.findings) <= MAX_FINDINGS:
            return tuple(self.findings)
        left = self.findings[MAX_FINDINGS:]
        more = Finding(
            kind=left[0].kind,
            text=f"and {len(left)} more findings",
            allowed=all(each.allowed for each in left),
        )
        return (*self.findings[:MAX_FINDINGS], more)


def _has_passed_within(file: str, outcomes: Mapping[str, Outcome]) -> bool:
    """Whether a file that skips itself now, and so is recorded under its own name, had tests that passed."""
    within = (f"{file}::", f"{file}.")
    return any(name.startswith(within) and outcome == "passed" for name, outcome in outcomes.items())


def _is_test(path: str) -> bool:
    """Whether a file holds only tests, in any language, and nothing that other files could need."""
    name = PurePosixPath(path).name
    return is_test_file(path) or any(mark in name for mark in (".test.", ".spec.", "_test.", "_spec."))


def _of_files(hows: Iterable[Invocation], paths: Sequence[str]) -> tuple[str, ...]:
    """Return commands that run these test files, each by the first runner that reaches it."""
    shares, _ = shared_out(hows, paths)
    return tuple(how.of_files(here, to_the_end=True) for how, here in shares)


def _outcomes(runs: Iterable[Ran]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for ran in runs:
        for name, outcome in ran.outcomes.items():
            if found.get(name) != "failed" and not (outcome in IDLE and name in found):
                found[name] = outcome
    return found
