"""What a person resolves by hand in a task's tree, while its session waits or is gone, is a rework like any (D24).

Whoever is told that a task cannot be merged may resolve it there: by a merge, concluded or not, or by writing what
holds both sides. That is kept as a finished rework, verified, submitted and merged on trial like any; it is no
unfinished work, which is set aside. What a session leaves of a rework that failed is, so that it lies there no more
once the session waits.
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
    """Why what was submitted last could not be merged, as a session or a person was told; "" if it was not so."""
    if not view.submissions:
        return ""
    last = view.submissions[-1]
    asks = [ask.text for ask in view.asks if ask.subject_id == last.message_id]
    return next(filter(is_merge_trouble, (last.verdict_text or "", *asks)), "")


def open_trouble(view: TaskView) -> str:
    """The same, while nothing was reworked since; who is asked to mend it must know what it is."""
    return "" if reworked_since(view.journal) else trouble_told(view)


def is_anothers(view: TaskView) -> bool:
    """Whether what lies in the tree may be a resolution by hand, and no work of the session's that is gone."""
    rows = (row for row in reversed(view.journal) if row.session_id != CONDUCTOR)
    last = next((row.kind for row in rows if row.kind not in _HEARD or row.text == REWORK_BEGINS), None)
    return bool(trouble_told(view)) and last in _AT_REST


def take_up_resolution(view: TaskView, tree: TaskTree) -> tuple[Entry, ...]:
    """Keep what was resolved by hand; what is to be written down of it, () if there is nothing. Blocks."""
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
