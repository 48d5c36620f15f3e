"""The human conductor: look at what waits for a judgement, and judge it (D7, D18)."""

import json
from collections.abc import Sequence

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, correct_option, task_argument, text_argument
from musician.cli.render import fields, indented, lines, show, table
from musician.protocol.errors import NoRepository
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.review import needs_a_judge
from musician.protocol.states import WAITING, State
from musician.reporting.asks import Answer, answers_to, asked
from musician.reporting.standing import Standing
from musician.service import TaskView
from musician.store.rows import HumanRow, MessageRow, VerificationRow
from musician.trees.branches import NO_PLAN
from musician.trees.task_work import ChangedFile, Work, work_of

_MOST_FILES = 20

_VERBS = {
    State.REVIEW_APPROVED: "approve {}",
    State.REVIEW_FAILED: "reject {} TEXT",
    State.FIX_PROPOSED: "fix {} TEXT",
}

_message_option = click.option(
    "--message",
    "message_id",
    type=click.IntRange(min=1),
    metavar="ID",
    help="The submission or report that was judged; refused when a later one is there.",
)


@click.group("review")
def review() -> None:
    """Judge what musicians submit and report."""


@command("list", parent=review)
@click.pass_obj
def list_command(app: App) -> None:
    """What waits for a judgement or for a person."""
    about = (ask.task_id for ask in service.open_asks(app.store) if ask.task_id != CONDUCTOR)
    task_ids = dict.fromkeys((*(row.task_id for row in service.open_tasks(app.store)), *about))
    found = [Standing(service.task_view(app.store, task_id)) for task_id in task_ids]
    waiting = [each for each in found if each.state in WAITING or each.waiting]
    show(app, {"waiting": [_waiting(each) for each in waiting]})
    if app.json:
        return
    if not waiting:
        lines("nothing waits")
        return
    rows = [
        (each.task_id, each.state, *_latest_change(each.view), "; ".join(map(asked, each.waiting)))
        for each in waiting
    ]
    table(("TASK", "STATE", "MESSAGE", "TYPE", "NEEDS A PERSON"), rows)


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
    """The message that brought the task where it waits now."""
    if view.row.state not in WAITING or not view.history:
        return None, None
    return view.history[-1].message_id, view.history[-1].message_type


@command("show", parent=review)
@task_argument
@click.pass_obj
def show_command(app: App, task_id: str) -> None:
    """What TASK submitted last, what was verified, and where its work is to be looked at."""
    view = service.task_view(app.store, task_id)
    message_ids = [
        change.message_id for change in view.history if change.to_state in WAITING and change.message_id
    ]
    messages = {message.id: message for message in service.messages_of(app.store, task_id)}
    message = messages.get(message_ids[-1]) if message_ids else None
    evidence = view.verifications[-1] if view.verifications else None
    work = _work_of(app, view)
    open_deviations, findings = service.open_rows(view.journal)
    document = {
        "task_id": task_id,
        "state": view.row.state,
        "message": None if message is None else fields(message),
        "verification": None if evidence is None else fields(evidence, result=json.loads(evidence.result)),
        "deviations": [fields(row) for row in open_deviations],
        "findings": [fields(row) for row in findings],
        "needs_human": [fields(ask) for ask in view.open_asks],
        "verdicts": [verb.split()[0] for state, verb in _VERBS.items() if state in view.open_verdicts],
        "work": None if work is None else _work_document(work),
    }
    deviations = [
        f"open deviation ({row.severity}): {'' if row.kind == 'deviation' else f'{row.item} left out: '}{row.text}"
        for row in open_deviations
    ]
    waiting = Standing(view).waiting
    asks = [f"needs a person: {asked(ask)}" for ask in waiting]
    asks += [f"  {each.command}  ({each.effect})" for each in _what_to_do(view, waiting)]
    show(
        app,
        document,
        f"{task_id} is {view.row.state}",
        *_said(message),
        *_found(evidence),
        *deviations,
        *(needs_a_judge(row.text) for row in findings),
        *asks,
        *_where(work),
        *_how_to_answer(view),
    )


def _work_of(app: App, view: TaskView) -> Work | None:
    """None also where the database is looked at from outside of its repository."""
    try:
        return work_of(app.root, view.row.plan_id, view.row.task_id)
    except NoRepository:
        return None


def _work_document(work: Work) -> dict[str, object]:
    return {
        "branch": work.branch,
        "tree": None if work.tree is None else str(work.tree),
        "start": work.start,
        "commit": work.commit,
        "diff": work.diff_command,
        "files": [fields(each) for each in work.files],
    }


def _where(work: Work | None) -> list[str]:
    """What changed, in a few lines, and the command that shows it whole."""
    if work is None:
        return []
    changed = [f"  {each.path} ({_extent(each)})" for each in work.files[:_MOST_FILES]]
    more = len(work.files) - len(changed)
    return [
        f"its work: branch {work.branch}" + ("" if work.tree is None else f", tree {work.tree}"),
        *(changed or ["  no file is changed so far"]),
        *([f"  and {more} more"] if more else []),
        *([f"look at it: {work.diff_command}"] if work.files else []),
    ]


def _extent(file: ChangedFile) -> str:
    return "no text" if file.added is None else f"+{file.added} -{file.removed}"


def _how_to_answer(view: TaskView) -> list[str]:
    """The verdicts that are accepted now, and no other."""
    verbs = [verb.format(view.row.task_id) for state, verb in _VERBS.items() if state in view.open_verdicts]
    return [f"answer it: musician review {' | '.join(verbs)}"] if verbs else []


def _what_to_do(view: TaskView, asks: Sequence[HumanRow]) -> list[Answer]:
    """The commands that are no verdict, of what waits for a person."""
    plan_id = view.row.plan_id or NO_PLAN
    found = [answer for ask in asks for answer in answers_to(ask, plan_id=plan_id)]
    return [each for each in found if not each.command.startswith("musician review")]


def _said(message: MessageRow | None) -> list[str]:
    if message is None:
        return ["nothing was submitted or reported so far"]
    return [f"message {message.id}, {message.message_type}, {message.timestamp}:", indented(message.message)]


def _found(evidence: VerificationRow | None) -> list[str]:
    if evidence is None:
        return ["nothing was verified so far"]
    scope = "everything" if evidence.covers_all else f"checkpoint {evidence.checkpoint}"
    return [f"verification of {scope}: {evidence.outcome} ({evidence.at})"]


@command("approve", parent=review)
@task_argument
@text_argument(required=False)
@_message_option
@click.pass_obj
def approve(app: App, task_id: str, text: str | None, message_id: int | None) -> None:
    """Approve what TASK submitted.

    It goes on from there, or completes after its last checkpoint.
    """
    _judge(app, task_id, State.REVIEW_APPROVED, text or "Approved.", message_id)


@command("reject", parent=review)
@task_argument
@text_argument()
@correct_option
@_message_option
@click.pass_obj
def reject(app: App, task_id: str, text: str, message_id: int | None, corrections: tuple[str, ...]) -> None:
    """Send TASK's work back; TEXT says what is wrong."""
    _judge(app, task_id, State.REVIEW_FAILED, with_corrections(text, corrections), message_id)


@command("fix", parent=review)
@task_argument
@text_argument()
@correct_option
@_message_option
@click.pass_obj
def fix(app: App, task_id: str, text: str, message_id: int | None, corrections: tuple[str, ...]) -> None:
    """Answer TASK with a proposal; TEXT says what to do.

    A task whose session has exited is opened again: TEXT is the next session's.
    """
    text = with_corrections(text, corrections)
    if message_id is None and service.task_row(app.store, task_id).state is State.EXITED:
        said = service.reopen(app.store, task_id, text)
        service.resolve_asks(app.store, task_id, f"opened again: {text}"[:500])
        document = {"task_id": task_id, "state": State.FIX_PROPOSED, "message_id": said, "judged": None}
        show(app, document, f"{task_id}: open again by message {said}; play it with: musician work {task_id}")
    else:
        _judge(app, task_id, State.FIX_PROPOSED, text, message_id)


def _judge(app: App, task_id: str, verdict: State, text: str, message_id: int | None) -> None:
    """A person's verdict rules every deviation that was open to see (D17), an approval every finding too (D26)."""
    deviations, findings = service.open_rows(service.journal_of(app.store, task_id))
    ruled = tuple(row.id for row in (*deviations, *(findings if verdict is State.REVIEW_APPROVED else ())))
    said = service.judge(
        app.store, task_id, verdict, text, submission_id=message_id, rules=ruled, by_person=True
    )
    document = {"task_id": task_id, "state": verdict, "message_id": said, "judged": message_id}
    show(app, document, f"{task_id}: {verdict} by message {said}")
