"""Rows of tasks and of what happened to their states."""

from typing import NamedTuple

from musician.protocol.states import State


class TaskRow(NamedTuple):
    """``heartbeat_age_s``: seconds by the database's clock; None if unset or unreadable, negative if in the future."""

    task_id: str
    state: State
    session_id: str | None
    worked_by: str | None
    started_at: str | None
    last_heartbeat: str | None
    heartbeat_age_s: float | None
    completed_at: str | None
    retry_count: int
    last_error: str | None
    report_path: str | None
    instruction_path: str | None
    claim_epoch: int
    title: str | None
    plan_id: str | None
    phase: int | None
    position: int | None
    retry_limit: int
    created_at: str
    is_withdrawn: bool = False
    """Taken out of its plan by the conductor."""
    skipped: str | None = None
    """Why a person has settled it without its work; None if nobody has."""

    @property
    def is_over(self) -> bool:
        """Whether its plan waits for it no more: complete, withdrawn or skipped."""
        return self.state is State.COMPLETE or self.is_withdrawn or self.skipped is not None

    @property
    def shown_state(self) -> str:
        """Its state as people are told it."""
        return "skipped" if self.skipped is not None else "withdrawn" if self.is_withdrawn else self.state


class HistoryRow(NamedTuple):
    id: int
    task_id: str
    from_state: State | None
    to_state: State
    who: str
    session_id: str | None
    claim_epoch: int
    message_id: int | None
    message_type: str | None
    submission_id: int | None
    at: str
