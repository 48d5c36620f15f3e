"""A subagent starts or stops: whose it is, and a line in the task's status file (D25, D34).

The client names the parent's session here. Nothing of the parent's own is touched: no row, no journal, no gate.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    kind = event.text("agent_type")
    if event.agent_id is None or not kind:  # the client's own helpers, as for a summary, have no type
        return None
    if event.name == "SubagentStart":
        begin(event, context)
        return None
    from musician import service

    service.end_subagent(context.store, event.agent_id)
    _note_down(context, f"subagent {event.agent_id} ({kind}) stopped")
    return None


def begin(event: "HookEvent", context: "HookContext") -> None:
    """It runs from now on, under what its session plays: begun, or spoken to again after it had stopped."""
    from musician import service
    from musician.store.queries.subagents import SubagentRow

    subagent = SubagentRow(agent_id=event.agent_id or "", kind=event.text("agent_type"))
    for held in context.played:
        service.begin_subagent(context.store, held.claim, subagent)
    _note_down(context, f"{subagent} started")


def _note_down(context: "HookContext", text: str) -> None:
    from musician.hooks.status_file import note_down
    from musician.protocol.journal import Entry, EntryKind

    note_down(
        context, tuple((held.task_id, Entry(kind=EntryKind.NOTE, text=text)) for held in context.played)
    )
