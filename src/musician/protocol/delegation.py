"""Which work goes to a subagent, and what follows when one fails (D19).

The matrix delegates only what is small, in one module, self-contained, of a kind that needs no view of
the whole, and away from files a sibling also touches. Whatever is not known is doubt, and doubt keeps the
work. The ladder counts failures of one piece; it is apart from the error retries of a task (D3).
"""

from collections.abc import Collection, Sequence
from enum import StrEnum

from musician.protocol.settings import Settings

__all__ = ["DELEGABLE", "Choice", "Failure", "NextAttempt", "WorkKind", "decide", "next_attempt"]


class WorkKind(StrEnum):
    FUNCTION = "function"
    UNIT_TEST = "unit_test"
    DOCUMENTATION = "documentation"
    REFACTORING = "refactoring"
    ASSEMBLY = "assembly"
    INTEGRATION = "integration"
    HOLISTIC_TEST = "holistic_test"
    UNCLEAR = "unclear"


DELEGABLE = frozenset({WorkKind.FUNCTION, WorkKind.UNIT_TEST, WorkKind.DOCUMENTATION})
"""The kinds a subagent may be given; every other needs the musician's view of the whole task."""


class Choice(StrEnum):
    DELEGATE = "delegate"
    KEEP = "keep"


class Failure(StrEnum):
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


def decide(
    *,
    lines: int | None,
    modules: int | None,
    kind: WorkKind,
    danger_files: Collection[str] = (),
    self_contained: bool = True,
    settings: Settings,
) -> Choice:
    """Delegate or keep one piece of work.

    ``lines`` and ``modules`` are estimates of what it changes, None if nobody can tell; ``danger_files``
    are the files it touches that a sibling task touches too; ``self_contained``: one prompt can say all
    it needs.
    """
    fits = _is_small(lines, settings) and modules == 1
    alone = self_contained and not danger_files
    return Choice.DELEGATE if fits and alone and kind in DELEGABLE else Choice.KEEP


def next_attempt(
    failures: Sequence[Failure], *, lines: int | None, well_defined: bool, settings: Settings
) -> NextAttempt:
    """What follows the failures of one piece, oldest first, the first attempt's included.

    At most ``delegation.retries`` retries: each as the failure before it asks for. Then small and
    well-defined work is absorbed, anything else escalated. Without a failure there is nothing to answer:
    ValueError.
    """
    if not failures:
        raise ValueError("the next attempt follows a failure, and there is none")
    if len(failures) <= settings.delegation.retries:
        lost = failures[-1] is Failure.LOST
        return NextAttempt.SAME_PROMPT if lost else NextAttempt.ADJUSTED_PROMPT
    return NextAttempt.ABSORB if well_defined and _is_small(lines, settings) else NextAttempt.ESCALATE


def _is_small(lines: int | None, settings: Settings) -> bool:
    return lines is not None and 0 <= lines < settings.delegation.keep_from_lines
