"""Rows of the clients that sessions run in."""

from typing import NamedTuple


class ClientRow(NamedTuple):
    """``warned_pct`` is 0 as long as no context threshold was announced."""

    session_id: str
    pid: int
    pgid: int
    started_at_s: float
    boot_id: str
    host: str
    attended: bool
    hosted: bool
    transcript_path: str | None
    source: str | None
    started_at: str
    ended_at: str | None
    end_reason: str | None
    successor: str | None
    warned_pct: float
    iterations: int
    progress_mark: int
    stops_in_a_row: int
    tool_mark: int
    stop_seen: str | None
    stop_counted_s: float | None
