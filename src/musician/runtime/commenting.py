"""Says something to a line of a task's work, wherever a person points at it: on a page, in a terminal, by a tool."""

import os
import posixpath

from musician import service
from musician.protocol.errors import BadField, CommitGone, NoWork
from musician.protocol.messages.remarks import Remark, Side
from musician.reporting.under_review import change_of
from musician.store.port import Store
from musician.trees.git import Git, shown
from musician.trees.moved_lines import line_at
from musician.trees.root import Root


def comment(
    root: Root,
    store: Store,
    task_id: str,
    *,
    path: str,
    line: int,
    text: str,
    side: Side = "new",
    commit: str | None = None,
) -> tuple[int, Remark]:
    """Keep a comment as a draft; its id. Without a ``commit`` that was looked at, the line is the newest work's, or
    that of the base for a removed one.

    Raises :class:`NoWork` if nothing was begun, :class:`BadField` for a line that is not there.
    """
    view = service.task_view(store, task_id)
    change = change_of(root, view)
    if change is None:
        remedy = f"`musician status {task_id}` says whether it has begun"
        raise NoWork(task_id=task_id, what="branch", remedy=remedy)
    place = shown(
        os.fsencode(posixpath.normpath(path))
    )  # a shell hands in the bytes of a name, a page what it shows
    if commit is not None:
        known = Git(root.path).commit_id(commit)
        if known is None:
            raise CommitGone(commit=commit)
        commit = known
    commit = commit or (change.old if side == "old" else change.new)
    quoted = line_at(root.path, commit, place, line)
    if quoted is None:
        reason = f"there is no such line; `musician review diff {task_id}` shows the change"
        raise BadField(field="line", value=f"{place}:{line}", reason=reason)
    remark = Remark(path=place, line=line, commit_id=commit, text=text, side=side, quoted=quoted)
    return service.add_comment(store, task_id, remark), remark


def parse_place(place: str) -> tuple[str, int]:
    """Read ``FILE:LINE``; :class:`BadField`."""
    path, _, number = place.rpartition(":")
    if not path or not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise BadField(field="line", value=place, reason="name it as FILE:LINE")
    return path, int(number)
