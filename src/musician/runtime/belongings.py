"""A session ends whole: its subagents and background programs are part of it (D41).

They must have ended before its work is judged, because later changes would go unseen. When it leaves, they
are ended; before its tree is cleaned or handed on, so is everything that a killed session has left running.
"""

from pathlib import Path

from musician import service
from musician.processes.machine import Machine
from musician.protocol.claim import Claim
from musician.protocol.errors import EvidenceMissing, TreeNotReady
from musician.protocol.settings import Settings
from musician.runtime.tasktree import TaskTree
from musician.service import TaskView
from musician.store.port import Store

_MOST_NAMED = 5


def check_alone(store: Store, claim: Claim, tree: TaskTree, machine: Machine) -> None:
    """Raise :class:`EvidenceMissing` if anything that belongs to the session is still at work. Blocks."""
    running = [
        *map(str, service.running_subagents(store, claim)),
        *machine.running_of(claim.session_id, tree.path),
    ]
    if running:
        raise EvidenceMissing(
            task_id=claim.task_id,
            missing=f"its session still has {_named(running)} at work, which would change what is judged",
            remedy="wait until they have ended, or end them, then call again",
        )


def end_what_runs(
    store: Store, view: TaskView, tree: Path, settings: Settings, *, machine: Machine, but: str = ""
) -> str:
    """End what the task's sessions, except one, have left running. Return what was ended, or stands in the
    tree, for the journal, "" if nothing. :class:`TreeNotReady` if some of it does not end. Blocks.

    A session that plays another task by now keeps what it runs.
    """
    ids = {session.session_id for session in view.sessions} - {but}
    gone = {
        each for each in ids if all(c.task_id == view.row.task_id for c in service.claims_of(store, each))
    }
    if not gone:
        return ""
    ended, survived = machine.end_belongings(gone, tree, grace_s=settings.time.shutdown_grace_s)
    if survived:
        raise TreeNotReady(
            reason=f"what an earlier session left running does not end: {_named(survived)}",
            paths=(str(tree),),
            remedy="end it, then try again",
        )
    told = [f"ended what an earlier session left running: {_named(ended)}"] if ended else []
    # Only in a tree of the task's own: in the user's, any process may stand.
    standing = machine.standing_in(tree) if (tree / ".git").is_file() else ()
    if standing:
        told.append(f"in the tree stands, and may change it: {_named(standing)}")
    return "; ".join(told)


def _named(what: tuple[str, ...] | list[str]) -> str:
    more = len(what) - _MOST_NAMED
    return ", ".join(what[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
