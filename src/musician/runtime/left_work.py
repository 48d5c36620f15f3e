"""Sets aside under a ref what a dead session left in its task's tree, before another works there (D23)."""

from collections.abc import Callable

from musician import service
from musician.protocol.names import NO_PLAN
from musician.protocol.values import dataclass
from musician.runtime.resuming.resolutions import is_anothers
from musician.service import TaskView
from musician.store.port import Store
from musician.trees.branches import branch_of, full_ref, start_branch
from musician.trees.git import Git
from musician.trees.partial import set_aside_partial
from musician.trees.root import Root
from musician.trees.steps import last_kept
from musician.trees.worktree import Worktree, place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftWork:
    """``ref`` keeps what was not finished, None if there was nothing; ``commit`` is the task's last, if it has any."""

    ref: str | None
    commit: str | None


SaveWork = Callable[[Root, Store, TaskView, int], LeftWork]
"""Of the task's claim of an epoch."""


def save_work(root: Root, store: Store, view: TaskView, epoch: int) -> LeftWork:
    """Set aside what a dead session had not finished. Blocks."""
    branch = branch_of(view.row.plan_id or NO_PLAN, view.row.task_id)
    place, saved = place_of(root, branch), None
    if (place / ".git").exists() and not is_anothers(view):
        worktree = Worktree(root=root, path=place, branch=branch)
        base = service.base_of_plan(store, view.row.plan_id)
        since = base or full_ref(start_branch(NO_PLAN, view.row.task_id))
        # The agent's own commits for an unfinished item are set aside with the rest of that item.
        done = last_kept(Git(place), since, full_ref(branch))
        saved = set_aside_partial(worktree, task_id=view.row.task_id, epoch=epoch, to=done).ref
    return LeftWork(ref=saved, commit=Git(root.path).commit_id(branch))
