"""Rows as typed values. The field names are the column names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from musician.protocol.states import State
from musician.store.port import Row

__all__ = [
    "ClientRow",
    "DocumentRow",
    "HistoryRow",
    "HumanRow",
    "JournalRow",
    "MessageRow",
    "PlanRow",
    "ProcessRow",
    "ProposalRow",
    "SessionRow",
    "SubmissionRow",
    "TaskRow",
    "VerificationRow",
    "decode",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    id: int
    task_id: str
    from_session: str
    message_type: str
    message: str
    timestamp: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRow:
    """A submission and, once it is judged, its verdict."""

    id: int
    message_id: int
    message_type: str
    claim_epoch: int
    at: str
    message: str | None
    verdict: State | None
    verdict_message_id: int | None
    verdict_text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    task_id: str
    claim_epoch: int
    session_id: str
    number: int
    agent: str | None
    started_at: str
    ended_at: str | None
    exit_reason: str | None
    context_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """``warned_pct`` is 0 as long as no context threshold was told."""

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
    last_failure: str | None
    warned_pct: float
    iterations: int
    progress_mark: int
    stops_in_a_row: int
    tool_mark: int
    stop_seen: str | None
    stop_counted_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    task_id: str
    claim_epoch: int
    role: str
    pid: int
    pgid: int
    started_at_s: float
    boot_id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    id: int
    task_id: str
    claim_epoch: int
    session_id: str
    kind: str
    item: str
    text: str
    severity: str | None
    context_pct: float | None
    commit_id: str | None
    at: str
    ruled_by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRow:
    id: int
    task_id: str
    claim_epoch: int
    checkpoint: int
    covers_all: bool
    outcome: str
    tree_id: str
    journal_id: int
    result: str
    submission_id: int | None
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionRow:
    """``judgement`` is None where the agent gave none that counts; ``ruled`` is a JSON array of numbers from 1."""

    submission_id: int
    task_id: str
    judgement: str | None
    text: str
    ruled: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    id: int
    task_id: str
    claim_epoch: int
    kind: str
    path: str
    body: str
    written_by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRow:
    """``text`` is the proposal's file as it was written when it was open; ``status`` and ``outcome`` are now's."""

    id: int
    task_id: str
    claim_epoch: int
    session_id: str
    type: str
    title: str
    path: str
    document_id: int
    message_id: int
    status: str
    outcome: str
    at: str
    decided_at: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanRow:
    id: int
    task_id: str
    kind: str
    subject_id: int
    text: str
    at: str
    resolved_at: str | None
    resolution: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    plan_id: str
    path: str
    title: str
    sha256: str
    text: str
    base_branch: str | None
    base_commit: str
    locked_at: str
    finished_at: str | None


T = TypeVar("T")
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "state": State,
    "from_state": State,
    "to_state": State,
    "verdict": State,
    "covers_all": bool,
    "attended": bool,
    "hosted": bool,
}


def decode(kind: type[T], row: Row) -> T:
    """A row as ``kind``; its columns must be exactly the fields."""
    values: dict[str, Any] = dict(row)
    for name, convert in _CONVERTED.items():
        value = values.get(name)
        if value is not None:
            values[name] = convert(value)
    return kind(**values)
