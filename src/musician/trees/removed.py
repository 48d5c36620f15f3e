"""Keeps the work of tasks that their plan goes on without, so that whoever took one out can still have it (D31, D32).

It is committed on the task's branch, but a branch may be tidied away, or played on once the task comes back.
"""

from collections.abc import Iterable

from musician.protocol.values import dataclass
from musician.trees.branches import REMOVED, branch_of, full_ref, partial_ref
from musician.trees.git import Git
from musician.trees.integrity import merged_tip
from musician.trees.root import Root


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """``ref`` keeps a task's work that is not merged; nothing of ours removes it."""

    task_id: str
    ref: str

    def __str__(self) -> str:
        return f"{self.task_id} has work that is not merged; it is kept. To have it: `git merge {self.ref}`"


def keep_removed(root: Root, plan_id: str, task_ids: Iterable[str]) -> tuple[Removed, ...]:
    """Keep what these tasks have committed and the plan's branch does not hold; leave out those without such work."""
    refs = {task_id: full_ref(branch_of(plan_id, task_id)) for task_id in task_ids}
    if not refs:
        return ()
    git, tip = Git(root.path), merged_tip(root, plan_id)
    heads, kept = git.commit_ids(refs.values()), []
    for task_id, branch in refs.items():
        head = heads.get(branch)
        if head is None or tip is None or git.holds(tip, head):
            continue
        kept.append(
            Removed(task_id=task_id, ref=partial_ref(branch_of(plan_id, task_id), head, folder=REMOVED))
        )
        git.run("update-ref", kept[-1].ref, head)
    return tuple(kept)
