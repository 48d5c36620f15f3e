"""The state of the musician's engine between two inputs."""

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
    """What a session is doing. It does exactly one thing at a time."""

    NEW = "new"
    PLAYING = "playing"
    REWORKING = "reworking"
    VERIFYING = "verifying"
    AWAITING_VERDICT = "awaiting verdict"
    AWAITING_ANSWER = "awaiting answer"
    PAUSED = "paused"
    """The plan is paused (PLAN-23), or the phase for another task's checkpoint (PLAN-21)."""
    CHOOSING = "choosing"
    """A session by hand stands at a boundary and says what it begins (D30)."""
    WITH_PERSON = "with a person"
    """A person speaks with the agent in its own terminal."""
    LIMITED = "limited"
    """The session waits for a usage limit of the agent's provider to end."""
    STOPPING = "stopping"
    """The running piece was told to stop and has not reported its end yet."""
    ENDED = "ended"


BUSY = frozenset({Mode.PLAYING, Mode.REWORKING, Mode.VERIFYING})
"""The modes in which something runs and can be stopped."""


class Waiting(StrEnum):
    """What the session has sent to the conductor and waits for an answer to."""

    SUBMISSION = "submission"
    ERROR = "error"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInstruction:
    """A message of the conductor's that nobody has acted on yet.

    ``text`` is "" if there is nothing left to act on and it only waits to be acknowledged in its turn. ``message_id``
    is 0 if there is nothing to acknowledge.
    """

    text: str
    message_id: int = 0
    urgent: bool = False
    of_session: bool = False
    """It is about this session's own context, and means nothing to a successor with a fresh one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MusicianState:
    """The engine's state. ``current`` is the item that runs or ran last."""

    program: Program
    settings: Settings
    mode: Mode = Mode.NEW
    progress: Progress = field(default_factory=Progress)
    current: Play | CheckpointItem | None = None
    used_pct: float | None = None
    errors: int = 0
    """The number of the task's error reports, over all its sessions (D3)."""
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
    is_wanted: bool = False
    """A person wants to speak with the agent, or does."""
    pause: str = ""
    """Why the session pauses at the next boundary with its phase; "" if it does not."""
    plan_pause: str = ""
    """Why it pauses with its plan; it goes on once neither is so."""
    proposed_pieces: int | None = None
    """How many pieces the last context warning proposed to play; None for all up to the checkpoint."""
    agreement: Agreement = field(default_factory=Agreement)
    chooses: bool = False
    """It is a session by hand: nothing begins by itself."""
    begun: frozenset[str] = frozenset()
    """What a session by hand has begun and not ended: a step, and pieces of it."""
    is_approved: bool = False
    """The completion is approved, and so is the row's state; to go on, the row must first be set back to working."""
    leave_reason: str = ""
    """Why the session must exit at the next boundary; "" if it need not."""

    @property
    def item(self) -> str:
        """The name of the item that runs or ran last; "" before the first."""
        return self.rework_item or ("" if self.current is None else self.current.item)

    @property
    def held(self) -> str:
        """Why nothing is begun at a boundary; "" if nothing holds the session."""
        return self.plan_pause or self.pause

    @property
    def next_item(self) -> Play | CheckpointItem | None:
        return self.program.next_item(self.progress)

    @property
    def mends_next(self) -> bool:
        """Whether a rework comes before the checkpoint that is due, because of its faults or an emergency."""
        urgent = any(word.urgent and word.text for word in self.heard)
        return isinstance(self.next_item, CheckpointItem) and (urgent or bool(self.feedback))

    @property
    def pieces_ahead(self) -> int:
        """The number of pieces before the next verification, a rework included."""
        return self.program.pieces_to_checkpoint(self.progress) + self.mends_next

    @property
    def self_corrections(self) -> tuple[str, ...]:
        """The self-corrections of this session (sources "Self-correction flag")."""
        return self.progress.self_corrections[self.earlier_self_corrections :]

    @property
    def self_corrected(self) -> bool:
        return bool(self.self_corrections)
