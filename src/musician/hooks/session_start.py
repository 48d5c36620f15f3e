"""A session begins, or begins anew: it learns its own id, whatever the client says it begins from (B05)."""

from musician.hooks.answers import context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place

__all__ = ["answer"]


def answer(event: "HookEvent", _place: "Place") -> "Answer | None":
    return context(event.name, f"Session id: {event.session_id}")
