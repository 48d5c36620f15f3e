"""The beginning and end of a piece played by hand: finds what it changed, in its tree and beside it (D43).

What a driver remembers while it plays stands in the database here: beginning and end are two commands.
"""

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.rules.deviations import Severity
from musician.runtime.outside import Outside, changed_outside, look_outside
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasktree import TaskTree
from musician.store.port import Store
from musician.trees.root import Root


def begin(root: Root, store: Store, claim: Claim, tree: TaskTree, item: str) -> None:
    """Record the present state. For the user's own tree there is nothing to compare later."""
    tip = tree.tip()
    outside = None if tip is None else look_outside(root)
    text = "" if outside is None else outside.as_text()
    service.begin_piece(store, claim, item, tip=tip or "", outside=text)


def end(
    root: Root, store: Store, claim: Claim, tree: TaskTree, item: str, *, plan_id: str | None, commits: bool
) -> tuple[str | None, tuple[Entry, ...]]:
    """Return the commit that holds the piece, None if it changed nothing, and the deviations found in it.

    Changes in the main tree are reported to the conductor at once.
    """
    tip, found = tree.tip(), []
    began = service.beginning_of(store, claim, item)
    before, outside = ("", "") if began is None else began
    commit_id = tip if commits and tip != before else None
    if commits and tip is not None and tip == before:
        text = f"{item} changed nothing in its tree"
        found.append(Entry(kind=EntryKind.DEVIATION, item=item, text=text, severity=Severity.LOW))
    changed = changed_outside(root, plan_id, Outside.from_text(outside)) if outside else ""
    if changed:
        text = f"the main working tree changed while {item} was played in its own: {changed}"
        found.append(Entry(kind=EntryKind.DEVIATION, item=item, text=text, severity=Severity.HIGH))
        told = f"{text}. If that was you, rule it with your next verdict"
        for task_id, entry in service.tell_conductor(store, claim.session_id, told):
            TaskFiles(root, task_id).note((entry,))
    return commit_id, tuple(found)
