"""A turn has failed in the client (the API, a limit): no gate was asked, so the database and the conductor are told.

Where that was because the window is full, every further turn would fail like it: the program hands off (D42).
"""

from musician.hooks.answers import notice
from musician.hooks.measure import FULL_FROM_PCT, percent_used
from musician.hooks.numbers import numbers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext

_TOO_LONG = ("prompt is too long", "context window", "context limit", "context length", "prompt_too_long")
"""How the client, and the API behind it, say so."""


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if not context.played:
        return None
    from musician import service
    from musician.hooks.status_file import note_down

    said = [event.text("error"), event.text("last_assistant_message")]
    text = ": ".join(part for part in said if part) or "unknown"
    note_down(context, service.note_client_failure(context.store, event.session_id or "", text))
    if not _is_full(event, context, text.lower()):
        return None
    from musician.hooks.leaving import leave_all

    return notice(leave_all(event, context, "its window is full"))


def _is_full(event: "HookEvent", context: "HookContext", text: str) -> bool:
    if any(words in text for words in _TOO_LONG):
        return True
    used_pct = percent_used(event.transcript_path, set_window_tokens=numbers_of(context).window_tokens)
    return used_pct is not None and used_pct >= FULL_FROM_PCT
