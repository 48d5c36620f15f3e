"""The conductor's engine: decides which acts are due, without doing any of them.

Theory. :func:`decide` is a pure function of one :class:`Orchestra`: what the database, the locks and git say at one
moment. It keeps no state between calls, so a conductor that was killed and started again decides the same (D13). An act
that succeeds changes the facts, so it is not due again; an act that fails leaves them, and is due again. For each task
the first rule of ``_RULES`` that returns an act decides; if none does, an open task may be given a musician. So a task
gets one act at most. A task that waits for a person (an open ask) is left alone (D18). The barrier, which concerns
several tasks at once, comes before all rules (``barrier``).

While a person has paused the plan nobody is launched, and no agent is asked for an opinion or an answer (``means``);
what needs no agent is done as ever. Nothing stands still for good then: the person lets it go on.
"""

from collections.abc import Callable

from musician.protocol.conductor.acts import (
    Act,
    Answer,
    AskAnswerer,
    AskHuman,
    AskReviewer,
    Equip,
    Finish,
    Judge,
    Merge,
    Reopen,
    RequestExit,
    Standstill,
    TakeOver,
    TryMerge,
    VerifyFully,
)
from musician.protocol.conductor.barrier import is_held_up, pause_due
from musician.protocol.conductor.launching import given_musicians, ready_to_play
from musician.protocol.conductor.means import Means
from musician.protocol.conductor.opinion import before_asking, judge_by_opinion
from musician.protocol.conductor.orchestra import (
    NO_RETRY_HELPS,
    OpenReport,
    Orchestra,
    Reviewer,
    Submitted,
    TaskFacts,
    TrialOutcome,
    is_finished,
    is_open,
    is_withdrawn,
    waits_for_person,
)
from musician.protocol.rules.budget import answer_by_rule
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Verdict, VerdictKind, judge_by_rule, needs_a_judge
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.protocol.values import replace

WITHDRAWN = (
    "it was withdrawn, and the plan has it still: put it back with `musician handoff`, or take it out of the plan"
    " and run `musician plan amend`"
)
"""Until then no other task waits for this one, and the plan is not complete."""

MOST_FAILED_LAUNCHES = 3
"""After this many launches in a row without a claim, a person is asked before each further one."""

MOST_ANSWERS = 2
"""So often the answering agent is asked about one task; then a person is."""

BY_AGENT = "The plan's agent answers: "
"""The beginning of what the conductor says in the answering agent's words."""


def decide(orchestra: Orchestra) -> tuple[Act, ...]:
    """Return the acts that are due, in an order in which they can be done. If empty, wait for the next event."""
    means = Means(orchestra)
    due = {task.task_id: means.allowed(task, _due_for(task, orchestra)) for task in orchestra.tasks}
    acts: list[Act] = [act for act in due.values() if act is not None]
    ready = list(ready_to_play(orchestra, [task for task in orchestra.tasks if due[task.task_id] is None]))
    acts.extend(given_musicians(ready, means, orchestra))
    if acts:
        return tuple(acts)
    if all(is_finished(task) for task in orchestra.tasks):
        return (Standstill(),) if any(map(is_withdrawn, orchestra.tasks)) else (Finish(),)
    if orchestra.paused:
        return ()  # whoever has paused it lets it go on
    if (orchestra.jobs == 0 and ready) or means.waits_for_tomorrow:
        return ()  # whoever opens a session may claim them; a day's ceiling lifts by itself
    return () if any(_goes_on(task, orchestra) for task in orchestra.tasks) else (Standstill(),)


def _due_for(task: TaskFacts, orchestra: Orchestra) -> Act | None:
    said = pause_due(task, orchestra.tasks)
    if is_withdrawn(task) and not task.has_open_ask:
        return AskHuman(task_id=task.task_id, kind="withdrawn", subject_id=0, text=WITHDRAWN)
    if said is not None or is_finished(task) or task.has_open_ask or is_held_up(task, orchestra.tasks):
        return said
    for rule in _RULES:
        act = rule(task, orchestra.settings)
        if act is not None:
            return act
    return None


def _goes_on(task: TaskFacts, orchestra: Orchestra) -> bool:
    """Whether the task makes progress by itself. A finished one does while its process runs: that frees a place."""
    if task.is_limited and not (task.is_refused or task.has_open_ask or is_finished(task)):
        return True
    has_session = task.is_running or (task.owner is not None and task.owner.lives)
    is_pausing = task.is_paused and task.is_told_to_pause
    waits_for_others = is_pausing or is_held_up(task, orchestra.tasks)
    return has_session and not waits_for_person(task) and not waits_for_others


def _equip(task: TaskFacts, _: Settings) -> Act | None:
    return Equip(task_id=task.task_id) if task.lacks_tree else None


def _merge_complete(task: TaskFacts, _: Settings) -> Act | None:
    return Merge(task_id=task.task_id) if task.state is State.COMPLETE else None


def _ask_question(task: TaskFacts, _: Settings) -> Act | None:
    if task.question is None:
        return None
    if task.is_answered_by_agent and task.is_playing and task.is_running:
        # ask once the session has stopped for the answer: then the work that it asks about is committed
        return None
    message_id, text = task.question
    ask = AskHuman(task_id=task.task_id, kind="question", subject_id=message_id, text=text)
    by_agent = _by_agent(task, ask)
    if isinstance(by_agent, str):
        return Answer(task_id=task.task_id, message_id=message_id, text=by_agent)
    return by_agent


def _by_agent(task: TaskFacts, ask: AskHuman) -> str | AskAnswerer | AskHuman:
    """What the answering agent answers to the message that a person would be asked about; otherwise who is asked."""
    if not task.is_answered_by_agent:
        return ask
    opinion = dict(task.answers).get(ask.subject_id)
    if opinion is None and len(task.answers) < MOST_ANSWERS:
        return AskAnswerer(task_id=task.task_id, message_id=ask.subject_id, text=ask.text)
    if opinion is None:
        why = f"it has been asked {MOST_ANSWERS} times already"
    elif opinion.judgement is None:
        why = opinion.text
    else:
        return BY_AGENT + opinion.text
    return replace(ask, text=f"{ask.text}\nThe plan's agent gave no answer: {why}")


def _answer_submission(task: TaskFacts, settings: Settings) -> Act | None:
    found = task.submitted
    if task.state is not State.NEEDS_REVIEW or found is None:
        return None
    verdict = _verdict_on(task.reviewer, found, settings)
    if verdict is None:
        return AskReviewer(task_id=task.task_id, message_id=found.message_id)
    match verdict.kind:
        case VerdictKind.ASK_HUMAN:
            return _ask_review(task, found, "; ".join(verdict.reasons))
        case VerdictKind.VERIFY_FULLY_FIRST:
            return VerifyFully(task_id=task.task_id, message_id=found.message_id)
        case VerdictKind.SEND_BACK:
            return _judged(task, found, State.REVIEW_FAILED, _worded(verdict.reasons))
        case VerdictKind.PROPOSE_FIX:
            return _judged(task, found, State.FIX_PROPOSED, _worded(verdict.reasons))
    return _approve(task, found)


def _verdict_on(reviewer: Reviewer, found: Submitted, settings: Settings) -> Verdict | None:
    """Return the verdict; None if the reviewing agent must be asked first."""
    match reviewer:
        case Reviewer.HUMAN:
            asked = ("the plan asks for a person's review", *map(needs_a_judge, found.submission.findings))
            return Verdict(kind=VerdictKind.ASK_HUMAN, reasons=asked)
        case Reviewer.AGENT:
            decided = before_asking(found.submission, settings)
            if decided is not None or found.opinion is None:
                return decided
            return judge_by_opinion(found.submission, found.opinion)
    return judge_by_rule(found.submission, settings)


def _approve(task: TaskFacts, found: Submitted) -> Act:
    said = "" if found.opinion is None or not found.opinion.text else f" {found.opinion.text}"
    if not found.submission.final or not task.is_isolated:
        return _judged(task, found, State.REVIEW_APPROVED, f"Approved.{said}")
    if found.trial is None:
        return TryMerge(task_id=task.task_id, message_id=found.message_id)
    if found.trial.outcome is TrialOutcome.GREEN:
        text = f"Approved; merged and verified with the others' work.{said}"
        return _judged(task, found, State.REVIEW_APPROVED, text)
    if found.trial.earlier:
        return AskHuman(
            task_id=task.task_id, kind="conflict", subject_id=found.message_id, text=found.trial.trouble
        )
    return _judged(task, found, State.REVIEW_FAILED, found.trial.trouble)


def _ask_review(task: TaskFacts, found: Submitted, why: str) -> AskHuman:
    return AskHuman(task_id=task.task_id, kind="review", subject_id=found.message_id, text=why)


def _judged(task: TaskFacts, found: Submitted, verdict: State, text: str) -> Judge:
    return Judge(
        task_id=task.task_id,
        message_id=found.message_id,
        verdict=verdict,
        text=text,
        rules=_ruled(found, verdict),
    )


def _ruled(found: Submitted, verdict: State) -> tuple[int, ...]:
    """Return the journal ids that this verdict rules on: everything open, except what a reviewing agent left open.

    Findings are not accepted by sending the work back, unless the agent has named them.
    """
    shown = (*found.deviation_ids, *found.finding_ids)
    if verdict is State.REVIEW_APPROVED:
        return shown
    if found.opinion is None:
        return found.deviation_ids
    return tuple(shown[number - 1] for number in sorted(found.opinion.ruled))


def _worded(reasons: tuple[str, ...]) -> str:
    return reasons[0] if len(reasons) == 1 and "\n" in reasons[0] else _numbered(reasons)


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
    is_hopeless = report.is_repeat or report.is_unplayable
    kind = "conflict" if report.trouble else "error"
    if is_hopeless and (kind, report.message_id) not in task.settled_asks:
        text = report.text if report.is_unplayable else _twice(task, report)
        ask = AskHuman(task_id=task.task_id, kind=kind, subject_id=report.message_id, text=text)
        by_agent = ask if report.is_unplayable else _by_agent(task, ask)  # only a person can mend the plan
        return _fix(task, report, by_agent) if isinstance(by_agent, str) else by_agent
    return _fix(task, report, "Play it once more from the last finished state.")


def _fix(task: TaskFacts, report: OpenReport, text: str) -> Judge:
    return Judge(task_id=task.task_id, message_id=report.message_id, verdict=State.FIX_PROPOSED, text=text)


def _twice(task: TaskFacts, report: OpenReport) -> str:
    first = report.text.partition("\n")[0]
    said = f"the same error twice: {first}; see musician log {task.task_id}"
    return f"{said}\n{report.trouble}".rstrip()


def _take_over_dead(task: TaskFacts, _: Settings) -> Act | None:
    if task.state in ACTIVE and task.owner in (Owner.DEAD, Owner.STALE):
        return TakeOver(task_id=task.task_id)
    return None


def _reopen_exited(task: TaskFacts, settings: Settings) -> Act | None:
    if task.state is not State.EXITED:
        return None
    gave_up = task.exit_reason.startswith("retry exhaustion")
    if gave_up and ("retries", task.epoch) not in task.settled_asks:
        return AskHuman(
            task_id=task.task_id,
            kind="retries",
            subject_id=task.epoch,
            text=f"gave up after {task.exit_reason}",
        )
    return _ask_if_unfit(task) or _ask_if_fruitless(task, settings) or Reopen(task_id=task.task_id)


def _ask_if_unfit(task: TaskFacts) -> Act | None:
    """Ask a person at once if the next session would fail for the same reason as this one."""
    is_unfit = task.empty_sessions and task.exit_reason.startswith(NO_RETRY_HELPS)
    if not is_unfit or ("trouble", task.epoch) in task.settled_asks:
        return None
    return AskHuman(task_id=task.task_id, kind="trouble", subject_id=task.epoch, text=task.exit_reason)


def _ask_if_fruitless(task: TaskFacts, settings: Settings) -> Act | None:
    limit = settings.limits.sessions_without_progress
    if task.empty_sessions < limit or ("progress", task.epoch) in task.settled_asks:
        return None
    return AskHuman(
        task_id=task.task_id,
        kind="progress",
        subject_id=task.epoch,
        text=f"{task.empty_sessions} sessions in a row ended without progress, the last: {task.exit_reason};"
        f" see .musician/logs/{task.task_id}.musician.log",
    )


def _ask_before_relaunch(task: TaskFacts, settings: Settings) -> Act | None:
    if not is_open(task):
        return None
    failed = task.failed_launches
    if failed >= MOST_FAILED_LAUNCHES and ("launch", failed) not in task.settled_asks:
        return AskHuman(
            task_id=task.task_id,
            kind="launch",
            subject_id=failed,
            text=f"{failed} musicians in a row ended before they claimed it;"
            f" see .musician/logs/{task.task_id}.musician.log",
        )
    return _ask_if_fruitless(task, settings)


def _flag_doubtful(task: TaskFacts, _: Settings) -> Act | None:
    if task.state not in ACTIVE:
        return None
    if task.owner is Owner.DOUBTFUL:
        text = "its owner's heartbeat cannot be read or lies in the future: nobody can tell whether it lives"
    elif task.owner is None and task.state not in CLAIMABLE and not task.is_running:
        text = f"it is {task.state}, and no session owns it: hand it off, and it goes on"
    else:
        return None
    return AskHuman(task_id=task.task_id, kind="doubtful", subject_id=task.epoch, text=text)


_RULES: tuple[Callable[[TaskFacts, Settings], Act | None], ...] = (
    _equip,
    _merge_complete,
    _ask_question,
    _answer_submission,
    _answer_report,
    _take_over_dead,
    _flag_doubtful,
    _reopen_exited,
    _ask_before_relaunch,
)
"""The order matters: a dead session's submission is judged before its task is taken over, because the verdict outlives
the session (D7)."""
