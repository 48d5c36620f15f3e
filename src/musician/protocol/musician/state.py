"""What the musician's engine remembers between two inputs."""

from dataclasses import field
from enum import StrEnum

from musician.protocol.journal import Progress
from musician.protocol.musician.agreement import Agreement
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.rules.delegation import Attempts
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass


class Mode(StrEnum):
    """What a session is at; exactly one thing at a time."""

    NEW = "new"
    PLAYING = "playing"
    REWORKING = "reworking"
    VERIFYING = "verifying"
    AWAITING_VERDICT = "awaiting verdict"
    AWAITING_ANSWER = "awaiting answer"
    PAUSED = "paused"
    """The whole phase stands still for another task's checkpoint (PLAN-21)."""
    CHOOSING = "choosing"
    """At a boundary of a session that is played by hand: it says what it begins (D30)."""
    LIMITED = "limited"
    """What is due waits until the agent's provider gives again."""
    STOPPING = "stopping"
    """What ran was asked to end, and has not reported yet how it ended."""
    ENDED = "ended"


BUSY = frozenset({Mode.PLAYING, Mode.REWORKING, Mode.VERIFYING})
"""Something runs, and may be stopped."""


class Waiting(StrEnum):
    """What the conductor was told last, while it has not answered."""

    SUBMISSION = "submission"
    ERROR = "error"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInstruction:
    """Something the conductor said that nobody has acted on yet.

    ``text`` is "" where nothing is left to act on and it only waits to be acknowledged in its turn; ``message_id`` 0
    where there is nothing to acknowledge.
    """

    text: str
    message_id: int = 0
    urgent: bool = False
    of_session: bool = False
    """About this session's own context: a successor begins with a fresh one, and it means nothing to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MusicianState:
    """Everything the engine remembers. ``current`` is what runs or ran last."""

    program: Program
    settings: Settings
    mode: Mode = Mode.NEW
    progress: Progress = field(default_factory=Progress)
    current: Play | CheckpointItem | None = None
    used_pct: float | None = None
    errors: int = 0
    """Error reports of the task, over all its sessions (D3)."""
    retry_limit: int = 5
    report_path: str = ""
    since: Since = field(default_factory=Since)
    earlier_self_corrections: int = 0
    """How many of ``progress.self_corrections`` were other sessions': this one's context does not bear them."""

    attempts: Attempts = field(default_factory=Attempts)
    """At the subagent's piece that is due (D19)."""
    feedback: str = ""
    """What the checkpoint that is due was found wanting by; it is mended before it is verified again."""
    mended: int = 0
    """Reworks this session has finished: each has a name of its own."""
    rework_item: str = ""
    """The rework that runs, "" if none does."""

    heard: tuple[PendingInstruction, ...] = ()
    """What the conductor said and is not dealt with, in the order it came."""
    carried: int = 0
    """How many of ``heard``, from the first, the running piece was given."""
    acknowledged_id: int = 0

    waiting: Waiting | None = None
    timeouts: int = 0
    question_open: bool = False
    pause: str = ""
    """Why the session stands still from the next boundary on; "" if it does not."""
    proposed_pieces: int | None = None
    """What the last context warning proposed to play before the handoff; None: up to the checkpoint."""
    agreement: Agreement = field(default_factory=Agreement)
    chooses: bool = False
    """Played by hand: nothing begins by itself."""
    begun: frozenset[str] = frozenset()
    """What a session that chooses has begun and not ended: a step, and pieces of it."""
    is_approved: bool = False
    """The completion stands approved, in the row's state, too; whoever goes on says so first."""
    leave_reason: str = ""
    """Set as soon as the session is to end; it leaves at the next boundary."""

    @property
    def item(self) -> str:
        """The name of what runs or ran last; "" before anything did."""
        return self.rework_item or ("" if self.current is None else self.current.item)

    @property
    def next_item(self) -> Play | CheckpointItem | None:
        return self.program.next_item(self.progress)

    @property
    def mends_next(self) -> bool:
        """Whether the checkpoint that is due is mended first: it was found wanting, or an emergency wants acting on."""
        urgent = any(word.urgent and word.text for word in self.heard)
        return isinstance(self.next_item, CheckpointItem) and (urgent or bool(self.feedback))

    @property
    def pieces_ahead(self) -> int:
        """How many pieces are played before the next verification, a mending included."""
        return self.program.pieces_to_checkpoint(self.progress) + self.mends_next

    @property
    def self_corrections(self) -> tuple[str, ...]:
        """This session's own (sources "Self-correction flag")."""
        return self.progress.self_corrections[self.earlier_self_corrections :]

    @property
    def self_corrected(self) -> bool:
        return bool(self.self_corrections)
