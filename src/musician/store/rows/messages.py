"""Rows of messages."""

from typing import NamedTuple


class MessageRow(NamedTuple):
    id: int
    task_id: str
    from_session: str
    message_type: str
    message: str
    timestamp: str
