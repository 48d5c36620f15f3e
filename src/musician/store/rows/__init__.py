"""Rows as typed values. The field names are the column names.

Tuples with names, for a row is one, and Python makes such a class ten times as fast as a dataclass. A kind is imported
when it is first asked for (``on_demand``): a hook reads a few.
"""

from typing import TYPE_CHECKING

from musician.on_demand import on_demand

if TYPE_CHECKING:
    from musician.store.rows.clients import ClientRow
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
        },
    )
