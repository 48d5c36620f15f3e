"""The pauses of plans."""

from musician.store.query import Command, Query
from musician.store.rows.documents import PauseRow


class Pauses:
    pause_plan = Command("plan_id who reason")
    resume_plan = Command("who plan_id")
    pause_of_plan = Query(PauseRow, "plan_id")
    pause_of_task = Query(PauseRow, "task_id")
    pauses = Query(PauseRow)
    owned_tasks_of_plan = Query(str, "plan_id")
