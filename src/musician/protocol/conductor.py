"""The conductor: looks at everything and says what is missing, without doing anything itself.

Theory. :func:`decide` is a pure function of one :class:`Orchestra`, what the database, the locks and git say at one
moment. It keeps no memory between calls: a conductor that was killed and started again decides the same (D13).
Every act moves the facts, so that the same act is not due a second time; an act that fails leaves the facts, and
is due again. For each task the first rule of ``_RULES`` that has something to say speaks; a task that waits for a
person (an open ask) is left as it is (D18).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from musician.protocol.budget import answer_by_rule
from musician.protocol.deviations import open_deviations
from musician.protocol.liveness import Owner
from musician.protocol.review import Submission, Verdict, VerdictKind, judge_by_rule
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State

__all__ = [
    "Act",
    "AskHuman",
    "Finish",
    "Judge",
    "Launch",
    "Merge",
    "Orchestra",
    "Reopen",
    "Report",
    "RequestExit",
    "Standstill",
    "Submitted",
    "TakeOver",
    "TaskFacts",
    "Trial",
    "TrialOutcome",
    "TryMerge",
    "VerifyFully",
    "current_phase",
    "decide",
    "is_finished",
]


MOST_FAILED_LAUNCHES = 3
"""So many launches in a row without a claim, and a person is asked."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submission that waits. ``deviation_ids`` are journal ids of the open deviations; ``trial`` if one was made."""

    message_id: int
    submission: Submission
    deviation_ids: tuple[int, ...] = ()
    trial: Trial | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """An error report or a context warning that waits. ``is_repeat``: the report before it said the same."""

    message_id: int
    text: str
    is_context: bool
    is_repeat: bool = False
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
    after: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()
    """Tasks that touch the same dangerous files: never played at the same time."""
    is_isolated: bool = True
    is_merged: bool = False
    reviewed_by_rule: bool = True
    submitted: Submitted | None = None
    report: Report | None = None
    question: tuple[int, str] | None = None
    """A question nobody has answered: message id and text."""
    has_open_ask: bool = False
    settled_asks: frozenset[tuple[str, int]] = frozenset()
    """Asks a person has settled: kind and subject."""
    empty_sessions: int = 0
    """Sessions in a row that ended without progress (D1)."""
    was_claimed: bool = False
    exit_reason: str = ""
    failed_launches: int = 0
    """Processes started for it in a row that ended without a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orchestra:
    """Everything at one moment."""

    tasks: tuple[TaskFacts, ...]
    jobs: int
    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Answer a submission or report; ``rules`` are journal ids of deviations this verdict rules."""

    task_id: str
    message_id: int
    verdict: State
    text: str
    rules: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestExit:
    task_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyFully:
    task_id: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TryMerge:
    """Merge on trial into the plan's branch and verify there, before the completion is approved."""

    task_id: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A complete task whose branch is not in the plan's yet (its approval was a person's)."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskHuman:
    task_id: str
    kind: str
    subject_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopen:
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Every task is complete and merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Nothing can go on without a person."""


Act = (
    Launch
    | Judge
    | RequestExit
    | VerifyFully
    | TryMerge
    | Merge
    | AskHuman
    | Reopen
    | TakeOver
    | Finish
    | Standstill
)


def decide(orchestra: Orchestra) -> tuple[Act, ...]:
    """What is due now, in an order in which it can be done; empty: wait for the next event."""
    acts: list[Act] = []
    for task in orchestra.tasks:
        act = _due_for(task, orchestra)
        if act is not None:
            acts.append(act)
    acts.extend(_launches(orchestra))
    if acts:
        return tuple(acts)
    if all(is_finished(task) for task in orchestra.tasks):
        return (Finish(),)
    anybody_plays = any(task.is_running or task.owner is Owner.LIVE for task in orchestra.tasks)
    waits_for_people = all(_needs_person(task) for task in orchestra.tasks if _is_played(task, orchestra))
    return (Standstill(),) if waits_for_people or not anybody_plays else ()


def is_finished(task: TaskFacts) -> bool:
    """Complete and in the plan's branch, or withdrawn."""
    if task.state is State.EXITED:
        return not task.was_claimed
    return task.state is State.COMPLETE and (task.is_merged or not task.is_isolated)


def current_phase(tasks: Iterable[TaskFacts]) -> int | None:
    """The first phase with something left to do; None when all is done."""
    return min((task.phase for task in tasks if not is_finished(task)), default=None)


def _due_for(task: TaskFacts, orchestra: Orchestra) -> Act | None:
    if is_finished(task) or task.has_open_ask:
        return None
    for rule in _RULES:
        act = rule(task, orchestra.settings)
        if act is not None:
            return act
    return None


def _merge_complete(task: TaskFacts, _: Settings) -> Act | None:
    return Merge(task_id=task.task_id) if task.state is State.COMPLETE else None


def _ask_question(task: TaskFacts, _: Settings) -> Act | None:
    if task.question is None:
        return None
    message_id, text = task.question
    return AskHuman(task_id=task.task_id, kind="question", subject_id=message_id, text=text)


def _answer_submission(task: TaskFacts, settings: Settings) -> Act | None:
    found = task.submitted
    if task.state is not State.NEEDS_REVIEW or found is None:
        return None
    verdict = judge_by_rule(found.submission, settings)
    if not task.reviewed_by_rule:
        verdict = Verdict(kind=VerdictKind.ASK_HUMAN, reasons=("the plan asks for a person's review",))
    match verdict.kind:
        case VerdictKind.ASK_HUMAN:
            return _ask_review(task, found, "; ".join(verdict.reasons))
        case VerdictKind.VERIFY_FULLY_FIRST:
            return VerifyFully(task_id=task.task_id, message_id=found.message_id)
        case VerdictKind.SEND_BACK:
            return _judged(task, found, State.REVIEW_FAILED, _numbered(verdict.reasons))
        case VerdictKind.APPROVE:
            return _approve(task, found)


def _approve(task: TaskFacts, found: Submitted) -> Act:
    if not found.submission.final or not task.is_isolated:
        return _judged(task, found, State.REVIEW_APPROVED, "Approved.")
    if found.trial is None:
        return TryMerge(task_id=task.task_id, message_id=found.message_id)
    if found.trial.outcome is TrialOutcome.GREEN:
        return _judged(
            task, found, State.REVIEW_APPROVED, "Approved; merged and verified with the others' work."
        )
    what = "conflicts with" if found.trial.outcome is TrialOutcome.CONFLICT else "turns red together with"
    text = f"Your work {what} what is merged already: {found.trial.detail}"
    if found.trial.earlier:
        return _ask_review(task, found, text)
    return _judged(task, found, State.REVIEW_FAILED, text)


def _ask_review(task: TaskFacts, found: Submitted, why: str) -> AskHuman:
    return AskHuman(task_id=task.task_id, kind="review", subject_id=found.message_id, text=why)


def _judged(task: TaskFacts, found: Submitted, verdict: State, text: str) -> Judge:
    return Judge(
        task_id=task.task_id,
        message_id=found.message_id,
        verdict=verdict,
        text=text,
        rules=found.deviation_ids if open_deviations(found.submission.work.deviations) else (),
    )


def _numbered(reasons: tuple[str, ...]) -> str:
    return "\n".join(f"{number}. {reason}" for number, reason in enumerate(reasons, start=1))


def _answer_report(task: TaskFacts, settings: Settings) -> Act | None:
    report = task.report
    if task.state is not State.ERROR or report is None:
        return None
    if report.is_context:
        answer = answer_by_rule(report.used_pct, report.projected_pct, settings)
        if answer.state is State.EXIT_REQUESTED:
            return RequestExit(task_id=task.task_id, text=answer.text)
        return Judge(
            task_id=task.task_id, message_id=report.message_id, verdict=answer.state, text=answer.text
        )
    if report.is_repeat:
        return AskHuman(
            task_id=task.task_id,
            kind="error",
            subject_id=report.message_id,
            text=f"the same error twice: {report.text}",
        )
    return Judge(
        task_id=task.task_id,
        message_id=report.message_id,
        verdict=State.FIX_PROPOSED,
        text="Play it once more from the last finished state.",
    )


def _take_over_dead(task: TaskFacts, _: Settings) -> Act | None:
    if task.state in ACTIVE and task.owner in (Owner.DEAD, Owner.STALE):
        return TakeOver(task_id=task.task_id)
    return None


def _reopen_exited(task: TaskFacts, settings: Settings) -> Act | None:
    if task.state is not State.EXITED:
        return None
    if task.exit_reason.startswith("retry exhaustion") and ("retries", task.epoch) not in task.settled_asks:
        return AskHuman(
            task_id=task.task_id,
            kind="retries",
            subject_id=task.epoch,
            text=f"gave up after {task.exit_reason}",
        )
    return _ask_if_fruitless(task, settings) or Reopen(task_id=task.task_id)


def _ask_if_fruitless(task: TaskFacts, settings: Settings) -> Act | None:
    limit = settings.limits.sessions_without_progress
    if task.empty_sessions < limit or ("progress", task.epoch) in task.settled_asks:
        return None
    return AskHuman(
        task_id=task.task_id,
        kind="progress",
        subject_id=task.epoch,
        text=f"{task.empty_sessions} sessions in a row ended without progress, the last: {task.exit_reason}",
    )


def _ask_before_relaunch(task: TaskFacts, settings: Settings) -> Act | None:
    if not _is_open(task):
        return None
    if task.failed_launches >= MOST_FAILED_LAUNCHES:
        return AskHuman(
            task_id=task.task_id,
            kind="launch",
            subject_id=task.epoch,
            text=f"{task.failed_launches} musicians in a row ended before they claimed it;"
            f" see .musician/logs/{task.task_id}.musician.log",
        )
    return _ask_if_fruitless(task, settings)


def _flag_doubtful(task: TaskFacts, _: Settings) -> Act | None:
    if task.state not in ACTIVE or task.owner is not Owner.DOUBTFUL:
        return None
    return AskHuman(
        task_id=task.task_id,
        kind="doubtful",
        subject_id=task.epoch,
        text="its owner's heartbeat cannot be read or lies in the future: nobody can tell whether it lives",
    )


_RULES: tuple[Callable[[TaskFacts, Settings], Act | None], ...] = (
    _merge_complete,
    _ask_question,
    _answer_submission,
    _answer_report,
    _take_over_dead,
    _flag_doubtful,
    _reopen_exited,
    _ask_before_relaunch,
)
"""In this order: what a dead session submitted is judged before its task is taken over, for the verdict
outlives it (D7)."""


def _is_open(task: TaskFacts) -> bool:
    unowned = task.state is State.WATCHING or (task.state is State.FIX_PROPOSED and task.owner is None)
    return unowned and not task.is_running


def _is_played(task: TaskFacts, orchestra: Orchestra) -> bool:
    return not is_finished(task) and task.phase == current_phase(orchestra.tasks)


def _needs_person(task: TaskFacts) -> bool:
    return task.has_open_ask


def _launches(orchestra: Orchestra) -> Iterable[Launch]:
    """Which open tasks of the phase are given a musician now, in the plan's order."""
    finished = {task.task_id for task in orchestra.tasks if is_finished(task)}
    busy = {
        task.task_id
        for task in orchestra.tasks
        if task.is_running or (task.state in ACTIVE and task.owner is not None)
    }
    places = orchestra.jobs - sum(1 for task in orchestra.tasks if task.is_running)
    for task in orchestra.tasks:
        if places < 1:
            return
        ready = (
            _is_open(task)
            and _is_played(task, orchestra)
            and not task.has_open_ask
            and task.after <= finished
            and not task.conflicts & busy
            and _ask_before_relaunch(task, orchestra.settings) is None
        )
        if ready:
            busy.add(task.task_id)
            places -= 1
            yield Launch(task_id=task.task_id)
