"""A subagent starts or stops: one line of the status log.

The client names the parent's session here. Nothing of the parent's own is touched: no gate, no message, no answer.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place

__all__ = ["answer"]


def answer(event: "HookEvent", place: "Place") -> "Answer | None":
    kind = event.text("agent_type")
    if not place.played or not kind:  # the client's own helpers, as for a summary, have no type
        return None
    from musician import service
    from musician.hooks.standing import claim_of
    from musician.protocol.journal import Entry, Kind

    act = "started" if event.name == "SubagentStart" else "stopped"
    entry = Entry(kind=Kind.NOTE, text=f"subagent {event.agent_id} ({kind}) {act}")
    for held in place.played:
        service.record(place.store(), claim_of(held, event.session_id or ""), entry)
    return None
