"""Limits of the agents' providers: one breaker for each, the fleet's."""

from typing import NamedTuple

from musician.store.query import Command, Query


class LimitRow(NamedTuple):
    """``met_at_s`` is 0 of one that was never limited, only refused."""

    provider: str
    met_at_s: float
    until_s: float
    times: int
    is_proven: bool
    probed_at_s: float
    probed_by: str
    now_s: float
    is_refused: bool


class Limits:
    provider_of = Query(str, "task_id")
    now_s = Query(float)
    limits = Query(LimitRow, "provider")
    keep_limit = Command("provider met_at_s until_s times")
    probe = Command("provider session_id")
    prove = Command("provider")
    refuse = Command("provider task_id kind subject_id")
    retry_refused = Command("resolution")
    lift = Command("provider")
