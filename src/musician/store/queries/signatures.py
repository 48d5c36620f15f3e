"""Who has decided, where that was somebody."""

from typing import NamedTuple

from musician.store.query import Command, Query


class SignatureRow(NamedTuple):
    """``number`` is the place of what was signed in the one order; of one task's, its own id."""

    number: int
    name: str
    session_id: str | None


class Signatures:
    sign = Command("before name session_id")
    signed_between = Query(SignatureRow, "seq until")
    signed_message = Query(SignatureRow, "task_id id")
    signed_of_task = Query(SignatureRow, "task_id source most")
    judged_by_persons = Query(int, "note seq until")
    judged_by_agents = Query(int, "seq until")
