"""What a musician's engine is told. Time, ids and everything measured come in here; the engine asks nobody."""

from dataclasses import field
from enum import StrEnum

from musician.protocol.journal import Progress
from musician.protocol.messages.particulars import KeyOutput
from musician.protocol.musician.since import Since
from musician.protocol.rules.delegation import Extent
from musician.protocol.rules.deviations import Severity
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.states import State
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The claim is made and what was left is looked at. ``errors_so_far`` counts all sessions' reports (D3).

    ``advice`` is what the conductor said for this session (a handoff message, a correction), up to
    ``last_message_id``: acknowledged when it is acted on, 0 if that is done already. ``since`` is folded from the
    journal: it has a rejection that an earlier session had not acted on. ``ownerless_tasks`` are at work without
    a live owner (D17), and ``doubts`` what was found that the conductor must answer for (D20): of interest only to a
    session that resumes. ``pause`` is why all of the phase stand still now, "" if they do not.
    """

    progress: Progress
    errors_so_far: int
    retry_limit: int
    report_path: str
    advice: str = ""
    last_message_id: int = 0
    since: Since = field(default_factory=Since)
    ownerless_tasks: int = 0
    doubts: tuple[str, ...] = ()
    pause: str = ""


class PieceEnding(StrEnum):
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"
    UNPLAYABLE = "unplayable"
    """Nothing was played, nor would be another time: the plan lacks what the agent needs."""
    STOPPED = "stopped"
    """Because the engine said so."""
    LIMITED = "limited"
    """Its provider gives it nothing for a while: no failure of the work (D3)."""
    REFUSED = "refused"
    """Its provider gives it nothing before a person has acted: a login that expired, an account that is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceEnded:
    """``commit_id`` is where git keeps a finished piece, None where nothing changed or there is no worktree.

    ``detail`` is why it failed, or what a subagent that is done told of its work. ``left`` is what a failed one has
    changed. ``wait_s`` is how long a limit holds, None where its provider does not say. ``asked`` is the question
    that a model has ended with, by its tag or in words; "" for a piece that has changed something all the same.
    """

    item: str
    ending: PieceEnding
    detail: str = ""
    commit_id: str | None = None
    left: Extent = field(default_factory=Extent)
    wait_s: float | None = None
    asked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTold:
    used_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationTold:
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCorrectionTold:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTold:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialTold:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTold:
    """What was done for one point of what was sent back; ``number`` counts from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationEnded:
    """What the program found. ``tests`` is the review's field; ``failing`` what to mend, for a rework.

    ``verified`` is to be stored, None where it is what was stored before. ``findings`` need a judge (D26).
    """

    outcome: Verification
    verified: Verified | None
    tests: str
    failing: str
    files_modified: int
    key_outputs: tuple[KeyOutput, ...]
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictArrived:
    """The conductor answered what was submitted or reported. ``progress`` is read anew: rulings came with it.

    ``state`` is a verdict or ``exit_requested``; ``message_id`` is the answer's own, 0 if it needs no acknowledgement.
    ``since`` is read anew too, for a person's verdict rules what was rough; None where nobody read it.
    """

    state: State
    text: str
    progress: Progress
    message_id: int = 0
    since: Since | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageArrived:
    """A note (``urgent`` False) or an emergency. ``is_answer``: it was said after what the session asked last."""

    message_id: int
    text: str
    urgent: bool
    is_answer: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The piece that runs, or ran when it was said, has heard a message of the conductor's."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseAsked:
    """To stand still from the next boundary on; ``text`` says what for (PLAN-21)."""

    text: str
    message_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseLifted:
    message_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitWasRequested:
    """To be left at the next boundary; at once if an emergency of the same text came before it (D12)."""

    text: str
    message_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitTimedOut:
    """A wait of the full length, for a verdict or an answer, is over; ``conductor_is_fresh`` is what its heartbeat
    says (D11).
    """

    conductor_is_fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLifted:
    """The time is over for which the agent's provider gave nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked:
    """The process is to end: a signal, or its conductor is gone. ``reason`` says which."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWasLost:
    """Fenced off: nothing may be written any more (D2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingChosen:
    """A session that is played by hand leaves; ``handoff`` is its own, or ``notes`` go into the program's."""

    reason: str
    handoff: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginningChosen:
    """A session that is played by hand begins an item."""

    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingChosen:
    """A session that is played by hand says that an item is done."""

    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionChosen:
    """A session that is played by hand says that the conductor's next correction step is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippingChosen:
    """A session that is played by hand leaves an item out."""

    item: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointChosen:
    """A session that is played by hand wants a checkpoint verified and submitted; ``number`` None: the next.

    ``is_overtaken``: what stands approved is no longer what is there, and is submitted again (D28).
    """

    number: int | None
    is_overtaken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureChosen:
    """A session that is played by hand reports a failure; ``report`` is its own file about it, "" if there is none."""

    text: str
    report: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningChosen:
    """A session that is played by hand warns of its context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionChosen:
    """A session that is played by hand says that the task is done."""


Input = (
    Started
    | PieceEnded
    | ContextTold
    | DeviationTold
    | SelfCorrectionTold
    | QuestionTold
    | PartialTold
    | AnswerTold
    | VerificationEnded
    | VerdictArrived
    | MessageArrived
    | Steered
    | PauseAsked
    | PauseLifted
    | ExitWasRequested
    | WaitTimedOut
    | LimitLifted
    | StopAsked
    | ClaimWasLost
    | BeginningChosen
    | EndingChosen
    | CorrectionChosen
    | SkippingChosen
    | CheckpointChosen
    | FailureChosen
    | LeavingChosen
    | WarningChosen
    | CompletionChosen
)
