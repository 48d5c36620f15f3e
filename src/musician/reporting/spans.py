"""Shows a plan as nested spans of time: the plan, its tasks, their sessions, the pieces each played, the tools used.

Tasks and sessions are read from the database, pieces and tools from the transcripts; where a transcript is gone its
session has no parts. Names and attributes are those of OpenTelemetry's conventions for generative AI, and
``musician.*`` besides. What was said, asked for or answered is in none of them: whoever may see the spans need not be
whoever may see the code.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime

from musician.processes.transcript import Kind
from musician.protocol.musician.inputs import PieceEnding
from musician.protocol.spending import Used, spending_of
from musician.protocol.values import dataclass
from musician.reporting.transcripts import Event
from musician.service import TaskView
from musician.store.rows import PlanRow, SessionRow

Value = str | int | float
Events = Mapping[tuple[str, int], Iterable[Event]]
"""By task and epoch."""

MOST_NAME_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """``key`` is the same whenever the same plan is read again; ``parent`` is another's, "" for the plan's own.

    ``start_s`` and ``end_s`` are seconds since 1970. What goes on ends where it was last heard of.
    """

    key: str
    parent: str
    name: str
    start_s: float
    end_s: float
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str = ""
    """What kind of failure it ended with, "" for none."""


def spans_of(plan: PlanRow, views: Iterable[TaskView], events: Events) -> tuple[Span, ...]:
    """Return the spans of a plan, each after its parent. A task that nobody has begun has none."""
    views = tuple(views)
    tasks = [spans for view in views if (spans := tuple(_task_spans(plan, view, events)))]
    start_s = min((spans[0].start_s for spans in tasks), default=stored_s(plan.locked_at))
    end_s = max((spans[0].end_s for spans in tasks), default=start_s)
    whole = Span(
        key=plan.plan_id,
        parent="",
        name=f"invoke_workflow {plan.plan_id}"[:MOST_NAME_CHARS],
        start_s=start_s,
        end_s=end_s,
        attributes={
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": plan.plan_id,
            **_used(usage for view in views for usage in view.usage),
        },
    )
    return (whole, *(span for spans in tasks for span in spans))


def _task_spans(plan: PlanRow, view: TaskView, events: Events) -> Iterator[Span]:
    sessions = [
        tuple(
            _session_spans(plan, view, session, tuple(events.get((session.task_id, session.claim_epoch), ())))
        )
        for session in view.sessions
    ]
    if not sessions:
        return
    yield Span(
        key=f"{plan.plan_id}/{view.row.task_id}",
        parent=plan.plan_id,
        name=f"task {view.row.task_id}",
        start_s=min(spans[0].start_s for spans in sessions),
        end_s=max(
            *(spans[0].end_s for spans in sessions),
            stored_s(view.row.completed_at) if view.row.completed_at else 0.0,
        ),
        attributes={
            "musician.task.id": view.row.task_id,
            "musician.task.title": view.row.title or "",
            "musician.task.state": view.row.state,
            "musician.phase": view.row.phase or 0,
            **_used(view.usage),
        },
    )
    for spans in sessions:
        yield from spans


def _session_spans(
    plan: PlanRow, view: TaskView, session: SessionRow, events: tuple[Event, ...]
) -> Iterator[Span]:
    key = f"{plan.plan_id}/{session.task_id}/{session.claim_epoch}"
    start_s = stored_s(session.started_at)
    times = [_event_s(event) for event in events]
    if session.ended_at is not None:
        times.append(stored_s(session.ended_at))
    usage = [each for each in view.usage if each.claim_epoch == session.claim_epoch]
    yield Span(
        key=key,
        parent=f"{plan.plan_id}/{session.task_id}",
        name=f"invoke_agent {session.agent or 'by hand'}"[:MOST_NAME_CHARS],
        start_s=start_s,
        end_s=max(times, default=start_s),
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": session.agent or "by hand",
            "gen_ai.conversation.id": session.session_id,
            "musician.session.number": session.number,
            "musician.exit_reason": session.exit_reason or "",
            **({"musician.context_pct": session.context_pct} if session.context_pct is not None else {}),
            **_used(usage),
        },
    )
    yield from _parts(key, events)


def _parts(key: str, events: tuple[Event, ...]) -> Iterator[Span]:
    """The pieces, and in each its tools. What has no end in the transcript ends with what it is part of."""
    ends = [index for index, event in enumerate(events) if event.kind == Kind.PROMPT]
    for number, (first, after) in enumerate(zip(ends, [*ends[1:], len(events)], strict=True), start=1):
        piece = events[first:after]
        closing = next((each for each in piece if each.kind in (Kind.ENDED, Kind.LIMIT)), piece[-1])
        ending, end_s = str(closing.said.get("ending", "")), _event_s(closing)
        yield Span(
            key=f"{key}/{number}",
            parent=key,
            name=piece[0].piece[:MOST_NAME_CHARS] or "piece",
            start_s=_event_s(piece[0]),
            end_s=end_s,
            attributes={"musician.piece": piece[0].piece, "musician.piece.ending": ending},
            error=ending if ending in (PieceEnding.FAILED, PieceEnding.LOST, PieceEnding.REFUSED) else "",
        )
        answers = {str(each.said.get("call")): each for each in piece if each.kind == Kind.TOOL_RESULT}
        for used in (each for each in piece if each.kind == Kind.TOOL_USE):
            answer = answers.get(str(used.said.get("call", "")))
            tool = str(used.said.get("name", ""))
            yield Span(
                key=f"{key}/{number}/{used.seq}",
                parent=f"{key}/{number}",
                name=f"execute_tool {tool}"[:MOST_NAME_CHARS],
                start_s=_event_s(used),
                end_s=end_s if answer is None else _event_s(answer),
                attributes={
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool[:MOST_NAME_CHARS],
                },
                error="tool_error" if answer is not None and answer.said.get("failed") else "",
            )


def _used(usage: Iterable[Used]) -> dict[str, Value]:
    spending = spending_of(usage)
    if spending is None:
        return {}
    return {
        "gen_ai.usage.input_tokens": spending.tokens_in,
        "gen_ai.usage.cache_read.input_tokens": spending.tokens_cached,
        "gen_ai.usage.output_tokens": spending.tokens_out,
        **({"gen_ai.request.model": ", ".join(spending.models)} if spending.models else {}),
        **({"musician.cost_usd": spending.cost_usd} if spending.cost_usd is not None else {}),
    }


def stored_s(at: str) -> float:
    """Return a time of the database as seconds since 1970."""
    return datetime.strptime(at, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def shown_s(at_s: float) -> str:
    """Return a time as it would be stored."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _event_s(event: Event) -> float:
    return datetime.fromisoformat(event.at).timestamp()
