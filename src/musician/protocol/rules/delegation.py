"""What follows when a subagent fails (D19).

Which work is a subagent's the plan says and the model decides, by what the skill tells it. The ladder counts failures
of one piece; it is apart from the error retries of a task (D3). Whatever is not known of a piece is doubt, and doubt
escalates.

How large a piece is, the plan may say beforehand, and a failed attempt shows by what it left. Both only ever make
a piece larger than it was thought to be: an attempt that has changed more than the plan said is believed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import StrEnum

from musician.protocol.settings import Settings
from musician.protocol.values import dataclass


class PieceFailure(StrEnum):
    LOST = "lost"
    """Vanished or ran out of time: nothing is known."""
    EXPLAINED = "explained"
    """Came back and said why not."""


class NextAttempt(StrEnum):
    SAME_PROMPT = "same_prompt"
    """The prompt of the last attempt, in a fresh context."""
    ADJUSTED_PROMPT = "adjusted_prompt"
    ABSORB = "absorb"
    """The musician does it itself."""
    ESCALATE = "escalate"
    """The conductor decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much a piece changes: ``lines`` added and removed, None if nobody can tell; ``files``, project-relative."""

    lines: int | None = None
    files: frozenset[str] = frozenset()

    def with_(self, other: "Extent") -> "Extent":
        """What is known of both, and of each the larger."""
        known = [lines for lines in (self.lines, other.lines) if lines is not None]
        return Extent(lines=max(known, default=None), files=self.files | other.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """What became of the piece that is due: its ``failures``, oldest first, and what they showed of it.

    ``asked``: there was a question about it. ``absorbed``: the musician plays it itself. ``answered``: it is played
    again with the answer, and ends as it ends.
    """

    failures: tuple[PieceFailure, ...] = ()
    shown: Extent = field(default_factory=Extent)
    asked: bool = False
    last_words: str = ""
    absorbed: bool = False
    answered: bool = False


def modules_of(files: Iterable[str]) -> int:
    """How many modules the files are: what differs only in its suffix is one, and a test is part of what it tests."""
    places = {path.rpartition("/")[::2] for path in files}
    paths = {(folder, name.rpartition(".")[0] or name) for folder, name in places}
    tests = {(folder, name) for folder, name in paths if name.startswith("test_") or name.endswith("_test")}
    subjects = paths - tests
    tested = {name.removeprefix("test_").removesuffix("_test") for _, name in tests}
    return len(subjects) + len(tested - {name for _, name in subjects})


def next_attempt(
    failures: Sequence[PieceFailure], *, extent: Extent, well_defined: bool, settings: Settings
) -> NextAttempt:
    """What follows the failures of one piece, oldest first, the first attempt's included.

    At most ``delegation.retries`` retries: each as the failure before it asks for. Then work that is small, lies in
    one module and is ``well_defined`` (one prompt says all it needs) is absorbed, anything else escalated. Without a
    failure there is nothing to answer: ValueError.
    """
    if not failures:
        raise ValueError("the next attempt follows a failure, and there is none")
    if len(failures) <= settings.delegation.retries:
        lost = failures[-1] is PieceFailure.LOST
        return NextAttempt.SAME_PROMPT if lost else NextAttempt.ADJUSTED_PROMPT
    fits = _is_small(extent.lines, settings) and modules_of(extent.files) == 1
    return NextAttempt.ABSORB if well_defined and fits else NextAttempt.ESCALATE


def _is_small(lines: int | None, settings: Settings) -> bool:
    return lines is not None and 0 <= lines < settings.delegation.keep_from_lines
