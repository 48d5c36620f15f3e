"""Rows as typed values. The field names are the column names.

Tuples with names, for a row is one, and Python makes such a class ten times as fast as a dataclass. A kind is imported
when it is first asked for (``on_demand``): a hook reads a few.
"""

from typing import TYPE_CHECKING

from musician.on_demand import on_demand

if TYPE_CHECKING:
    from musician.store.rows.clients import *
    from musician.store.rows.documents import *
    from musician.store.rows.messages import *
    from musician.store.rows.sessions import *
    from musician.store.rows.submissions import *
    from musician.store.rows.tasks import *
else:
    __all__, __getattr__ = on_demand(
        __name__,
        {
            "clients": "ClientRow",
            "messages": "ForecastRow MessageRow ReceiptRow",
            "documents": "ArchiveRow CommentRow DecidedRow DocumentRow HumanRow PauseRow PlanRow ProposalRow",
            "sessions": "ConversationRow JournalRow ProcessRow ProgramRow SessionRow UsageRow",
            "submissions": "OpinionRow ReportRow SubmissionRow VerificationRow",
            "tasks": "HistoryRow TaskRow",
        },
    )
