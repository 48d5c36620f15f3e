"""Formats the database's times, which are UTC (D10), in this machine's time zone."""

from datetime import UTC, datetime

_STORED = "%Y-%m-%d %H:%M:%S"


def local_time(stamp: str) -> str:
    """Return the local time, as ``22:31:05``; an unreadable stamp is returned unchanged."""
    moment = _local(stamp)
    return stamp if moment is None else moment.strftime("%H:%M:%S")


def local_date(stamp: str) -> str:
    """Return the local date, as ``2026-11-27``; "" for an unreadable stamp."""
    moment = _local(stamp)
    return "" if moment is None else moment.strftime("%Y-%m-%d")


def today() -> str:
    return datetime.now(UTC).astimezone().strftime("%Y-%m-%d")


def local_minute() -> int:
    """Return the minute of the local day."""
    now = datetime.now(UTC).astimezone()
    return now.hour * 60 + now.minute


def zone() -> str:
    """Return the local time zone, as ``UTC+01:00`` or ``UTC``."""
    offset = datetime.now(UTC).astimezone().isoformat(timespec="minutes")[-len("+00:00") :]
    return f"UTC{offset}".removesuffix("+00:00")


def _local(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, _STORED).replace(tzinfo=UTC).astimezone()
    except ValueError:
        return None
