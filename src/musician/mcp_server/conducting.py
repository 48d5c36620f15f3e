"""The tools of the session that conducts: each calls one verb as ``task-00`` and says in a few lines what came of it.

The session is checked at every call, whatever it was offered: only the one that conducts, and plays nothing, passes.
What musicians wrote is shown as data, each line behind a bar.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from musician import service
from musician.mcp_server.background_run import start_run, stop_run, wait_for_end
from musician.mcp_server.served_session import ServedSession
from musician.plans.warnings import warnings_of
from musician.processes.identity import login_name
from musician.processes.machine import MACHINE
from musician.protocol.errors import BadField, InvalidPlan, NoRepository
from musician.protocol.states import WAITING, State
from musician.reporting.asks import still_asked, who_reads
from musician.reporting.comments import rounds_of, say_round
from musician.reporting.conducting import news, quoted, say_agenda
from musician.reporting.evidence import evidence_of
from musician.reporting.plan_list import say_left_open
from musician.reporting.run_at_work import is_conducted
from musician.reporting.standing import Standing
from musician.reporting.tally import tally_of
from musician.reporting.timeline import say_signer
from musician.runtime.again import retry_task, skip_task
from musician.runtime.commenting import comment as write_comment
from musician.runtime.commenting import parse_place
from musician.runtime.locking import amend_plan_file, check_ids, lock_plan_file
from musician.runtime.players import doubts_of_players
from musician.runtime.program import read_plan
from musician.runtime.takeover import hand_over
from musician.runtime.world import WORLD
from musician.service import Dependents, TaskView
from musician.store.port import Store
from musician.store.rows import ArchiveRow, PlanRow
from musician.trees.task_work import work_of

_VERDICTS = {
    "approve": State.REVIEW_APPROVED,
    "reject": State.REVIEW_FAILED,
    "fix": State.FIX_PROPOSED,
}
_SKIPS = {"skip": None, "skip with them": Dependents.SKIP, "skip alone": Dependents.PLAY}
"""What becomes of the tasks that are to be played after it."""
_MOST_FILES = 20


def _signer(served: ServedSession) -> service.Signer:
    """What the session decides bears its name beside the person's for whom it speaks: nobody takes it for his word."""
    return service.Signer(name=login_name(), session_id=served.session_id)


def _signed(served: ServedSession) -> Store:
    return service.signed(served.store, _signer(served))


def needs_me(served: ServedSession) -> str:
    _, agenda = news(served.root, served.store, served.settings, served.session_id, MACHINE)
    return "\n".join([say_agenda(agenda), *_plans(served)])


def show(served: ServedSession, *, task: str) -> str:
    view = service.task_view(served.store, task)
    waiting = [
        change.message_id for change in view.history if change.to_state in WAITING and change.message_id
    ]
    message = service.message_row(served.store, waiting[-1]) if waiting else None
    deviations, findings = service.open_rows(view.journal)
    said = (
        "" if message is None else f"message {message.id}, {message.message_type}:\n{quoted(message.message)}"
    )
    lines = [
        f"{task} is {view.row.state}",
        said,
        *(
            f"verification: {each.row.outcome} ({each.row.at}){each.stale and f'; stale: {each.stale}'}"
            for each in evidence_of(served.root, view)[:1]
        ),
        *(f"open deviation ({row.severity}):\n{quoted(row.text)}" for row in deviations),
        *(f"finding:\n{quoted(row.text)}" for row in findings),
        *(f"asked ({ask.kind}):\n{quoted(ask.text)}" for ask in Standing(view).waiting),
        *_work(served, view),
        *_said(served, view),
        f"the whole record: musician review show {task}, musician timeline, musician log {task}",
    ]
    return "\n".join(line for line in lines if line)


def judge(
    served: ServedSession, *, task: str, verdict: str, text: str = "", message: int | None = None
) -> str:
    state = service.task_row(served.store, task).state
    if message is None and state is State.EXITED and verdict == "fix":
        return _then(served, f"{task} is open again by message {service.reopen(_signed(served), task, text)}")
    if message is None:
        raise BadField(field="message", value=None, reason="name the message that you judged: show tells it")
    sent_id = service.judge_as_person(_signed(served), task, _VERDICTS[verdict], text, submission_id=message)
    return _then(served, f"{task}: {_VERDICTS[verdict]} by message {sent_id}")


def comment(served: ServedSession, *, task: str, line: str, text: str) -> str:
    path, number = parse_place(line)
    comment_id, remark = write_comment(served.root, served.store, task, path=path, line=number, text=text)
    return f"draft {comment_id} on {remark.place}; `judge` with reject or fix sends it"


def send(served: ServedSession, *, task: str, text: str, urgent: str = "no") -> str:
    message_id = service.send(_signed(served), task, text, urgent=urgent == "yes")
    said = f"{task}: message {message_id} sent"
    more = (who_reads(served.store, task), still_asked(served.store, task))
    return _then(served, "; ".join(filter(None, (said, *more))))


def stop(served: ServedSession, *, task: str, how: str, text: str = "") -> str:
    if how == "now":
        said = text or service.STOP_NOW
        message_id = service.request_exit(_signed(served), task, said, urgent=True, hold=True)
        return f"{task}: exit requested by message {message_id}; it goes on when you send it a word"
    message_id, state = hand_over(served.root, _signed(served), task, text or None, served.settings)
    return _then(served, f"{task} is {state} by message {message_id}; a fresh session goes on")


def again(served: ServedSession, *, task: str, how: str, text: str = "") -> str:
    if how not in _SKIPS:
        from_start = how == "from start"
        done = retry_task(
            served.root, _signed(served), task, served.settings, text or None, from_start=from_start
        )
        said = f"{task} is {done.state}; it may report {done.errors_left} errors from here"
        return _then(served, "; ".join(filter(None, (said, still_asked(served.store, task)))))
    gone, left = skip_task(served.root, _signed(served), task, text, served.settings, dependents=_SKIPS[how])
    without = f"; played without it: {', '.join(gone.go_on)}" if gone.go_on else ""
    kept = "".join(f"; {each}" for each in left)
    return _then(served, f"skipped: {', '.join(gone.skipped) or 'it was already'}{without}{kept}")


def plan(served: ServedSession, *, path: str, act: str) -> str:
    file = Path(os.path.join(served.root.users_tree, path))
    try:
        if act == "check":
            read = read_plan(served.root, file)
            check_ids(served.store, read)
            doubts = (*doubts_of_players(read, served.settings, WORLD), *warnings_of(read))
            warnings = [f"warning: {each}" for each in doubts]
            return "\n".join([f"{read.plan_id}: {len(tuple(read.tasks))} tasks, no problem", *warnings])
        if act == "lock":
            away: list[ArchiveRow] = []
            locked = lock_plan_file(served.root, served.store, file, served.settings, on_archived=away.append)
            left = filter(None, map(say_left_open, away))
            return "\n".join([f"{locked.plan_id} is locked; play it with `run`", *left])
        made = amend_plan_file(served.root, served.store, file, served.settings)
    except InvalidPlan as problem:
        return "\n".join(["not valid:", *problem.problems])
    changed = (*made.added, *made.back, *made.changed, *made.withdrawn)
    kept = f"; not taken up, sessions play them: {', '.join(made.kept)}" if made.kept else ""
    kept += "".join(f"; {each}" for each in (*made.left, *(f"warning: {each}" for each in made.doubts)))
    return _then(served, f"{made.plan.plan_id} is amended ({', '.join(changed) or 'no task changed'}{kept})")


def run(served: ServedSession, *, act: str, plan: str = "", text: str = "") -> str:
    if act == "pause":
        return _pause(served, _locked(served, plan), text)
    if act == "resume":
        return _resume(served, _locked(served, plan))
    if act == "stop":
        stopped = stop_run(served.root)
        return (
            "no run is at work here"
            if stopped is None
            else f"the run (process {stopped.pid}) is asked to end"
        )
    file = plan or _unfinished(served).path
    holder = wait_for_end(
        served.root, is_at_work=lambda: is_conducted(served.root, served.store, served.settings)
    )
    if holder is not None:
        return f"a run is at work already (process {holder.pid})"
    started = start_run(served.root, file, os.environ)
    if started.said:
        return f"the run has ended at once:\n{quoted(started.said)}"
    return f"a run is at work (process {started.pid}, log {started.log}). It outlives this session. End your turn."


def resign(served: ServedSession) -> str:
    service.leave_conducting(served.store, served.session_id)
    at_work = is_conducted(served.root, served.store, served.settings)
    return "This session conducts no more." + (" The run goes on without it." if at_work else "")


def _then(served: ServedSession, done: str) -> str:
    """What was done; and that nobody takes it up, where that is so."""
    at_work = is_conducted(served.root, served.store, served.settings)
    return done if at_work else f"{done}. No run is at work: `run` goes on."


def _said(served: ServedSession, view: TaskView) -> Iterator[str]:
    """What was said to its work and not sent yet, and the points it was sent back with last, with their answers."""
    for draft in service.comments_of(served.store, view.row.task_id):
        if draft.message_id is None:
            yield f"draft {draft.id}:\n{quoted(draft.remark.point)}"
    for last in rounds_of(served.store, view)[-1:]:
        yield quoted("\n".join(say_round(last, {})))


def _pause(served: ServedSession, plan: PlanRow, text: str) -> str:
    who = say_signer(_signer(served))
    made = service.pause_plan(_signed(served), plan.plan_id, who=who, reason=text)
    return quoted(made.row.text) + ("" if made.is_new else "\nIt was so before: nothing is changed.")


def _resume(served: ServedSession, plan: PlanRow) -> str:
    before = service.resume_plan(_signed(served), plan.plan_id, who=say_signer(_signer(served)))
    return _then(served, f"{plan.plan_id} " + ("was not paused" if before is None else "goes on"))


def _locked(served: ServedSession, path: str) -> PlanRow:
    """The plan of this file, or the only one that is not finished."""
    if not path:
        return _unfinished(served)
    for row in service.current_plans(served.store):
        if path in (row.path, row.plan_id):
            return row
    raise BadField(field="plan", value=path, reason="no plan is locked from this file: `needs_me` names them")


def _unfinished(served: ServedSession) -> PlanRow:
    plans = [each for each in service.current_plans(served.store) if each.finished_at is None]
    if len(plans) != 1:
        listed = ", ".join(each.path for each in plans)
        raise BadField(field="plan", value="", reason=f"name the plan's file: {listed or 'none is locked'}")
    return plans[0]


def _plans(served: ServedSession) -> list[str]:
    paused = service.paused_plans(served.store)
    return [
        f"plan {each.plan_id} ({each.path}): "
        + tally_of(service.tasks_of(served.store, each.plan_id)).said
        + (f"\n{quoted(paused[each.plan_id].text)}" if each.plan_id in paused else "")
        for each in service.current_plans(served.store)
    ]


def _work(served: ServedSession, view: TaskView) -> list[str]:
    try:
        work = work_of(served.root, view.row.plan_id, view.row.task_id)
    except NoRepository:
        return []
    if work is None:
        return []
    files = [f"| {each.path}" for each in work.files[:_MOST_FILES]]
    return [f"changed {len(work.files)} files on {work.branch}; look: {work.diff_command}", *files]
