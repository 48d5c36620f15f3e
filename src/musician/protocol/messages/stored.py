"""Stores a message's fields as JSON beside its text, and reads them back as one value.

The service stores the fields of every message it writes, and these are read. A writer by raw SQL stores only a text;
this is the only place where such texts are parsed.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from musician.protocol import plain_json
from musician.protocol.errors import UnreadableMessage
from musician.protocol.messages.forecasts import Forecast
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
FieldedMessage = Submission | Report | ClaimBlockedNotice | HandoffNotice | Resumption
"""The messages that have fields. All others consist of their text only."""

_KINDS: Mapping[str, type[FieldedMessage]] = MappingProxyType(
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

_MOST_KEPT = 256
"""Of what was read; who conducts looks at the same messages again and again."""


def fields_of(message: FieldedMessage | Forecast) -> str:
    """Return the JSON that is stored beside the message's text."""
    return plain_json.to_json(message)


@lru_cache(maxsize=_MOST_KEPT)
def read_message(message_type: str | None, text: str, fields: str | None) -> FieldedMessage | None:
    """Read a message by its fields, or else by its text; None if neither can be read.

    Anybody with the database file can write fields, so invalid ones are ignored.
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
    """Read the resumption status in a journal entry; None if it is something else."""
    found = read_message(Resumption.type, text, None)
    return found if isinstance(found, Resumption) else None


def read_forecast(fields: str | None) -> Forecast | None:
    """Read a forecast by its fields; None if there are none, or none that can be."""
    try:
        return plain_json.from_json(Forecast, fields or "")
    except ValueError:
        return None
