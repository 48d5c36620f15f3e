"""Rows of messages."""

from dataclasses import dataclass

__all__ = ["MessageRow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    id: int
    task_id: str
    from_session: str
    message_type: str
    message: str
    timestamp: str
