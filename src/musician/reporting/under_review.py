"""What a person judges when he judges a task: the message it waits with, and the change between two commits."""

from musician import service
from musician.protocol.errors import CommitGone
from musician.protocol.states import WAITING
from musician.protocol.values import dataclass
from musician.reporting.standing import Standing
from musician.service import TaskView
from musician.store.port import Store
from musician.store.rows import MessageRow
from musician.trees.diffs import FileDiff, files_between
from musician.trees.root import Root
from musician.trees.task_work import work_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The files that differ between two commits; ``gone`` says why they cannot be told, "" if they can."""

    old: str
    new: str
    files: tuple[FileDiff, ...]
    gone: str = ""


def submission_of(store: Store, standing: Standing) -> MessageRow | None:
    """Return the message that the task waits with; None if it does not wait for a verdict."""
    history = standing.view.history
    if standing.state not in WAITING or not history:
        return None
    message_id = history[-1].message_id
    return None if message_id is None else service.message_row(store, message_id)


def change_of(root: Root, view: TaskView, *, since_review: bool = False) -> Change | None:
    """Return what the task has changed, or what of it is new since a person judged it; None if it has no work."""
    work = work_of(root, view.row.plan_id, view.row.task_id, submitted=view.submitted_commit)
    if work is None:
        return None
    old = (since_review and view.commit_seen_by_person) or work.start
    new = _covered(view) or work.commit
    try:
        return Change(old=old, new=new, files=files_between(root.path, old, new))
    except CommitGone as gone:
        return Change(old=old, new=new, files=(), gone=str(gone))


def _covered(view: TaskView) -> str | None:
    """Return the commit that the last submission covers (D28); None if nothing waits for a verdict."""
    last = view.submissions[-1] if view.submissions else None
    return last.commit_id if last is not None and last.verdict is None else None
