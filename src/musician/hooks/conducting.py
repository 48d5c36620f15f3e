"""A session in which a person conducts: how it begins, what it is told, and how it waits where nobody could wake it.

It stands beside the run and holds no task. Its client is the user's: in a terminal it is never kept from ending a
turn, and is woken by the monitor. Where there is no terminal its Stop hook waits, as long as a run is at work.
"""

import os

from musician import service
from musician.hooks.answers import additional_context
from musician.hooks.client import met
from musician.processes.identity import is_running
from musician.processes.machine import MACHINE
from musician.processes.parent import Parent
from musician.processes.signals import raising_on_signals
from musician.protocol.errors import DatabaseUnusable, MusicianError
from musician.reporting.conducting import news, say_agenda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext


def begin(event: "HookEvent", context: "HookContext") -> "Answer":
    """``/conductor GOAL``: it conducts from now on, or is told who does."""
    if not context.exists:
        return refused(event, "this repository is not set up: `musician init` does that")
    session_id = event.session_id or ""
    here = met(transcript_path=event.transcript_path, source=None)
    try:
        service.begin_conducting(
            context.store, session_id, here, lives=lambda client: service.client_lives(client, is_running)
        )
    except DatabaseUnusable:
        raise
    except MusicianError as error:
        return refused(event, str(error))
    context.is_conductor = True
    return additional_context(event.name, standing(context, session_id))


def refused(event: "HookEvent", why: str) -> "Answer":
    return additional_context(event.name, f"NOT CONDUCTING: {why}. Tell the user, and do nothing else.")


def standing(context: "HookContext", session_id: str) -> str:
    """Who it is, and everything that waits for it."""
    _, agenda = news(context.root, context.store, context.settings, session_id, MACHINE)
    return f"You conduct this repository (task-00), {context.tree}.\n{say_agenda(agenda)}"


def woken(context: "HookContext", session_id: str) -> str:
    """Restate by whose authority it was woken, for a notification has none."""
    lines, agenda = news(context.root, context.store, context.settings, session_id, MACHINE)
    return "\n".join(["You conduct here (task-00).", *lines, say_agenda(agenda)])


def come_back(event: "HookEvent", context: "HookContext", session_id: str) -> str:
    """The session goes on, perhaps in another process."""
    here = met(transcript_path=event.transcript_path, source=event.text("source"))
    service.meet_client(context.store, session_id, here)
    return standing(context, session_id)


def wait_for_news(context: "HookContext", session_id: str) -> str:
    """Return the reason to go on; "" once the session may end: no run is at work, or its client is gone."""
    if os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1" or os.environ.get("MUSICIAN_HOST"):
        return ""
    store, settings = context.store, context.settings
    with Parent() as client, raising_on_signals(_ended_by, store.listen) as ear:
        while not client.is_gone:
            try:
                lines, agenda = news(context.root, store, settings, session_id, MACHINE)
                if lines:
                    return f"{'; '.join(lines)}. Call `needs_me`."
                if not agenda.is_conducted:
                    return ""
            except DatabaseUnusable as error:
                if error.kind != "locked":
                    raise
            ear.wait(settings.waiting.pause_poll_s, besides=client.end)
    return ""


def _ended_by(number: int) -> SystemExit:
    return SystemExit(128 + number)
