"""The subagents of clients' sessions: each belongs to the claim it was begun under, for its life (D34, D41)."""

from typing import NamedTuple

from musician.store.query import Command, Query


class SubagentRow(NamedTuple):
    """``kind`` is what its client calls it."""

    agent_id: str
    kind: str

    def __str__(self) -> str:
        return f"subagent {self.agent_id} ({self.kind})"


class Subagents:
    begin_subagent = Command("agent_id task_id claim_epoch session_id kind")
    end_subagent = Command("agent_id")
    running_subagents = Query(SubagentRow, "task_id claim_epoch")
