"""Queries for the conductor's grants, and for how a claim has ended (D21)."""

from musician.store.query import Command, Query
from musician.store.rows.messages import MessageRow


class Permits:
    grant_act = Command("task_id act message_id")
    revoke_act = Command("message_id task_id act")
    grants_of_task = Query(str, "task_id")
    urgent_unacknowledged = Query(MessageRow, "task_id most")
    ended_by_owner = Query(bool, "task_id claim_epoch")
