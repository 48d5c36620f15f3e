"""Takes up conflicts that a person resolved by hand in a task's tree, as a rework like any other (D24).

A conflict may be resolved there while the session waits or is gone: by a merge, concluded or not, or by
writing what holds both sides. That is kept as a finished rework, verified, submitted and merged on trial; it
is not unfinished work, which is set aside. What a session leaves of a failed rework is unfinished, so it is
gone from the tree once the session waits.
"""

from musician.protocol.conductor.orchestra import is_merge_trouble
from musician.protocol.journal import RESOLVED_BY_HAND, REWORK_BEGINS, Entry, EntryKind
from musician.protocol.names import CONDUCTOR
from musician.runtime.resuming.resumption import REWORK, checkpoint_number, reworked_since
from musician.runtime.tasktree import TaskTree
from musician.service import TaskView

_AT_REST = frozenset({EntryKind.SUBMITTED, EntryKind.ERROR, EntryKind.HANDOFF})
"""With these a session's work ends."""

_HEARD = frozenset({EntryKind.SENT_BACK, EntryKind.NOTE})
"""With these it hears what is to be done, and has not begun it."""


def trouble_told(view: TaskView) -> str:
    """Return why the last submission could not be merged, in the words a session or a person was told; "" if
    it could.
    """
    if not view.submissions:
        return ""
    last = view.submissions[-1]
    asks = [ask.text for ask in view.asks if ask.subject_id == last.message_id]
    return next(filter(is_merge_trouble, (last.verdict_text or "", *asks)), "")


def open_trouble(view: TaskView) -> str:
    """Return the same if nothing was reworked since: whoever is to resolve it must know the reason."""
    return "" if reworked_since(view.journal) else trouble_told(view)


def is_anothers(view: TaskView) -> bool:
    """Whether the changes in the tree may be a resolution by hand, and not work of the dead session."""
    rows = (row for row in reversed(view.journal) if row.session_id != CONDUCTOR)
    last = next((row.kind for row in rows if row.kind not in _HEARD or row.text == REWORK_BEGINS), None)
    return bool(trouble_told(view)) and last in _AT_REST


def take_up_resolution(view: TaskView, tree: TaskTree) -> tuple[Entry, ...]:
    """Commit what was resolved by hand; return the entries to record, () if there is nothing. Blocks."""
    if not trouble_told(view):
        return ()
    commits = [row.commit_id for row in view.journal if row.commit_id]
    if commits:
        tree.expect(commits[-1])
    number = checkpoint_number(view.submissions[-1])
    before = sum(row.kind == EntryKind.REWORKED for row in view.journal)
    item = f"{REWORK}{number}.{before + 1}"
    found = tree.take_resolution(item)
    if found is None:
        return ()
    commit, beside = found
    reworked = Entry(kind=EntryKind.REWORKED, item=item, text=RESOLVED_BY_HAND, commit_id=commit)
    return (reworked,) if beside is None else (reworked, Entry(kind=EntryKind.SET_ASIDE, text=beside))
