"""Rows of messages."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from musician.protocol.messages.forecasts import Forecast


class MessageRow(NamedTuple):
    id: int
    task_id: str
    from_session: str
    message_type: str
    message: str
    timestamp: str


class ForecastRow(NamedTuple):
    """A message that foretells something."""

    task_id: str
    fields: str

    @property
    def said(self) -> "Forecast | None":
        """None for fields that say no such thing."""
        from musician.protocol.messages.stored import read_forecast

        return read_forecast(self.fields)


class ReceiptRow(NamedTuple):
    """What has become of a message of the conductor's: stored, delivered, acknowledged (D12), or settled (D37)."""

    message_id: int
    delivered_at: str | None
    acknowledged_at: str | None
    delivered_epoch: int | None
    """Of the claim that it was delivered to last."""
    is_unread: bool
    ordered_epoch: int | None
    """Of the claim that it was an order to; None for what is for whoever plays the task."""
