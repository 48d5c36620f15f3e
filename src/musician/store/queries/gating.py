"""Queries of the gate before a session's end (B01)."""

from musician.store.query import Command, Query


class Gating:
    moved = Query(int, "session_id")
    count_stop = Command("stops mark in_a_row tool_mark seen now_s session_id")
    is_asking = Query(bool, "task_id")
