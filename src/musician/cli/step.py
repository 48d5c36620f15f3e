"""The commands that record a session's work: steps, deviations, self-corrections, failures (D3, D10, D17)."""

import click

from musician.cli.acting import Acting, acting
from musician.cli.options import command, context_option, parse_text, task_argument, text_argument
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
@acting
def step(
    acting: Acting,
    act: str,
    number: int,
    text: str | None,
    agent: int | None,
    commit: bool,
    said: str | None,
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
    manual = acting.manual
    commit_id = None
    if act == "start":
        manual.start(item)
    elif act == "skipped":
        manual.skip(item, text or "")
    else:
        commit_id = manual.finish_item(item, commit=commit, claims=said or "")
    document = {"item": item, "done": act == "done", "commit_id": commit_id}
    noted = f"{item} {'started' if act == 'start' else act}"
    acting.show_with_advice(document, noted + (f" at {commit_id}" if commit_id else ""))


def _severity(ctx: click.Context, param: click.Parameter, value: str) -> Severity:
    return parse_severity(value)


@command("deviation")
@task_argument
@click.argument("severity", metavar="Low|Medium|High", callback=_severity)
@text_argument()
@context_option
@acting
def deviation(acting: Acting, severity: Severity, text: str) -> None:
    """Record a deviation from the plan."""
    item = acting.manual.tell(DeviationTold(severity=severity, text=text))
    document = {"item": item, "severity": severity, "text": text}
    acting.show_with_advice(document, f"{severity} deviation noted")


@command("self-correction")
@task_argument
@text_argument()
@context_option
@acting
def self_correction(acting: Acting, text: str) -> None:
    """Record that earlier work was redone."""
    item = acting.manual.tell(SelfCorrectionTold(text=text))
    acting.show_with_advice({"item": item, "text": text}, "self-correction noted")


@command("correction")
@task_argument
@context_option
@acting
def correction(acting: Acting) -> None:
    """Record that the conductor's next correction step is done.

    The working tree of TASK is committed as that step. If the step is a revert, this command makes it: a new commit
    undoes the finished step.
    """
    item, commit_id = acting.manual.correct()
    document = {"item": item, "done": True, "commit_id": commit_id}
    acting.show_with_advice(document, f"{item} done" + (f" at {commit_id}" if commit_id else ""))


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
@acting
def error(acting: Acting, text: str | None, report: str | None, is_warning: bool) -> None:
    """Report a failure, or a context that may run out, and wait for the answer.

    TASK is in the state error until the conductor answers.
    """
    if (text is None) is not is_warning:
        raise click.UsageError("give either a TEXT that says what failed, or --context-warning")
    if text is None:
        message_id: int | None = acting.manual.warn()
    else:
        message_id = acting.manual.report(text, report=report)
        if message_id is None:
            left = {"message_id": None, "state": "exited"}
            acting.show(left, "exited (retry exhaustion); its conductor decides how it goes on")
            return
    what = "warned of its context" if is_warning else "reported"
    acting.show_with_advice(
        {"message_id": message_id, "state": "error"},
        f"{what} by message {message_id}; wait for the answer: musician wait {acting.task_id}",
    )
