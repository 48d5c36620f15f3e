"""The types of messages, and which of them ask, report and judge.

Apart from the messages themselves (``types``): the store and every verb need the names, few need the texts.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from musician.protocol.states import State


class MessageType(StrEnum):
    """The values of the column ``message_type`` in ``orchestration_messages``."""

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
    SKIPPED = "skipped"
    EMERGENCY = "emergency"
    NOTE = "note"
    PAUSE = "pause"
    """Pause at the next boundary, until ``go_on`` (PLAN-21)."""
    GO_ON = "go_on"
    FORECAST = "forecast"
    """With whom the task's work will conflict, before it is merged. It answers nothing, and asks for nothing."""
    QUESTION = "question"
    RESUMPTION_STATUS = "resumption_status"


VERDICT_OF: Mapping[State, MessageType] = MappingProxyType(
    {
        State.REVIEW_APPROVED: MessageType.APPROVAL,
        State.REVIEW_FAILED: MessageType.REJECTION,
        State.FIX_PROPOSED: MessageType.FIX_PROPOSAL,
    }
)
"""The type of message for each verdict of a conductor."""
