"""A prompt goes to the model. Where that is no person but a notification, the authority behind it is restated.

What wakes a session (the monitor, a background task) arrives as "not user input". What the database says of the task
arrives as ``system``: its state, what that asks for, and pointers to what has been said.
"""

from musician.hooks.answers import additional_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext

_NOTIFICATION = "<task-notification>"


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if not (context.played or context.is_conductor) or not event.mentions(_NOTIFICATION.encode()):
        return None
    if not event.text("prompt").lstrip().startswith(_NOTIFICATION):
        return None
    if context.is_conductor:
        from musician.hooks.conducting import woken

        return additional_context(event.name, woken(context, event.session_id or ""))
    from musician import service
    from musician.hooks.reminder import pointers, where

    claims = [held.claim for held in context.played]
    lines = [where(context)]
    lines += [pointers(context, claim, service.undelivered(context.store, claim)) for claim in claims]
    return additional_context(event.name, "\n".join(line for line in lines if line))
