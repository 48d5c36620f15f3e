"""A subagent starts or stops: one line of the status log, in the journal and in the task's file (D25).

The client names the parent's session here. Nothing of the parent's own is touched: no gate, no message, no answer.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place
    from musician.protocol.journal import Entry

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
        _log(place, held.task_id, entry)
    return None


def _log(place: "Place", task_id: str, entry: "Entry") -> None:
    """A line that cannot be written is in the journal, and restored from there."""
    if place.root is None:
        return
    from pathlib import Path

    from musician.protocol.journal import status_line
    from musician.trees.root import Root

    path = Root(path=Path(place.root)).status_file(task_id)
    try:
        path.parent.mkdir(exist_ok=True)  # as a session of ours would that finds it tidied away
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{status_line(entry)}\n")
    except OSError as error:
        sys.stderr.write(f"musician hook: {error}\n")
