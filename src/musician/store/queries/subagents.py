"""The subagents of clients' sessions: each belongs to the claim it was begun under, for its life (D34, D41)."""

from typing import NamedTuple

from musician.store.query import Command, Query


class SubagentRow(NamedTuple):
    agent_id: str
    kind: str


class Subagents:
    begin_subagent = Command("agent_id task_id claim_epoch session_id kind")
    end_subagent = Command("agent_id")
    running_subagents = Query(SubagentRow, "task_id claim_epoch")
