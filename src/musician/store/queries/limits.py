"""Limits of the accounts that agents have with their providers: one breaker for each, the fleet's."""

from typing import NamedTuple

from musician.store.query import Command, Query


class LimitRow(NamedTuple):
    """``account`` is a login with a provider; ``met_at_s`` is 0 of one that was never limited, only refused."""

    account: str
    met_at_s: float
    until_s: float
    times: int
    is_proven: bool
    probed_at_s: float
    probed_by: str
    now_s: float
    until: str
    is_refused: bool


class Limits:
    account_of = Query(str, "task_id")
    now_s = Query(float)
    limits = Query(LimitRow, "account")
    keep_limit = Command("account met_at_s until_s times")
    probe = Command("account session_id")
    prove = Command("account")
    refuse = Command("account task_id kind subject_id")
    retry_refused = Command("resolution")
    lift = Command("account")
