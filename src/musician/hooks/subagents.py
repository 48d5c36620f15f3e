"""A subagent starts or stops: whose it is, and a line in the task's status file (D25, D34).

The client names the parent's session here. Nothing of the parent's own is touched: no row, no journal, no gate.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place


def answer(event: "HookEvent", place: "Place") -> "Answer | None":
    kind = event.text("agent_type")
    if event.agent_id is None or not kind:  # the client's own helpers, as for a summary, have no type
        return None
    if event.name == "SubagentStart":
        begin(event, place)
        return None
    from musician import service

    service.end_subagent(place.store, event.agent_id)
    _note_down(place, f"subagent {event.agent_id} ({kind}) stopped")
    return None


def begin(event: "HookEvent", place: "Place") -> None:
    """It runs from now on, under what its session plays: begun, or spoken to again after it had stopped."""
    from musician import service
    from musician.hooks.standing import claim_of
    from musician.service import Subagent

    subagent = Subagent(agent_id=event.agent_id or "", kind=event.text("agent_type"))
    for held in place.played:
        service.begin_subagent(place.store, claim_of(held, event.session_id or ""), subagent)
    _note_down(place, f"{subagent} started")


def _note_down(place: "Place", text: str) -> None:
    from musician.hooks.status_file import note_down
    from musician.protocol.journal import Entry, Kind

    note_down(place, tuple((held.task_id, Entry(kind=Kind.NOTE, text=text)) for held in place.played))
