"""Tasks: rows of orchestration_tasks, and who owns them."""

from typing import NamedTuple

from musician.store.query import Command, Query
from musician.store.rows.tasks import TaskRow


class ClaimRow(NamedTuple):
    task_id: str
    claim_epoch: int


class BeforeClaimRow(NamedTuple):
    instruction: str | None
    sessions: int
    at_work: str | None
    conducts: bool
    is_paused: bool


class WrittenRow(NamedTuple):
    written_state: str
    session_id: str | None
    worked_by: str | None
    last_heartbeat: str | None
    retry_limit: int
    heartbeat_age_s: float | None


class NamedRow(NamedTuple):
    task_id: str
    plan_id: str | None


class Tasks:
    task = Query(TaskRow, "task_id")
    before_claim = Query(BeforeClaimRow, "task_id session_id")
    task_as_written = Query(WrittenRow, "task_id")
    open_tasks = Query(TaskRow)
    tasks_at_hand = Query(TaskRow)
    has_tasks = Query(bool)
    names_like = Query(NamedRow, "task_ids")
    tasks_of_plan = Query(TaskRow, "plan_id")
    open_task = Command("task_id title plan_id phase position instruction_path retry_limit")
    place_task = Command("title phase position instruction_path task_id plan_id")
    claim_task = Command("session_id worked_by task_id")
    block_claim = Command("fallback_id session_id")
    owned_task = Query(TaskRow, "task_id session_id claim_epoch")
    claims_of_session = Query(ClaimRow, "session_id")
    beat = Command("task_id session_id claim_epoch")
    move_owned = Command("state task_id session_id claim_epoch from_state")
    move_to_error = Command("last_error is_retry task_id session_id claim_epoch from_state")
    move_to_complete = Command("report_path task_id session_id claim_epoch from_state")
    move_by_conductor = Command("state task_id from_state")
    fence = Command("task_id claim_epoch")
    reopen_fenced = Command("task_id claim_epoch")
    grant_retries = Command("more task_id")
    conductor_insert = Command("session_id")
    conductor_claim = Command("session_id claim_epoch")
    conductor_move = Command("state session_id claim_epoch")
    conductor_beat = Command("session_id claim_epoch")
