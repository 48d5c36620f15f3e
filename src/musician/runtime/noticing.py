"""Finds what a piece has done besides its work, to be reported once to everybody who follows the plan (D31).

That is: paths that no commit may hold; changes in the configuration and hooks that all trees share, since the
plan was locked; a branch of the plan's own that somebody moved. Nothing has to be remembered from before the
piece, so that a kill in between hides nothing.
"""

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.runtime.in_force import since_the_file_was_locked
from musician.runtime.tasktree import TaskTree
from musician.store.port import Store
from musician.trees.root import Root


def noticed(root: Root, store: Store, task_id: str, item: str, tree: TaskTree) -> tuple[Entry, ...]:
    """Return what is new after a piece, for the journal. Blocks."""
    plan_id = service.task_row(store, task_id).plan_id
    asked = any(ask.kind == "merge" for ask in service.open_asks(store))
    found = [*tree.besides(by_hand=asked)]
    if plan_id is not None:
        found += since_the_file_was_locked(root, store, plan_id)
    found += [
        f"not committed, for it leads out of the tree or is ignored: {path}" for path in tree.left_out()
    ]
    if not found:
        return ()
    views = (service.task_view(store, task_id),) if plan_id is None else service.everything(store, plan_id)
    told = {row.text for view in views for row in view.journal if row.kind == EntryKind.NOTICED}
    return tuple(Entry(kind=EntryKind.NOTICED, item=item, text=text) for text in found if text not in told)
