"""The commands ``review …``, with which a person judges submissions and reports (D7, D18)."""

import json
from collections.abc import Sequence

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, correct_option, plan_option, task_argument, text_argument
from musician.cli.render import Rows, fields, indented, show
from musician.cli.review_comments import comment, comments
from musician.cli.review_look import checkout, diff, file_document, open_command
from musician.processes.output import as_name
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.names import CONDUCTOR, NO_PLAN
from musician.protocol.rules.review import needs_a_judge
from musician.protocol.states import WAITING, State
from musician.reporting.asks import VERDICTS, Answer, answers_to, asked
from musician.reporting.evidence import Evidence, evidence_of
from musician.reporting.standing import Standing
from musician.runtime.as_person import as_person
from musician.service import TaskView
from musician.store.rows import HumanRow, MessageRow
from musician.trees.diffs import FileDiff
from musician.trees.task_work import Work, work_of

_MOST_FILES = 20

_VERBS = {State.REVIEW_APPROVED: "approve", State.REVIEW_FAILED: "reject", State.FIX_PROPOSED: "fix"}

_message_option = click.option(
    "--message",
    "message_id",
    type=click.IntRange(min=1),
    metavar="ID",
    help="The submission or report that you judged. The verdict is refused if there is a later one.",
)


@click.group("review")
def review() -> None:
    """Judge the submissions and error reports of musicians."""


for _each in (diff, checkout, open_command, comment, comments):
    review.add_command(_each)


@command("list", parent=review)
@click.pass_obj
def list_command(app: App) -> None:
    """List the tasks that wait for a verdict or for a person."""
    about = (ask.task_id for ask in service.open_asks(app.store) if ask.task_id != CONDUCTOR)
    task_ids = dict.fromkeys((*(row.task_id for row in service.open_tasks(app.store)), *about))
    standings = [Standing(service.task_view(app.store, task_id)) for task_id in task_ids]
    waiting = [each for each in standings if each.state in WAITING or each.waiting]
    rows = [
        (each.task_id, each.state, *_latest_change(each.view), "; ".join(map(asked, each.waiting)))
        for each in waiting
    ]
    table = Rows(headings=("TASK", "STATE", "MESSAGE", "TYPE", "NEEDS A PERSON"), rows=rows)
    document = {"waiting": [_waiting(each) for each in waiting]}
    show(app, document, table if waiting else "nothing waits")


def _waiting(standing: Standing) -> dict[str, object]:
    latest = _latest_change(standing.view)
    return {
        "task_id": standing.task_id,
        "state": standing.state,
        "message_id": latest[0],
        "message_type": latest[1],
        "needs_human": "; ".join(ask.text for ask in standing.waiting),
    }


def _latest_change(view: TaskView) -> tuple[int | None, str | None]:
    """Return the id and type of the message that the task waits with."""
    if view.row.state not in WAITING or not view.history:
        return None, None
    return view.history[-1].message_id, view.history[-1].message_type


@command("show", parent=review)
@task_argument
@plan_option
@click.pass_obj
def show_command(app: App, task_id: str) -> None:
    """Show the last submission of TASK, its verification, and where its work is."""
    view = service.task_view(app.shown, task_id)
    message_ids = [
        change.message_id for change in view.history if change.to_state in WAITING and change.message_id
    ]
    message = service.message_row(app.shown, message_ids[-1]) if message_ids else None
    root = app.root_if_any  # without it nothing is known of the work
    evidence = next(iter(evidence_of(root, view)), None)
    work = None if root is None else work_of(root, view.row.plan_id, task_id, submitted=view.submitted_commit)
    open_deviations, findings = service.open_rows(view.journal)
    document = {
        "task_id": task_id,
        "state": view.row.state,
        "message": None if message is None else fields(message),
        "verification": None
        if evidence is None
        else fields(evidence.row, result=json.loads(evidence.row.result), stale=evidence.stale),
        "deviations": [fields(row) for row in open_deviations],
        "findings": [fields(row) for row in findings],
        "needs_human": [fields(ask) for ask in view.open_asks],
        "verdicts": [] if app.is_archived else [_VERBS[verdict] for verdict in _verdicts(view)],
        "work": None if work is None else _work_document(work),
    }
    deviations = [
        f"open deviation ({row.severity}): {'' if row.kind == 'deviation' else f'{row.item} left out: '}{row.text}"
        for row in open_deviations
    ]
    waiting = () if app.is_archived else Standing(view).waiting
    asks = [f"needs a person: {asked(ask)}" for ask in waiting]
    asks += [f"  {each.command}  ({each.effect})" for each in _what_to_do(view, waiting)]
    show(
        app,
        document,
        f"{task_id} is {view.row.state}",
        *_message_lines(message),
        *_verification_lines(evidence),
        *deviations,
        *(needs_a_judge(row.text) for row in findings),
        *asks,
        *_work_lines(task_id, work, f" --plan {app.plan_id}" if app.is_archived else ""),
        *([] if app.is_archived else _verdict_lines(view)),
    )


def _work_document(work: Work) -> dict[str, object]:
    return {
        "branch": work.branch,
        "tree": None if work.tree is None else str(work.tree),
        "start": work.start,
        "commit": work.commit,
        "diff": work.diff_command,
        "files": list(map(file_document, work.files)),
    }


def _work_lines(task_id: str, work: Work | None, of_plan: str) -> list[str]:
    """Summarise the changes, and name the command that shows all of them."""
    if work is None:
        return []
    changed = [f"  {as_name(each.path)} ({_extent(each)})" for each in work.files[:_MOST_FILES]]
    more = len(work.files) - len(changed)
    where = f"branch {work.branch}" if work.has_branch else f"commit {work.commit:.12} (its branch is gone)"
    return [
        f"its work: {where}" + ("" if work.tree is None else f", tree {work.tree}"),
        *(changed or ["  no file has changed so far"]),
        *([f"  and {more} more"] if more else []),
        *([f"look at it: musician review diff {task_id}{of_plan} (or checkout, open)"] if work.files else []),
    ]


def _extent(file: FileDiff) -> str:
    return "binary" if file.added is None else f"+{file.added} -{file.removed}"


def _verdicts(view: TaskView) -> list[State]:
    return [verdict for verdict in VERDICTS if verdict in view.open_verdicts]


def _verdict_lines(view: TaskView) -> list[str]:
    """Name the verdicts that are accepted now, each on a line that a shell takes as it stands."""
    commands = [VERDICTS[verdict].format(task=view.row.task_id) for verdict in _verdicts(view)]
    return ["answer it with one of:", *(f"  {each}" for each in commands)] if commands else []


def _what_to_do(view: TaskView, asks: Sequence[HumanRow]) -> list[Answer]:
    """Return the commands that answer the open questions and are not verdicts."""
    plan_id = view.row.plan_id or NO_PLAN
    answers = [answer for ask in asks for answer in answers_to(ask, plan_id=plan_id)]
    return [answer for answer in answers if not answer.command.startswith("musician review")]


def _message_lines(message: MessageRow | None) -> list[str]:
    if message is None:
        return ["nothing was submitted or reported so far"]
    return [f"message {message.id}, {message.message_type}, {message.timestamp}:", indented(message.message)]


def _verification_lines(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return ["nothing was verified so far"]
    row = evidence.row
    scope = "everything" if row.covers_all else f"checkpoint {row.checkpoint}"
    stale = [f"  stale: {evidence.stale}"] if evidence.stale else []
    return [f"verification {row.id} of {scope}: {row.outcome} ({row.at})", *stale]


@command("approve", parent=review)
@task_argument
@text_argument(required=False)
@_message_option
@click.pass_obj
def approve(app: App, task_id: str, text: str | None, message_id: int | None) -> None:
    """Approve the submission of TASK.

    The task goes on, or completes after its last checkpoint.
    """
    _judge(app, task_id, State.REVIEW_APPROVED, text or "", message_id)


@command("reject", parent=review)
@task_argument
@text_argument(required=False)
@correct_option
@_message_option
@click.pass_obj
def reject(
    app: App, task_id: str, text: str | None, message_id: int | None, corrections: tuple[str, ...]
) -> None:
    """Send TASK's work back; TEXT says what is wrong.

    The drafts of `musician review comment` go with it, as points that the musician answers one by one. Then TEXT may
    be left out.
    """
    _judge(app, task_id, State.REVIEW_FAILED, with_corrections(text or "", corrections), message_id)


@command("fix", parent=review)
@task_argument
@text_argument(required=False)
@correct_option
@_message_option
@click.pass_obj
def fix(
    app: App, task_id: str, text: str | None, message_id: int | None, corrections: tuple[str, ...]
) -> None:
    """Answer TASK with a proposal; TEXT says what to do, and drafts of comments go with it as with reject.

    If its session has exited, the task is opened again and TEXT is for the next session.
    """
    text = with_corrections(text or "", corrections)
    if message_id is None and service.task_row(app.store, task_id).state is State.EXITED:
        sent_id = service.reopen(as_person(app), task_id, text)
        document = {"task_id": task_id, "state": State.FIX_PROPOSED, "message_id": sent_id, "judged": None}
        show(
            app,
            document,
            f"{task_id}: open again by message {sent_id}; play it with: musician work {task_id}",
        )
    else:
        _judge(app, task_id, State.FIX_PROPOSED, text, message_id)


def _judge(app: App, task_id: str, verdict: State, text: str, message_id: int | None) -> None:
    sent_id = service.judge_as_person(as_person(app), task_id, verdict, text, submission_id=message_id)
    document = {"task_id": task_id, "state": verdict, "message_id": sent_id, "judged": message_id}
    show(app, document, f"{task_id}: {verdict} by message {sent_id}")
