"""Plans, their phases, and what needs a person."""

from typing import NamedTuple

from musician.protocol.states import State
from musician.store.query import Command, Query
from musician.store.rows.documents import ArchiveRow, HumanRow, PlanRow


class PhaseRow(NamedTuple):
    plan_id: str
    number: int
    title: str


class EarlierRow(NamedTuple):
    task_id: str
    state: State
    phase: int | None
    is_named: bool


class WaitRow(NamedTuple):
    task_id: str
    phase: int | None
    after: str | None


class Plans:
    lock_plan = Command("plan_id path title sha256 text base_branch base_commit")
    amend_plan = Command("path title sha256 text plan_id")
    plan = Query(PlanRow, "plan_id")
    locked_hash = Query(str, "plan_id")
    plans = Query(PlanRow)
    current_plans = Query(PlanRow)
    count_plans = Query(int)
    finish_plan = Command("plan_id")
    reopen_plan = Command("plan_id")
    add_phase = Command("plan_id number title")
    phases = Query(PhaseRow, "plan_id")
    add_dependency = Command("task_id after")
    forget_dependencies = Command("task_id")
    add_conflict = Command("task_id other")
    forget_conflicts = Command("task_id")
    comes_first = Query(EarlierRow, "task_id")
    open_waits = Query(WaitRow, "plan_id")
    ask_human = Command("task_id kind subject_id text")
    retry_troubles = Command("resolution plan_id")
    settle_budgets = Command("resolution plan_id")
    needs_human = Query(HumanRow)
    needs_human_of_task = Query(HumanRow, "task_id")
    resolve_answered = Command("resolution task_id")
    resolve_human = Command("resolution task_id")
    keep_settings = Command("plan_id text")
    settings_of_plan = Query(str, "plan_id")
    settings_of_task = Query(str, "task_id")
    keep_baseline = Command("commit_id setup command result")
    baseline = Query(str, "commit_id setup command")
    keep_archive = Command("abandoned plan_id")
    keep_archived_settled = Command("plan_id skipped withdrawn")
    archive = Query(ArchiveRow, "plan_id")
    archives = Query(ArchiveRow)
    forget_archive = Command("plan_id")
    forget_archived_settled = Command("plan_id")
    note_dropped = Command("plan_id")
    dropped = Query(str)
    forget_dropped = Command("plan_id")
