"""Rows of the sessions of a task: their claims, their processes, what they wrote down."""

from typing import NamedTuple

from musician.protocol.journal import JUDGED_BY_PERSON
from musician.protocol.names import CONDUCTOR, succession_name


class SessionRow(NamedTuple):
    task_id: str
    claim_epoch: int
    session_id: str
    number: int
    agent: str | None
    started_at: str
    ended_at: str | None
    exit_reason: str | None
    context_pct: float | None

    @property
    def name(self) -> str:
        """By which people know it."""
        return succession_name(self.task_id, self.number)


class ProgramRow(NamedTuple):
    """With which program a claim is played, and where."""

    task_id: str
    claim_epoch: int
    host: str
    version: str
    python: str
    system: str


class ProcessRow(NamedTuple):
    task_id: str
    claim_epoch: int
    role: str
    pid: int
    pgid: int
    started_at_s: float
    boot_id: str
    host: str


class ConversationRow(NamedTuple):
    token: str
    agent: str | None
    exit_reason: str | None
    context_pct: float | None


class JournalRow(NamedTuple):
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

    @property
    def judged_by_person(self) -> bool:
        """Whether it stands for a person's verdict: the conductor's own note, tied to the verdict's message."""
        return (self.session_id, self.text) == (CONDUCTOR, JUDGED_BY_PERSON) and self.ruled_by is not None


class UsageRow(NamedTuple):
    """What one model has used in one piece. ``cost_usd`` is None where nobody says a price."""

    id: int
    task_id: str
    claim_epoch: int
    session_id: str
    item: str
    model: str
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float | None
    is_estimated: bool
    turns: int
    at: str


class CostRow(NamedTuple):
    """What a task has used; ``cost_usd`` is None where nothing of it has a price, too little if ``has_unpriced``."""

    task_id: str
    cost_usd: float | None
    tokens: int
    has_unpriced: bool


class MeansRow(NamedTuple):
    """What a task, or a day, has used, or was granted."""

    task_id: str
    is_granted: bool
    cost_usd: float
    tokens: int
    turns: int
    time_s: float
