"""The conductor's input: everything that the database, the locks and git say at one moment (D13)."""

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from musician.protocol.conductor.opinion import Opinion
from musician.protocol.messages.forecasts import Meeting
from musician.protocol.rules.ceilings import Accounts
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Submission
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.protocol.values import dataclass


class TrialOutcome(StrEnum):
    """The outcome of a trial merge of a completion into the plan's branch (D24)."""

    GREEN = "green"
    RED = "red"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial merge. ``detail`` names what failed, or both sides of a conflict; ``earlier`` counts earlier failures."""

    outcome: TrialOutcome
    detail: str = ""
    earlier: int = 0

    @property
    def trouble(self) -> str:
        """The text for the musician, or a person, if the merge is not green."""
        return _TROUBLES[self.outcome] + self.detail


_TROUBLES = {
    TrialOutcome.CONFLICT: "Your work conflicts with what is merged already: ",
    TrialOutcome.RED: "Your work turns red together with what is merged already: ",
}


def is_merge_trouble(text: str) -> bool:
    """Whether a verdict sent work back because of what others have merged. Then that must be merged in first."""
    return text.startswith(tuple(_TROUBLES.values()))


NO_RETRY_HELPS = "could not go on, and no retry helps: "
"""The beginning of the exit reason of a session whose surroundings are unfit for every further session too."""


class Reviewer(StrEnum):
    """Who judges a task's submissions (D18)."""

    RULES = "rules"
    HUMAN = "human"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submission that waits for its verdict, with its ``trial`` merge if there was one.

    ``deviation_ids`` and ``finding_ids`` are the journal ids of the open ones, in the order in which a reviewer sees
    them. ``is_barrier`` is true if the whole phase pauses until it is judged (PLAN-21).
    """

    message_id: int
    submission: Submission
    deviation_ids: tuple[int, ...] = ()
    finding_ids: tuple[int, ...] = ()
    trial: Trial | None = None
    is_barrier: bool = False
    opinion: Opinion | None = None
    """The opinion of the reviewing agent, if it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReport:
    """An error report or a context warning that waits for its answer.

    ``is_repeat`` is true if the report before it was about the same failure; ``is_unplayable`` if the task cannot be
    played with the plan as it is. ``trouble`` is the text of a failed merge that is not mended yet.
    """

    message_id: int
    text: str
    is_context: bool
    is_repeat: bool = False
    is_unplayable: bool = False
    trouble: str = ""
    used_pct: float | None = None
    projected_pct: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """The facts about one task. ``owner`` is None if nobody owns it."""

    task_id: str
    state: State
    phase: int
    epoch: int
    owner: Owner | None = None
    is_running: bool = False
    """A process of ours plays it, or is about to claim it."""
    is_playing: bool = False
    """Its session has asked a question and still plays: it has not reached the boundary at which it waits."""
    is_told_to_pause: bool = False
    """The conductor's last message about pausing told the task to pause, whoever owns it now."""
    is_paused: bool = False
    """Its session has paused at a boundary and plays nothing."""
    after: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()
    """Tasks that share a danger file with it: they are never played at the same time."""
    meets: tuple[Meeting, ...] = ()
    """Tasks that touch the same files as it will: it is not begun before those that are begun are merged."""
    is_isolated: bool = True
    lacks_tree: bool = False
    """A session has claimed it by raw SQL, and the task has no tree to work in."""
    is_merged: bool = False
    reviewer: Reviewer = Reviewer.RULES
    submitted: Submitted | None = None
    report: OpenReport | None = None
    question: tuple[int, str] | None = None
    """The unanswered question of its musician: message id and text."""
    is_answered_by_agent: bool = False
    """An agent answers questions and error reports that the rules do not decide, before a person is asked."""
    answers: tuple[tuple[int, Opinion], ...] = ()
    """What the answering agent has said so far, and to which message."""
    has_open_ask: bool = False
    settled_asks: frozenset[tuple[str, int]] = frozenset()
    """The questions that a person has settled: kind and subject."""
    empty_sessions: int = 0
    """Sessions in a row that ended without progress (D1)."""
    was_claimed: bool = False
    is_skipped: bool = False
    """A person has settled it without its work."""
    is_limited: bool = False
    """Its agent's provider has a usage limit that is not over yet. The task is not played before."""
    is_refused: bool = False
    """Its agent's provider gives nothing before a person acts, who is asked beside one task for all."""
    unproven: str = ""
    """Its agent's provider, whose limit is over, if nobody has been given anything since: one asks first."""
    accounts: Accounts = field(default_factory=dict)
    """What it, its plan and the day have used; not looked up where no ceiling is set."""
    asked_ceilings: frozenset[int] = frozenset()
    """The numbers of the ceilings that a person has been asked about, beside this task."""
    exit_reason: str = ""
    failed_launches: int = 0
    """How many processes in a row were started for it and ended without a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orchestra:
    """The whole plan at one moment, with the tasks in the plan's order.

    At most ``jobs`` musicians work at the same time. One that waits for a person does not count, so that its task does
    not hold up the others. With 0 nobody is launched: people open the sessions themselves.
    ``paused`` says that and why a person has paused the plan, "" if nobody has.
    """

    tasks: tuple[TaskFacts, ...]
    jobs: int
    settings: Settings
    paused: str = ""


def is_finished(task: TaskFacts) -> bool:
    """Whether the task is complete and merged into the plan's branch, withdrawn, or skipped."""
    if is_withdrawn(task) or task.is_skipped:
        return True
    return task.state is State.COMPLETE and (task.is_merged or not task.is_isolated)


def is_withdrawn(task: TaskFacts) -> bool:
    """Whether the task was taken out of the plan before anybody claimed it."""
    return task.state is State.EXITED and not (task.was_claimed or task.is_skipped)


def is_open(task: TaskFacts) -> bool:
    """Whether a session may claim it: nobody owns it, and no process of ours is about to claim it (DESIGN 3)."""
    return task.state in CLAIMABLE and task.owner is None and not task.is_running


def is_at_work(task: TaskFacts) -> bool:
    """Whether a session owns the task or is about to claim it."""
    return task.is_running or (task.state in ACTIVE and task.owner is not None)


def waits_for_person(task: TaskFacts) -> bool:
    """Whether the task makes no progress before a person acts; its session, if it has one, is idle."""
    return task.has_open_ask and not task.is_playing and not is_finished(task)


def current_phase(tasks: Iterable[TaskFacts]) -> int | None:
    """Return the first phase with an unfinished task; None if all are finished."""
    return min((task.phase for task in tasks if not is_finished(task)), default=None)
