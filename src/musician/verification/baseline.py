"""How a command ended on a commit, and which failures that excuses: a change did not cause what failed before
it (D27).

A baseline is the result of a command on a commit. The names of failing tests are compared, if the runner
names each of them then and now: every test that fails now must have failed then. Without names there is only
how the command ended: the same exit code, and no more failing tests, if they are counted. Then a new failure
cannot be told from an old one, and the report says so.

Random failures excuse nothing: a red command is run twice, and only what failed both times, in the same way,
has failed before. Nothing is excused by a run that tested nothing: one that timed out, was killed, could not
be started, found no test, or ended without its runner's report. It says nothing of the commit, and neither
does the same again of the change.
"""

from typing import Protocol, Self

from musician.processes.output import one_line
from musician.protocol import plain_json
from musician.protocol.values import dataclass, replace
from musician.verification.commands import Ran
from musician.verification.findings import counted, named
from musician.verification.result import NONE_FOUND

MAX_NAMES = 5_000
"""Of failing tests; where there are more, they are counted only."""
_MAX_NAME_CHARS = 200
_MAX_COMMAND_CHARS = 120
_NO_WAY = -1
"""In place of an exit code: it ended in no one way that a change could end in as well."""
_BY_SIGNAL = 128
"""A shell's exit codes above it are those of commands that were killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """``why`` is why the command is not green, "" if it is; ``failed`` names every failing test, or none.

    ``failing`` is their number, None if they are not counted; ``is_empty``: it tested nothing. ``flaky`` is
    what failed in one of two runs only, or differently in the two; "" if both agree.
    """

    command: str
    exit_code: int
    why: str
    failed: tuple[str, ...] = ()
    failing: int | None = None
    is_empty: bool = False
    flaky: str = ""

    @classmethod
    def of(cls, ran: Ran) -> Self:
        result = ran.result
        return cls(
            command=result.command,
            exit_code=result.exit_code,
            why=result.why,
            failed=_failed(ran),
            failing=None if result.counts is None else result.counts.failed,
            is_empty=result.timed_out
            or result.unreported
            or result.ran_nothing
            or not result.could_run
            or (result.counts is None and result.exit_code > _BY_SIGNAL),
        )

    def and_again(self, again: Self) -> Self:
        """Combine two runs of a command on one commit, the first of which was red."""
        if not again.why:
            return replace(again, flaky=self.told)
        both = tuple(sorted({*self.failed} & {*again.failed}))
        once = sorted({*self.failed} ^ {*again.failed})
        if both:
            return replace(again, failed=both, failing=len(both), flaky=_tests(once) if once else "")
        if not once and not again.is_empty and self.exit_code == again.exit_code:
            return min(self, again, key=lambda each: each.failing or 0)
        both_ways = f"{self.told}; then {again.told}"
        return replace(again, exit_code=_NO_WAY, failed=(), failing=None, flaky=both_ways)

    @property
    def has_no_tests(self) -> bool:
        """Whether the runner started and found no tests, which is no failure."""
        return self.is_empty and self.failing == 0 and self.exit_code in NONE_FOUND

    def excuses(self, ran: Ran) -> bool:
        """Whether everything that fails now failed then."""
        now = Baseline.of(ran)
        if not self.why or not now.why or self.is_empty or now.is_empty:
            return False
        if self.failed and now.failed:
            fewer = len(now.failed) < len(self.failed)
            return set(now.failed) <= set(self.failed) and (fewer or now.exit_code == self.exit_code)
        if self.failed or now.failed or now.exit_code != self.exit_code:
            return False
        return self.failing == now.failing or (now.failing or 0) < (self.failing or 0)

    def says(self, ran: Ran) -> str:
        """Return what is excused, for a run that is excused."""
        if now := _failed(ran):
            return f"failing as before it began: {named(now)}"
        what = f"`{one_line(self.command, _MAX_COMMAND_CHARS)}` fails as before it began (exit code {self.exit_code})"
        return f"{what}: it names no tests, so what else fails now cannot be determined"

    def shared(self, ran: Ran) -> str:
        """Return what failed then too, for a run that is not excused; "" if that cannot be determined."""
        old = sorted({*self.failed} & {*_failed(ran)})
        return f"failing as before it began: {named(old)}" if old else ""

    @property
    def told(self) -> str:
        """Return what failed, in one line; "" if nothing did."""
        if not self.why or self.is_empty or not self.failed:
            return self.why
        return _tests(self.failed)

    def to_json(self) -> str:
        return plain_json.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of :meth:`to_json`; ValueError for anything else."""
        return plain_json.from_json(cls, text)


class Before(Protocol):
    """What a verification asks about the commit at which its change began."""

    def covers(self, command: str) -> bool:
        """Whether a command's earlier failures are excused: not if a checkpoint of the task names the
        command.
        """
        ...

    async def ended(self, command: str) -> Baseline:
        """Return how a command ended there."""
        ...


def _tests(names: tuple[str, ...] | list[str]) -> str:
    return f"{counted(len(names), 'test')}: {named(names)}"


def _failed(ran: Ran) -> tuple[str, ...]:
    """Return the names of all failing tests; () if one of them has no name."""
    counts, names = ran.result.counts, _names(ran)
    return names if counts is not None and len(names) == counts.failed <= MAX_NAMES else ()


def _names(ran: Ran) -> tuple[str, ...]:
    found = [name for name, outcome in ran.outcomes.items() if outcome == "failed"]
    if not ran.outcomes:
        found = list(ran.result.failed_tests)
    return tuple(sorted({one_line(name, _MAX_NAME_CHARS) for name in found}))
