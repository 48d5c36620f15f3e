"""A session ends in its client: its owner is known to be dead from now on, and nobody waits for a heartbeat.

The client cuts this hook off after a second or two, so it does one thing. Where it does not come through, the end of
the client's process says the same.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if context.played or context.is_conductor:
        from musician import service
        from musician.hooks.client import met
        from musician.hooks.status_file import note_down

        session_id = event.session_id or ""
        if context.played and context.played[0].warned_pct is None:  # claimed by no hook, and never met
            here = met(transcript_path=event.transcript_path, source=None)
            service.meet_client(context.store, session_id, here)
        reason = event.text("reason") or "unknown"
        note_down(context, service.end_client(context.store, session_id, reason=reason))
    return None
