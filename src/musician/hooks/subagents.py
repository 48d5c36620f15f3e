"""A subagent starts or stops: whose it is, and a line in the task's status file (D25, D34).

The client names the parent's session here. Nothing of the parent's own is touched: no row, no journal, no gate.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.place import Place

__all__ = ["answer", "begin"]


def answer(event: "HookEvent", place: "Place") -> "Answer | None":
    kind = event.text("agent_type")
    if event.agent_id is None or not kind:  # the client's own helpers, as for a summary, have no type
        return None
    if event.name == "SubagentStart":
        begin(event, place)
        return None
    from musician import service

    service.end_subagent(place.store(), event.agent_id)
    for held in place.played:
        _log(place, held.task_id, f"subagent {event.agent_id} ({kind}) stopped")
    return None


def begin(event: "HookEvent", place: "Place") -> None:
    """It runs from now on, under what its session plays: begun, or spoken to again after it had stopped."""
    from musician import service
    from musician.hooks.standing import claim_of
    from musician.service import Subagent

    subagent = Subagent(agent_id=event.agent_id or "", kind=event.text("agent_type"))
    for held in place.played:
        service.begin_subagent(place.store(), claim_of(held, event.session_id or ""), subagent)
        _log(place, held.task_id, f"{subagent} started")


def _log(place: "Place", task_id: str, line: str) -> None:
    """What cannot be written there is told by the database all the same."""
    if place.root is None:
        return
    from pathlib import Path

    from musician.trees.root import Root

    path = Root(path=Path(place.root)).status_file(task_id)
    try:
        path.parent.mkdir(exist_ok=True)  # as a session of ours would that finds it tidied away
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except OSError as error:
        sys.stderr.write(f"musician hook: {error}\n")
