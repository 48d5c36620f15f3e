"""What a step of the engine gives back: first what must be stored, then what is to be done.

Order contract: every record of ``records`` is stored, each in one transaction and in this order, *before* any of
``acts`` is begun. A crash in between loses no more than an act that a successor will begin anew.
"""

from enum import StrEnum

from musician.protocol.journal import Entry
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician.program import CheckpointItem, Play
from musician.protocol.rules.review import Verified
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Journal entries, after what was ``verified``; the heartbeat is refreshed with them."""

    entries: tuple[Entry, ...]
    verified: Verified | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    message: ReviewRequest | Completion
    verified: Verified
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProblem:
    """Into ``error``. ``is_reminder``: there already, so that what is answered is still the report before (D11)."""

    message: ErrorReport | ContextWarning
    last_error: str
    entries: tuple[Entry, ...]
    is_reminder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    text: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Back to ``working`` after a verdict."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """Everything the conductor said up to this message is dealt with: acted on, or nothing is left to act on."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitClaim:
    """Terminal: HANDOFF and reason stored, then ``exited``. Nothing of this session is written after it (D1).

    ``handoff`` is the HANDOFF that the session wrote itself, "" where the program writes it; ``notes`` is what the
    session adds to that. With ``stays`` the process ends while a verdict is awaited: the HANDOFF is left, and the row
    as it is, so that the verdict finds what it judges (D7).
    """

    reason: str
    last_completed: str
    remaining: tuple[str, ...]
    context_pct: float | None
    self_correction: str
    entries: tuple[Entry, ...] = ()
    notes: str = ""
    stays: bool = False
    handoff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteTask:
    """Terminal: report stored, then ``complete``."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Nothing of the task is played for so long, whoever would play it; 0 is at once."""

    wait_s: float
    entries: tuple[Entry, ...]


Record = Write | Submit | ReportProblem | Ask | Resume | Acknowledge | Limit | ExitClaim | CompleteTask


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayPiece:
    """Play an item from the last finished state of the tree.

    ``attempt`` counts from 1; ``advice`` is what the conductor said that no finished piece has heard yet, and why the
    attempt before this one failed.
    """

    play: Play
    attempt: int
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReworkPiece:
    """Mend what a checkpoint or a review found; ``item`` names this rework in the journal and in git."""

    check: CheckpointItem
    item: str
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepPiece:
    """Played by hand, it is said to be done: keep what is in the tree, or undo what it takes back."""

    play: Play


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    check: CheckpointItem


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPiece:
    """End the running piece or verification. One input follows that says how it ended: ``PieceEnded``, STOPPED
    unless it was over before the stop reached it, or ``VerificationEnded``.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """Say what the conductor said to the piece that runs; ``Steered`` follows if that has heard it."""

    text: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitLimit:
    """``LimitLifted`` follows once the limit that was stored last is over."""


class EndKind(StrEnum):
    COMPLETE = "complete"
    EXITED = "exited"
    WAITING = "waiting"
    """The process ends while a submission waits: the row stays as it is and the verdict will outlive us (D7)."""
    LOST = "lost"
    """The claim is a successor's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    kind: EndKind
    reason: str


Act = PlayPiece | ReworkPiece | KeepPiece | Verify | StopPiece | Steer | AwaitLimit | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    records: tuple[Record, ...] = ()
    acts: tuple[Act, ...] = ()
