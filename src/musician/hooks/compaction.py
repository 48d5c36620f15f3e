"""A conversation is about to be compacted. For a musician that is a handoff instead (D15).

What compaction drops nobody has chosen: half-known files, rulings, the reason for a deviation. A HANDOFF is written
on purpose, and a fresh session verifies before it goes on. So it is refused as long as a task is held, also where the
refusal cannot be written down; the person who asked for it, or the client's log, is told what comes next.
"""

from musician.hooks.answers import block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place

__all__ = ["answer", "trouble"]


def answer(event: "HookEvent", place: "Place") -> "Answer | None":
    if not place.played:
        return None
    from musician import service
    from musician.hooks.standing import claim_of
    from musician.protocol.journal import Entry, Kind

    entry = Entry(
        kind=Kind.CONTEXT, text=f"compaction ({event.text('trigger') or 'unknown'}) refused, hand off"
    )
    for held in place.played:
        service.record(place.store(), claim_of(held, event.session_id or ""), entry)
    return _refusal(place)


def trouble(_event: "HookEvent", place: "Place", _problem: str) -> "Answer | None":
    return _refusal(place) if place.played else None


def _refusal(place: "Place") -> "Answer":
    tasks = ", ".join(held.task_id for held in place.played)
    return block(
        f"this session plays {tasks}, and a musician hands off instead of being compacted: call `handoff`, then start"
        f" a fresh session with /musician {place.played[0].task_id}"
    )
