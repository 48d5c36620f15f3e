"""What a person says to lines of a task's change: gathered as drafts, until a verdict sends all of them as points.

They are one list for a task, wherever they are written: the dashboard, a terminal, the session that conducts.
"""

from musician.protocol.errors import BadField
from musician.protocol.messages.feedback import MOST_POINTS, with_points
from musician.protocol.messages.remarks import Remark
from musician.protocol.states import State
from musician.protocol.values import as_dict
from musician.service.rowwork import load_unfinished
from musician.store.port import Store, Tx
from musician.store.queries.comments import Comments
from musician.store.rows import CommentRow


def add_comment(store: Store, task_id: str, remark: Remark) -> int:
    """Keep a draft; its id. Raises :class:`BadField` if a rejection could not carry one more."""
    with store.write() as tx:
        load_unfinished(tx, task_id)
        if len(drafts_in(tx, task_id)) >= MOST_POINTS:
            reason = f"{MOST_POINTS} wait to be sent already: `musician review reject {task_id}` sends them"
            raise BadField(field="comment", value=remark.place, reason=reason)
        return tx.insert(Comments.add_comment, task_id=task_id, **as_dict(remark))


def drop_comment(store: Store, task_id: str, comment_id: int) -> None:
    """Forget a draft; :class:`BadField` if it is none."""
    with store.write() as tx:
        if tx.run(Comments.drop_comment, task_id=task_id, id=comment_id) != 1:
            reason = f"`musician review comments {task_id}` lists the drafts; what was sent stays"
            raise BadField(field="comment", value=comment_id, reason=reason)


def comments_of(store: Store, task_id: str) -> tuple[CommentRow, ...]:
    """Everything that was said to lines of its change, oldest first, drafts too."""
    with store.read() as tx:
        return tuple(tx.all(Comments.comments_of_task, task_id=task_id))


def drafts_in(tx: Tx, task_id: str) -> tuple[CommentRow, ...]:
    return tuple(
        each for each in tx.all(Comments.comments_of_task, task_id=task_id) if each.message_id is None
    )


def with_drafts(text: str, verdict: State, drafts: tuple[CommentRow, ...]) -> tuple[str, int]:
    """Return the whole text of a person's verdict, and the number of the first draft among its points."""
    if verdict is State.REVIEW_APPROVED:
        if drafts:
            reason = "an approval changes nothing: send the task back, or drop them"
            raise BadField(field="comments", value=f"{len(drafts)} drafts", reason=reason)
        return text or "Approved.", 0
    if not text.strip() and not drafts:
        raise BadField(field="text", value=text, reason="say what is wrong, or what to do")
    if not drafts:
        return text, 0
    return with_points(text if text.strip() else "See the points.", [each.remark.point for each in drafts])


def send_drafts(tx: Tx, drafts: tuple[CommentRow, ...], message_id: int, first: int) -> None:
    for number, draft in enumerate(drafts, start=first):
        tx.run(Comments.send_comment, id=draft.id, message_id=message_id, number=number)
