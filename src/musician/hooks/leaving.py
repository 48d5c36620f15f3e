"""A session whose window is full leaves its tasks, by the program: its model is not asked any more (D42).

The HANDOFF says what journal and git say, and the last words of the conversation. It ends the claim; the fresh session
that takes the task up verifies before it believes any of that.
"""

from typing import TYPE_CHECKING

from musician.hooks.measure import last_words, percent_used
from musician.runtime.manual.manual_session import ManualSession

if TYPE_CHECKING:
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext


def leave_all(event: "HookEvent", context: "HookContext", why: str) -> str:
    """Leave whatever the session plays; for the person, what was done and what comes next."""
    window_tokens = context.settings.context.window_tokens
    used_pct = percent_used(event.transcript_path, set_window_tokens=window_tokens)
    words = last_words(event.transcript_path)
    notes = f"The last that was said in the conversation:\n{words}" if words else ""
    left = []
    for held in context.played:
        manual = ManualSession.of(context, held.claim, context_pct=used_pct)
        path = manual.exit(f"context exhaustion: {why}", handoff=None, notes=notes)
        left.append(f"{held.task_id} is handed off ({path})")
    tasks = [held.task_id for held in context.played]
    return (
        f"musician: {why}, so {'; '.join(left)}. A fresh session goes on: /clear, then /musician {tasks[0]}"
    )
