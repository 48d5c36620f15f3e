"""Where the time of a plan went, and the same for a collector of OpenTelemetry's."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import command, complete_plan
from musician.cli.render import fields, show
from musician.own_python import install_extra
from musician.protocol.errors import ExtraMissing, UnknownPlan
from musician.reporting.spans import Span, spans_of
from musician.reporting.transcripts import Event, follow
from musician.reporting.wording import duration
from musician.store.rows import PlanRow

_FROM_ENVIRONMENT = ""
_MINUTE_S = 60


@command("trace")
@click.argument("plan_id", metavar="[PLAN]", required=False, shell_complete=complete_plan)
@click.option(
    "--otlp",
    "url",
    is_flag=False,
    flag_value=_FROM_ENVIRONMENT,
    metavar="URL",
    help="Send it to a collector (OTLP over HTTP); without URL to where OTEL_EXPORTER_OTLP_ENDPOINT says.",
)
@click.pass_obj
def trace(app: App, plan_id: str | None, url: str | None) -> None:
    """Show how long the tasks of PLAN, their sessions, pieces and tools took.

    PLAN is a plan's name; without it, the plan in which something happened last. No words of agents are in it.
    """
    plan = _plan(app, plan_id)
    views = service.everything(app.store, plan.plan_id)
    events: dict[tuple[str, int], list[Event]] = {}
    for view in views:
        for speaker, event in follow(app.store, app.root, view.row.task_id):
            session = speaker.session
            if session is not None and event is not None:
                events.setdefault((session.task_id, session.claim_epoch), []).append(event)
    spans = spans_of(plan, views, events)
    document = {"plan": plan.plan_id, "spans": [fields(span) for span in spans]}
    if url is None:
        show(app, document, *map(_line, spans))
        return
    try:
        from musician.reporting.otlp import send
    except ImportError as error:
        raise ExtraMissing(what="--otlp", command=install_extra("otel")) from error
    taken = send(spans, url=url or None, trace=f"{plan.plan_id} {plan.locked_at}")
    show(
        app,
        {**document, "sent": taken},
        f"{len(spans)} spans {'sent' if taken else 'not taken by the collector'}",
    )
    click.get_current_context().exit(0 if taken else FAILED)


def _plan(app: App, plan_id: str | None) -> PlanRow:
    if plan_id is not None:
        plan = service.plan_row(app.store, plan_id)
        if plan is None:
            raise UnknownPlan(plan_id=plan_id)
        return plan
    plans = service.current_plans(app.store)
    if not plans:
        raise click.UsageError("no plan is locked yet: musician plan lock PLAN.md")
    return plans[-1]


def _line(span: Span) -> str:
    failed = f"  {span.error}" if span.error else ""
    return f"{'  ' * span.key.count('/')}{span.name}  {_took(span)}{failed}"


def _took(span: Span) -> str:
    took_s = span.end_s - span.start_s
    return f"{took_s:.1f} s" if took_s < _MINUTE_S else duration(took_s)
