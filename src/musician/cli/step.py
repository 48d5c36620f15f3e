"""The commands that record a session's work: steps, deviations, self-corrections, failures (D3, D10, D17)."""

import click

from musician.cli.context import App
from musician.cli.manual import manual_session, show_result
from musician.cli.options import (
    command,
    context_option,
    parse_text,
    session_options,
    task_argument,
    text_argument,
)
from musician.cli.render import show
from musician.protocol.musician.inputs import DeviationTold, SelfCorrectionTold
from musician.protocol.rules.deviations import Severity, parse_severity


@command("step")
@task_argument
@click.argument("act", metavar="start|done|skipped", type=click.Choice(["start", "done", "skipped"]))
@click.argument("number", metavar="N", type=click.IntRange(min=1))
@text_argument(required=False)
@click.option("--agent", type=click.IntRange(min=1), metavar="K", help="The step's subagent piece K.")
@click.option("--commit", is_flag=True, help="With done: commit the task's working tree first.")
@click.option(
    "--said",
    metavar="TEXT",
    callback=parse_text,
    help="With done and --agent: the subagent's own report. The checkpoint compares it with the facts.",
)
@context_option
@session_options
@click.pass_obj
def step(
    app: App,
    task_id: str,
    act: str,
    number: int,
    text: str | None,
    agent: int | None,
    commit: bool,
    said: str | None,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """Record that step N is started, done or skipped.

    Starting a step after a verdict sets the task to working again. A skipped step needs a TEXT that says why; it is a
    Medium deviation, which the judge of the next submission rules on.
    """
    if commit and act != "done":
        raise click.UsageError("--commit can only be used with done")
    if said is not None and (act != "done" or agent is None):
        raise click.UsageError("--said can only be used with done and --agent")
    if (text is None) is (act == "skipped"):
        raise click.UsageError("say why the step is skipped" if text is None else "only skipped takes a TEXT")
    item = f"step {number}" if agent is None else f"step {number} agent {agent}"
    manual = manual_session(app, task_id, session, epoch)
    commit_id = None
    if act == "start":
        manual.start(item, context_pct)
    elif act == "skipped":
        manual.skip(item, text or "", context_pct)
    else:
        commit_id = manual.finish_item(item, context_pct, commit=commit, claims=said or "")
    document = {"task_id": task_id, "item": item, "done": act == "done", "commit_id": commit_id}
    noted = f"{task_id}: {item} {'started' if act == 'start' else act}"
    show_result(app, manual, context_pct, document, noted + (f" at {commit_id}" if commit_id else ""))


def _severity(ctx: click.Context, param: click.Parameter, value: str) -> Severity:
    return parse_severity(value)


@command("deviation")
@task_argument
@click.argument("severity", metavar="Low|Medium|High", callback=_severity)
@text_argument()
@context_option
@session_options
@click.pass_obj
def deviation(
    app: App,
    task_id: str,
    severity: Severity,
    text: str,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """Record a deviation from the plan."""
    manual = manual_session(app, task_id, session, epoch)
    item = manual.tell(DeviationTold(severity=severity, text=text), context_pct)
    document = {"task_id": task_id, "item": item, "severity": severity, "text": text}
    show_result(app, manual, context_pct, document, f"{task_id}: {severity} deviation noted")


@command("self-correction")
@task_argument
@text_argument()
@context_option
@session_options
@click.pass_obj
def self_correction(
    app: App, task_id: str, text: str, context_pct: float | None, session: str | None, epoch: int | None
) -> None:
    """Record that earlier work was redone."""
    manual = manual_session(app, task_id, session, epoch)
    item = manual.tell(SelfCorrectionTold(text=text), context_pct)
    document = {"task_id": task_id, "item": item, "text": text}
    show_result(app, manual, context_pct, document, f"{task_id}: self-correction noted")


@command("correction")
@task_argument
@context_option
@session_options
@click.pass_obj
def correction(
    app: App, task_id: str, context_pct: float | None, session: str | None, epoch: int | None
) -> None:
    """Record that the conductor's next correction step is done.

    The working tree of TASK is committed as that step. If the step is a revert, this command makes it: a new commit
    undoes the finished step.
    """
    manual = manual_session(app, task_id, session, epoch)
    item, commit_id = manual.correct(context_pct)
    document = {"task_id": task_id, "item": item, "done": True, "commit_id": commit_id}
    done = f"{task_id}: {item} done" + (f" at {commit_id}" if commit_id else "")
    show_result(app, manual, context_pct, document, done)


@command("error")
@task_argument
@text_argument(required=False)
@click.option("--report", metavar="PATH", help="A detailed report, relative to the project.")
@click.option(
    "--context-warning",
    "is_warning",
    is_flag=True,
    help="Nothing failed, but the context (--context) may run out. The program adds its estimate.",
)
@context_option
@session_options
@click.pass_obj
def error(
    app: App,
    task_id: str,
    text: str | None,
    report: str | None,
    is_warning: bool,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """Report a failure, or a context that may run out, and wait for the answer.

    TASK is in the state error until the conductor answers.
    """
    if (text is None) is not is_warning:
        raise click.UsageError("give either a TEXT that says what failed, or --context-warning")
    manual = manual_session(app, task_id, session, epoch)
    if text is None:
        message_id: int | None = manual.warn(context_pct)
    else:
        message_id = manual.report(text, report=report, context_pct=context_pct)
        if message_id is None:
            left = {"task_id": task_id, "message_id": None, "state": "exited"}
            show(app, left, f"{task_id}: exited (retry exhaustion); its conductor decides how it goes on")
            return
    document: dict[str, object] = {"task_id": task_id, "message_id": message_id, "state": "error"}
    what = "warned of its context" if is_warning else "reported"
    reported = f"{task_id}: {what} by message {message_id}; wait for the answer: musician wait {task_id}"
    show_result(app, manual, context_pct, document, reported)
