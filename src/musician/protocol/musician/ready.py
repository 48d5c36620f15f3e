"""The output of a step of the engine: records that must be stored, and acts that are done afterwards.

Order contract: all ``records`` are stored, each in one transaction and in this order, *before* any of the ``acts`` is
begun. A crash in between loses only an act, and a successor begins it anew.
"""

from enum import StrEnum

from musician.protocol.journal import Entry
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician.program import CheckpointItem, Play
from musician.protocol.rules.review import Verified
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is stored, with the journal ``entries`` that go with it."""

    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Record):
    """Journal entries, after what was ``verified``; the heartbeat is refreshed with them."""

    verified: Verified | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(Record):
    message: ReviewRequest | Completion
    verified: Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProblem(Record):
    """Go into ``error``. With ``is_reminder`` the task is there already, and the report before it stays open (D11)."""

    message: ErrorReport | ContextWarning
    last_error: str
    is_reminder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Record):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(Record):
    """Go back to ``working`` after a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge(Record):
    """Acknowledge all messages up to this one: the session has acted on them, or there is nothing left to act on."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitClaim(Record):
    """The terminal record of an exit: stores HANDOFF and reason, then ``exited``. The session writes no more (D1).

    ``handoff`` is the session's own HANDOFF, "" if the program writes it with the session's ``notes``. With ``stays``
    the process ends while a verdict is awaited: the HANDOFF is stored but the row is left as it is, so that the verdict
    still applies to the submission (D7).
    """

    reason: str
    last_completed: str
    remaining: tuple[str, ...]
    context_pct: float | None
    self_correction: str
    notes: str = ""
    stays: bool = False
    handoff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteTask(Record):
    """The terminal record of a completion: stores the report, then ``complete``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Record):
    """The agent's provider has a usage limit. ``said_s`` is how long it says, ``own_s`` is our own first pause."""

    said_s: float | None
    own_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse(Record):
    """The agent's provider gives nothing before a person has acted."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift(Record):
    """Somebody says that the provider gives again."""


class Act:
    """What is done once the records are stored."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayPiece(Act):
    """Play an item from the last finished state of the tree.

    ``attempt`` counts from 1. ``advice`` holds the conductor's messages that no finished piece has received, and why
    the attempt before this one failed.
    """

    play: Play
    attempt: int
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReworkPiece(Act):
    """Mend the faults that a checkpoint or a review found. ``item`` names the rework in the journal and in git."""

    check: CheckpointItem
    item: str
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepPiece(Act):
    """Commit the tree for a piece that a session by hand calls done, or revert the item that the piece undoes."""

    play: Play


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify(Act):
    check: CheckpointItem


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPiece(Act):
    """Stop the running piece or verification.

    One input follows: ``VerificationEnded``, or ``PieceEnded`` with STOPPED unless it had ended before.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer(Act):
    """Pass a message of the conductor's to the running piece. ``Steered`` follows if the piece takes it."""

    text: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitLimit(Act):
    """Wait for the limit that was stored last to end. Then ``LimitLifted`` follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Act):
    """Close the agent's session, and tell that it is released to a person. ``PersonLeft`` follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack(Act):
    """End the person's terminal: the session must leave. ``PersonLeft`` follows."""


class EndKind(StrEnum):
    COMPLETE = "complete"
    EXITED = "exited"
    WAITING = "waiting"
    """The process ends while a submission waits. The row stays as it is, for the verdict outlives the session (D7)."""
    LOST = "lost"
    """A successor owns the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End(Act):
    kind: EndKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    records: tuple[Record, ...] = ()
    acts: tuple[Act, ...] = ()
