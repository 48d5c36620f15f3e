"""Everything the conductor decides by: what the database, the locks and git say at one moment (D13)."""

from collections.abc import Iterable
from enum import StrEnum

from musician.protocol.conductor.opinion import Opinion
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Submission
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.protocol.values import dataclass


class TrialOutcome(StrEnum):
    """What a trial merge of a completion into the plan's branch came to (D24)."""

    GREEN = "green"
    RED = "red"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """``detail`` names what failed, or both sides of a conflict; ``earlier`` how often it went wrong before."""

    outcome: TrialOutcome
    detail: str = ""
    earlier: int = 0

    @property
    def trouble(self) -> str:
        """What its musician, or a person, is told of one that is not green."""
        return _TROUBLES[self.outcome] + self.detail


_TROUBLES = {
    TrialOutcome.CONFLICT: "Your work conflicts with what is merged already: ",
    TrialOutcome.RED: "Your work turns red together with what is merged already: ",
}


def is_merge_trouble(text: str) -> bool:
    """Whether a verdict sent work back because of what others have merged: to mend it, that is taken in first."""
    return text.startswith(tuple(_TROUBLES.values()))


NO_RETRY_HELPS = "could not go on, and no retry helps: "
"""How the reason of a session begins that found its surroundings unfit, as every session after it would."""


class Reviewer(StrEnum):
    """Who judges a task's submissions (D18)."""

    RULES = "rules"
    HUMAN = "human"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submission that waits; ``trial`` if one was made.

    ``deviation_ids`` and ``finding_ids`` are journal ids of what is open, in the order in which a reviewer is shown it.
    ``is_barrier``: all of the phase stand still until it is judged (PLAN-21).
    """

    message_id: int
    submission: Submission
    deviation_ids: tuple[int, ...] = ()
    finding_ids: tuple[int, ...] = ()
    trial: Trial | None = None
    is_barrier: bool = False
    opinion: Opinion | None = None
    """The reviewing agent's, once it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReport:
    """An error report or a context warning that waits.

    ``is_repeat``: the report before it said the same. ``is_unplayable``: the plan lacks what it takes, and to play on
    as it stands is of no use. ``trouble`` is what a merge reported that is not mended yet.
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
    """One task as it is now. ``owner`` is None where nobody owns it."""

    task_id: str
    state: State
    phase: int
    epoch: int
    owner: Owner | None = None
    is_running: bool = False
    """A process of ours plays it, or is about to claim it."""
    is_playing: bool = False
    """Its session has asked something and plays on: it has not come to the boundary where it waits."""
    is_told_to_pause: bool = False
    """The conductor's last word on pausing was that it should, whoever owns it now."""
    is_paused: bool = False
    """Its session stands at a boundary because of that, and plays nothing; by hand, whether it says so or not."""
    after: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()
    """Tasks that touch the same dangerous files: never played at the same time."""
    is_isolated: bool = True
    lacks_tree: bool = False
    """A session has claimed it by raw SQL, and has no tree of the task's to work in."""
    is_merged: bool = False
    reviewer: Reviewer = Reviewer.RULES
    submitted: Submitted | None = None
    report: OpenReport | None = None
    question: tuple[int, str] | None = None
    """A question nobody has answered: message id and text."""
    has_open_ask: bool = False
    settled_asks: frozenset[tuple[str, int]] = frozenset()
    """Asks a person has settled: kind and subject."""
    empty_sessions: int = 0
    """Sessions in a row that ended without progress (D1)."""
    was_claimed: bool = False
    is_limited: bool = False
    """Its agent's provider gives nothing yet: it is not played before that is over."""
    exit_reason: str = ""
    failed_launches: int = 0
    """Processes started for it in a row that ended without a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orchestra:
    """Everything at one moment; the tasks in the plan's order.

    At most ``jobs`` musicians are at work at a time; one that waits for a person takes no place, lest its task hold
    up the others. With 0 nobody is launched: the musicians are sessions that others open.
    """

    tasks: tuple[TaskFacts, ...]
    jobs: int
    settings: Settings


def is_finished(task: TaskFacts) -> bool:
    """Complete and in the plan's branch, or withdrawn."""
    if is_withdrawn(task):
        return True
    return task.state is State.COMPLETE and (task.is_merged or not task.is_isolated)


def is_withdrawn(task: TaskFacts) -> bool:
    """Taken out of the plan before anybody claimed it."""
    return task.state is State.EXITED and not task.was_claimed


def is_open(task: TaskFacts) -> bool:
    """A session may claim it: nobody owns it, and no process of ours is about to (DESIGN 3)."""
    return task.state in CLAIMABLE and task.owner is None and not task.is_running


def is_at_work(task: TaskFacts) -> bool:
    """A session has it, or is about to."""
    return task.is_running or (task.state in ACTIVE and task.owner is not None)


def waits_for_person(task: TaskFacts) -> bool:
    """Nothing comes of it before a person acts; its session, if it has one, is idle."""
    return task.has_open_ask and not task.is_playing and not is_finished(task)


def current_phase(tasks: Iterable[TaskFacts]) -> int | None:
    """The first phase with something left to do; None when all is done."""
    return min((task.phase for task in tasks if not is_finished(task)), default=None)
