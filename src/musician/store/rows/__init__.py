"""Rows as typed values. The field names are the column names.

A kind of row is made when it is first asked for (``on_demand``): Python compiles half a dozen methods for each, and a
hook reads one kind or two.
"""

from typing import TYPE_CHECKING

from musician.on_demand import on_demand

if TYPE_CHECKING:
    from musician.store.rows.clients import ClientRow
    from musician.store.rows.decoding import decode
    from musician.store.rows.messages import MessageRow
    from musician.store.rows.papers import DocumentRow, HumanRow, PlanRow, ProposalRow
    from musician.store.rows.sessions import JournalRow, ProcessRow, SessionRow
    from musician.store.rows.submissions import OpinionRow, SubmissionRow, VerificationRow
    from musician.store.rows.tasks import HistoryRow, TaskRow

__all__ = [
    "ClientRow",
    "DocumentRow",
    "HistoryRow",
    "HumanRow",
    "JournalRow",
    "MessageRow",
    "OpinionRow",
    "PlanRow",
    "ProcessRow",
    "ProposalRow",
    "SessionRow",
    "SubmissionRow",
    "TaskRow",
    "VerificationRow",
    "decode",
]

if not TYPE_CHECKING:  # where types are checked, a name that is not listed above is a mistake
    __getattr__ = on_demand(
        __name__,
        {
            "tasks": ("HistoryRow", "TaskRow"),
            "messages": ("MessageRow",),
            "clients": ("ClientRow",),
            "sessions": ("JournalRow", "ProcessRow", "SessionRow"),
            "submissions": ("OpinionRow", "SubmissionRow", "VerificationRow"),
            "papers": ("DocumentRow", "HumanRow", "PlanRow", "ProposalRow"),
            "decoding": ("decode",),
        },
    )
