"""Queries for what people say to lines of a task's change."""

from musician.store.query import Command, Query
from musician.store.rows.documents import CommentRow


class Comments:
    add_comment = Command("task_id path side line commit_id quoted text")
    drop_comment = Command("task_id id")
    send_comment = Command("id message_id number")
    comments_of_task = Query(CommentRow, "task_id")
