"""A turn has failed in the client (the API, a limit): no gate was asked, so the database and the conductor are told."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place

__all__ = ["answer"]


def answer(event: "HookEvent", place: "Place") -> "Answer | None":
    if place.played:
        from musician import service

        said = [event.text("error"), event.text("last_assistant_message")]
        text = ": ".join(part for part in said if part) or "unknown"
        service.note_client_failure(place.store(), event.session_id or "", text)
    return None
