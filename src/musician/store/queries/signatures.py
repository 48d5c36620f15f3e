"""Who has decided, where that was somebody."""

from typing import NamedTuple

from musician.store.query import Command, Query


class SignatureRow(NamedTuple):
    """``seq`` is the place of what was signed in the one order; of a task's messages their ids."""

    seq: int
    name: str
    session_id: str | None


class Signatures:
    sign = Command("before name session_id")
    signed_between = Query(SignatureRow, "seq until")
    signed_messages = Query(SignatureRow, "task_id")
    judged_by_persons = Query(int, "note seq until")
    judged_by_agents = Query(int, "seq until")
