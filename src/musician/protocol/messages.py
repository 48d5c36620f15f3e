"""What sessions send each other: the types, and the small messages (sources "Message Format Standards").

Knows which type of message goes with which act and how each text is laid out; refuses to know who may send what
when (that is the table in ``transitions``) and what becomes of it. A message that exists is valid. ``render`` and
``parse`` are inverse (D14): ``parse(render(x)) == x`` for every message, whatever its texts contain. ``parse`` also
reads what people and models write by hand; what is not said there is unknown, what cannot be is
:class:`UnreadableMessage`. The two submissions are in ``submissions``.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from musician.protocol.states import State

__all__ = ["REPORTS", "SUBMISSIONS", "VERDICT_OF", "MessageType"]


class MessageType(StrEnum):
    """What ``orchestration_messages`` says in its ``message_type`` column."""

    INSTRUCTION = "instruction"
    INSTRUCTION_SUPERSEDED = "instruction_superseded"
    CLAIM_BLOCKED = "claim_blocked"
    REVIEW_REQUEST = "review_request"
    COMPLETION = "completion"
    ERROR = "error"
    CONTEXT_WARNING = "context_warning"
    APPROVAL = "approval"
    REJECTION = "rejection"
    FIX_PROPOSAL = "fix_proposal"
    EXIT_REQUEST = "exit_request"
    HANDOFF = "handoff"
    COMPLETED = "completed"
    SYSTEM = "system"
    EMERGENCY = "emergency"
    NOTE = "note"
    QUESTION = "question"
    RESUMPTION_STATUS = "resumption_status"


SUBMISSIONS = frozenset({MessageType.REVIEW_REQUEST, MessageType.COMPLETION})
"""The owner asks for a judgement of its work (D14)."""

REPORTS = frozenset({MessageType.ERROR, MessageType.CONTEXT_WARNING})
"""The owner asks what to do."""

VERDICT_OF: Mapping[State, MessageType] = MappingProxyType(
    {
        State.REVIEW_APPROVED: MessageType.APPROVAL,
        State.REVIEW_FAILED: MessageType.REJECTION,
        State.FIX_PROPOSED: MessageType.FIX_PROPOSAL,
    }
)
"""The message a conductor's verdict is written as."""
