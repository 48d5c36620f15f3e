"""Decides how to go on when a subagent fails (D19).

The plan and the model decide which work is delegated. The rules here count the failures of one piece, independently of
a task's error retries (D3). If something about a piece is unknown, it is escalated.

The size of a piece is the larger of two estimates: the plan's, and what a failed attempt has changed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import StrEnum

from musician.protocol.settings import Settings
from musician.protocol.values import dataclass


class PieceFailure(StrEnum):
    LOST = "lost"
    """The subagent vanished or ran out of time, so nothing is known."""
    EXPLAINED = "explained"
    """The subagent returned and said why it failed."""


class NextAttempt(StrEnum):
    SAME_PROMPT = "same_prompt"
    """Repeat the prompt of the last attempt in a fresh context."""
    ADJUSTED_PROMPT = "adjusted_prompt"
    ABSORB = "absorb"
    """The musician does the piece itself."""
    ESCALATE = "escalate"
    """The conductor decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much a piece changes: ``lines`` added and removed (None if unknown), and project-relative ``files``."""

    lines: int | None = None
    files: frozenset[str] = frozenset()

    def with_(self, other: "Extent") -> "Extent":
        """Return the union of both: all files, and the larger number of lines."""
        known = [lines for lines in (self.lines, other.lines) if lines is not None]
        return Extent(lines=max(known, default=None), files=self.files | other.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The attempts at the present piece: its ``failures``, oldest first, and the extent they have ``shown``.

    ``asked`` is true if there was a question about it, ``absorbed`` if the musician now plays it itself, and
    ``answered`` if it is played again with the answer and ends as that attempt ends.
    """

    failures: tuple[PieceFailure, ...] = ()
    shown: Extent = field(default_factory=Extent)
    asked: bool = False
    last_words: str = ""
    absorbed: bool = False
    answered: bool = False


def modules_of(files: Iterable[str]) -> int:
    """Count modules. Files that differ only in their suffix are one, and a test belongs to the module it tests."""
    places = {path.rpartition("/")[::2] for path in files}
    paths = {(folder, name.rpartition(".")[0] or name) for folder, name in places}
    tests = {(folder, name) for folder, name in paths if name.startswith("test_") or name.endswith("_test")}
    subjects = paths - tests
    tested = {name.removeprefix("test_").removesuffix("_test") for _, name in tests}
    return len(subjects) + len(tested - {name for _, name in subjects})


def next_attempt(
    failures: Sequence[PieceFailure], *, extent: Extent, well_defined: bool, settings: Settings
) -> NextAttempt:
    """Decide what follows the failures of one piece (oldest first, the first attempt's included).

    There are at most ``delegation.retries`` retries; the last failure decides about the prompt. After that, small work
    in one module that is ``well_defined`` (one prompt says all it needs) is absorbed, and anything else is escalated.
    Raises ValueError without a failure.
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
