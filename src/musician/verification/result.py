"""The result of a verification, as evidence that can be stored and quoted.

Nothing is green by default. A command is green only when it could be run, ended in time with exit code 0,
and, where its tests were counted, at least one ran and none failed: a runner that swallows failures, or runs
nothing, is red whatever its exit code says (D16). A result names the tree it was found on, so that it cannot
stand for another.
"""

from typing import ClassVar, Self

from musician.processes.output import one_line
from musician.protocol import plain_json
from musician.protocol.values import dataclass
from musician.verification.findings import Stages, counted

MAX_NAMED_TESTS = 5
"""Failing tests named in the one line of a review; the others are counted."""

_MAX_COMMAND_CHARS = 120
_MAX_BESIDES_CHARS = 600
"""Of what was found besides the tests, in the one line of a review; all of it is stored."""
NONE_FOUND = frozenset({0, 5})
"""How a runner ends that found no tests (5 is pytest's); by any other it says that something else is wrong."""

_CANNOT_RUN = {126: "not executable", 127: "not found"}
"""The shell's own exit codes for a command it could not start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCounts:
    """Tests of one command: ``total`` of which ``failed`` (errors included) and ``skipped``."""

    __test__: ClassVar[bool] = False  # no test class, whatever pytest makes of the name

    total: int
    failed: int
    skipped: int

    @property
    def ran(self) -> int:
        return self.total - self.skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How one command ended.

    ``exit_code`` is the shell's, 128 + N for signal N; ``counts`` is None where the runner left no record;
    ``tail`` is the end of its output; ``unreported``: a runner of tests was there, and ended without its report.
    """

    command: str
    exit_code: int
    timed_out: bool
    counts: TestCounts | None
    failed_tests: tuple[str, ...]
    tail: str
    duration_s: float
    unreported: bool = False

    @property
    def passed(self) -> bool:
        return not self.why

    @property
    def could_run(self) -> bool:
        return self.counts is not None or self.exit_code not in _CANNOT_RUN

    @property
    def ran_nothing(self) -> bool:
        """Whether the runner started and ran no test: none found, or all of them skipped."""
        return self.counts is not None and self.counts.ran == 0

    @property
    def why(self) -> str:
        """Return why it is not green, in one line; "" if it is."""
        if self.timed_out:
            return f"timed out after {self.duration_s:.0f} s: {self._quoted}"
        if not self.could_run:
            return f"cannot run: command {_CANNOT_RUN[self.exit_code]} in {self._quoted}"
        if self.ran_nothing:
            skipped = self.counts.skipped if self.counts else 0
            ran = "no tests ran" + (f" ({skipped} skipped)" if skipped else "")
            ended = "" if self.exit_code in NONE_FOUND else f", and it ended with exit code {self.exit_code}"
            return f"{ran}{ended}: {self._quoted}"
        if self.counts is not None and self.counts.failed:
            swallowed = ", but the exit code is 0" if self.exit_code == 0 else ""
            return f"{self.counts.failed} of {self.counts.total} failing: {self._named}{swallowed}"
        if self.exit_code:
            return f"exit code {self.exit_code} from {self._quoted}"
        return (
            f"exit code 0, but the test runner ended without its report: {self._quoted}"
            if self.unreported
            else ""
        )

    @property
    def _quoted(self) -> str:
        return f"`{one_line(self.command, _MAX_COMMAND_CHARS)}`"

    @property
    def _named(self) -> str:
        names = ", ".join(self.failed_tests[:MAX_NAMED_TESTS])
        more = (self.counts.failed if self.counts else 0) - MAX_NAMED_TESTS
        return (names or self._quoted) + (f" and {more} more" if names and more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """One verification of one checkpoint on the tree ``tree_id``.

    ``passed`` speaks of the tests alone; whether the checkpoint may be reported is ``ready``. ``commands`` ends
    with the first that is not green. ``flaky``: a failure did not repeat; a flaky result that has not ``passed``
    is for a human (``escalate``). ``excused`` says what fails and failed before the change began. ``full``: everything
    was run, not only what this checkpoint names. ``stages`` is what was found besides, None where only commands were
    run.
    """

    passed: bool
    commands: tuple[CommandResult, ...]
    tree_id: str
    full: bool
    checkpoint: int
    note: str
    flaky: bool = False
    excused: tuple[str, ...] = ()
    stages: Stages | None = None

    @property
    def ready(self) -> bool:
        """Whether it is green, with nothing left to fix before it is reported."""
        return self.passed and (self.stages is None or self.stages.decision.reports)

    @property
    def escalate(self) -> bool:
        return self.flaky and not self.passed

    def tests_line(self) -> str:
        """Return the "Tests" field of a submission (D14): one line that claims no more than was seen."""
        return self.ran_line() + (self._besides() if self.passed and self.commands else "")

    def ran_line(self) -> str:
        """Return the same of the tests alone, without what the other stages found."""
        if not self.commands:
            return f"not run: {self.note.removeprefix('cannot run: ')}"
        note = f"; {self.note}" if self.flaky else ""
        if self.passed:
            excused = "".join(f"; {each}" for each in self.excused)
            return f"{self._passing()}{excused}{note}"
        last = self.commands[-1]
        why = last.why or self.note
        return ("not run: " + why.removeprefix("cannot run: ") if not last.could_run else why) + note

    def to_mend(self) -> str:
        """Return everything that holds the checkpoint back, in several lines, for the reader who fixes it; ""
        if nothing does.
        """
        if self.ready:
            return ""
        if not self.passed:
            failure = None if self.stages is None else self.stages.failure
            likely = "" if failure is None else f"\nlikely cause: {failure.kind} ({failure.signal})"
            others = "".join(f"\nnot this task's: {each}" for each in self.excused)
            tail = self.commands[-1].tail if self.commands else ""
            return f"{self.tests_line()}{likely}{others}\n{tail}".strip()
        faults = () if self.stages is None else (*self.stages.faults(), *self.stages.ways_out())
        return "\n".join((*faults, self.tests_line()))

    def to_judge(self) -> tuple[str, ...]:
        """The findings that only a reviewer may let pass (D26)."""
        findings = () if self.stages is None else self.stages.findings
        return tuple(str(finding) for finding in findings if not finding.allowed)

    def _besides(self) -> str:
        said = () if self.stages is None else self.stages.said()
        joined = "; ".join(said)
        return f"; {one_line(joined, _MAX_BESIDES_CHARS)}" if said else ""

    def _passing(self) -> str:
        seen = self._seen()
        if not self.excused:
            return f"All passing ({seen})"
        # Of a command that fails as before and names no tests, nothing was seen that passes.
        return f"Passing ({seen})" if seen else "Nothing fails that did not fail before"

    def _seen(self) -> str:
        known = [command.counts for command in self.commands if command.counts is not None]
        # excused failures are named elsewhere
        seen = [counted(sum(counts.ran - counts.failed for counts in known), "test")] if known else []
        if skipped := sum(counts.skipped for counts in known):
            seen.append(f"{skipped} skipped")
        if uncounted := sum(command.counts is None and command.passed for command in self.commands):
            seen.append(f"exit code 0 from {counted(uncounted, 'command')}")
        return ", ".join(seen)

    def to_json(self) -> str:
        return plain_json.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of :meth:`to_json`; ValueError for anything else."""
        return plain_json.from_json(cls, text)
