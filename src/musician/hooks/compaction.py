"""A conversation is about to be compacted. For a musician that is a handoff instead (D15, D42).

What compaction drops nobody has chosen: half-known files, rulings, the reason for a deviation. A fresh session
verifies before it goes on. Where the client compacts by itself the window is full, and no model would be asked again:
the program hands off in its place, and the conversation, a musician's no more, is compacted. A person who asks for it
is told what goes on with the task; so is everybody where the handoff fails.
"""

from musician.hooks.answers import block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if not context.played:
        return None
    if event.text("trigger") == "manual":
        return _refusal(context)
    from musician.hooks.leaving import leave_all

    leave_all(event, context, "the conversation was full")
    return None  # output would become instructions for the summary; the session is told at its next start


def trouble(_event: "HookEvent", context: "HookContext", problem: str) -> "Answer | None":
    return block(f"{problem}. {_refusal(context)['reason']}") if context.played else None


def _refusal(context: "HookContext") -> "Answer":
    tasks = ", ".join(held.task_id for held in context.played)
    return block(
        f"this session plays {tasks}, and a musician hands off instead of being compacted. `/clear` begins a fresh"
        " conversation that keeps the task and is told where it stands"
    )
