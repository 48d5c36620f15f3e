"""A message as it is stored: its fields as JSON beside its text, and both read back as one value.

The service stores the fields of what it writes, and they are what is read. Who writes by raw SQL stores a text alone:
that is parsed, here and nowhere else.
"""

from collections.abc import Mapping
from types import MappingProxyType

from musician.protocol import plain_json
from musician.protocol.errors import UnreadableMessage
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.submissions import Completion, ReviewRequest, Submission
from musician.protocol.messages.types import (
    ClaimBlockedNotice,
    ContextWarning,
    ErrorReport,
    HandoffNotice,
    Resumption,
)

Report = ErrorReport | ContextWarning
Said = Submission | Report | ClaimBlockedNotice | HandoffNotice | Resumption
"""Every message that has fields; of the others the text is all."""

_KINDS: Mapping[str, type[Said]] = MappingProxyType(
    {
        MessageType.REVIEW_REQUEST: ReviewRequest,
        MessageType.COMPLETION: Completion,
        MessageType.ERROR: ErrorReport,
        MessageType.CONTEXT_WARNING: ContextWarning,
        MessageType.CLAIM_BLOCKED: ClaimBlockedNotice,
        MessageType.HANDOFF: HandoffNotice,
        MessageType.RESUMPTION_STATUS: Resumption,
    }
)


def fields_of(message: Said) -> str:
    """What is stored beside its text."""
    return plain_json.to_json(message)


def read_message(message_type: str | None, text: str, fields: str | None) -> Said | None:
    """By its fields, else by its text; None where neither says such a message.

    Whoever has the file can write fields: those that cannot be are as good as none.
    """
    kind = _KINDS.get(message_type or "")
    if kind is None:
        return None
    if fields is not None:
        try:
            return plain_json.from_json(kind, fields)
        except ValueError:
            pass
    try:
        return kind.parse(text)
    except UnreadableMessage:
        return None


def read_submission(message_type: str, text: str, fields: str | None) -> Submission | None:
    found = read_message(message_type, text, fields)
    return found if isinstance(found, ReviewRequest | Completion) else None


def read_report(message_type: str, text: str, fields: str | None) -> Report | None:
    found = read_message(message_type, text, fields)
    return found if isinstance(found, ErrorReport | ContextWarning) else None


def read_resumption(text: str) -> Resumption | None:
    """What a session announced, as the journal has it; None for what is no announcement."""
    found = read_message(Resumption.type, text, None)
    return found if isinstance(found, Resumption) else None
