"""Whether the tree is still the one that was approved: an approval covers one tree (D28).

Asked before a task is completed, whoever plays it. The journal's part is asked again in the transaction that completes.
A tree without unsaved changes at the submitted commit counts as that tree, whatever files its tests have left
behind.
"""

from musician import service
from musician.protocol.claim import Claim
from musician.runtime.tasktree import TaskTree
from musician.store.port import Store
from musician.store.rows import SubmissionRow


def approved_as_it_is(store: Store, claim: Claim, tree: TaskTree) -> SubmissionRow:
    """Return the approved completion; :class:`EvidenceMissing` if anything has changed since. Blocks."""
    found = service.approved_work(store, claim.task_id)
    moved = _moved(store, claim, tree, found)
    if moved:
        raise service.overtaken(claim.task_id, moved)
    return found


def _moved(store: Store, claim: Claim, tree: TaskTree, found: SubmissionRow) -> str:
    if found.tree_id is None or found.entry_id is None:
        return ""  # submitted by raw SQL: nobody knows what it covers
    tip, now = tree.tip(), tree.tree_id()
    if found.commit_id is not None and tip is not None and tip != found.commit_id:
        return f"the branch has moved from {found.commit_id[:12]} to {tip[:12]}"
    if now == found.tree_id or (tip is not None and now == tree.tree_of(tip)):
        return ""
    if tip is None and service.moved_by_others(store, claim.task_id, found.entry_id):
        return ""  # in a shared tree the change may be another task's
    return "files have changed in the tree"
