"""The inputs of the musician's engine. Times, ids and measurements come in with them; the engine asks for nothing."""

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


class Input:
    """What the engine is told, one thing at a time."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Input):
    """The claim is made, and what earlier sessions left has been examined.

    ``errors_so_far`` counts the reports of all sessions (D3). ``advice`` are the conductor's messages for this session,
    up to ``last_message_id``, which is acknowledged when they are acted on (0 if that is done already). ``since`` is
    folded from the journal, and has a rejection that an earlier session did not act on. ``ownerless_tasks`` counts
    working tasks without a live owner (D17) and ``doubts`` are findings that the conductor must decide on (D20); both
    matter only to a session that resumes. ``pause`` is why the phase is paused, ``plan_pause`` why the plan is, "" if
    it is not.
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
    plan_pause: str = ""


class PieceEnding(StrEnum):
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"
    UNPLAYABLE = "unplayable"
    """The plan lacks what the agent needs, so the piece cannot be played, now or later."""
    STOPPED = "stopped"
    """The engine had it stopped."""
    LIMITED = "limited"
    """The agent's provider has a usage limit for now. This is no failure of the work (D3)."""
    REFUSED = "refused"
    """The agent's provider refuses until a person acts: the login has expired, or the account is empty."""
    SPENT = "spent"
    """A ceiling is reached: what agents may use. This is no failure of the work either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceEnded(Input):
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
class ContextTold(Input):
    used_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationTold(Input):
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCorrectionTold(Input):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTold(Input):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialTold(Input):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTold(Input):
    """The agent's answer to one point of a rejection; ``number`` counts from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationEnded(Input):
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
class VerdictArrived(Input):
    """The conductor has answered a submission or a report.

    ``progress`` is read anew, because the verdict comes with rulings. ``state`` is a verdict or ``exit_requested``.
    ``message_id`` is the answer's own, 0 if it needs no acknowledgement. ``since`` is read anew too (None if it was
    not), because a person's verdict settles what was rough.
    """

    state: State
    text: str
    progress: Progress
    message_id: int = 0
    since: Since | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageArrived(Input):
    """A note, or an emergency if ``urgent``. ``is_answer`` is true if it came after the session's last question.

    A ``forecast`` is for the next boundary: it answers nothing, and no piece is disturbed by it. One that ``exits`` is
    the first half of an urgent exit request, which follows: it answers nothing either, and nothing is begun by it.
    """

    message_id: int
    text: str
    urgent: bool
    is_answer: bool = True
    forecast: bool = False
    exits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered(Input):
    """The running piece has received a message of the conductor's."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseAsked(Input):
    """The session must pause at the next boundary; ``text`` says why (PLAN-21)."""

    text: str
    message_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseLifted(Input):
    message_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPaused(Input):
    """The plan is paused, so that nothing is begun at the next boundary; ``text`` says by whom and why (PLAN-23)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResumed(Input):
    """The plan is not paused any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitWasRequested(Input):
    """The session must exit at the next boundary, or at once after an emergency with the same text (D12)."""

    text: str
    message_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCame(Input):
    """A person wants to speak with the agent: the session must release its conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLeft(Input):
    """The person gives the conversation back. ``commit_id`` has what was changed, None if nothing was."""

    commit_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitTimedOut(Input):
    """A wait for a verdict or an answer has timed out. ``conductor_is_fresh`` is judged by its heartbeat (D11)."""

    conductor_is_fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLifted(Input):
    """The usage limit of the agent's provider is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked(Input):
    """The process must end, by a signal or because its conductor is gone; ``reason`` says which."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWasLost(Input):
    """The session was fenced: it may write nothing any more (D2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingChosen(Input):
    """A session by hand exits, with its own ``handoff``, or with ``notes`` for the one that the program writes."""

    reason: str
    handoff: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginningChosen(Input):
    """A session by hand begins an item."""

    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingChosen(Input):
    """A session by hand says that an item is done."""

    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionChosen(Input):
    """A session by hand says that the conductor's next correction step is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippingChosen(Input):
    """A session by hand skips an item."""

    item: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointChosen(Input):
    """A session by hand wants a checkpoint verified and submitted, the next one if ``number`` is None.

    ``is_overtaken`` is true if the tree has changed since the approval, so that it is submitted again (D28).
    """

    number: int | None
    is_overtaken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureChosen(Input):
    """A session by hand reports a failure; ``report`` is the path of its own report, "" if there is none."""

    text: str
    report: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningChosen(Input):
    """A session by hand warns that its context runs out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionChosen(Input):
    """A session by hand says that the task is done."""
