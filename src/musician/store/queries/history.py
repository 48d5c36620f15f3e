"""History, and the submissions and verdicts found in it."""

from typing import NamedTuple

from musician.store.query import Query
from musician.store.rows.submissions import ReportRow, SubmissionRow
from musician.store.rows.tasks import HistoryRow


class MomentRow(NamedTuple):
    now: str
    seq: int
    quiet_s: float | None
    limited_account: str | None
    met_at_s: float | None
    until_s: float | None
    limited_until: str | None
    now_s: float


class SaidRow(NamedTuple):
    phase: int | None
    message_type: str
    message: str
    fields: str | None


class History:
    history_of_task = Query(HistoryRow, "task_id")
    moment = Query(MomentRow, "task_id")
    latest_change = Query(HistoryRow, "task_id")
    verdict_on = Query(HistoryRow, "task_id submission_id")
    latest_submission = Query(SubmissionRow, "task_id")
    judged_submissions = Query(SubmissionRow, "task_id")
    submissions_of_plan = Query(SaidRow, "plan_id")
    count_error_reports = Query(int, "task_id")
    reports = Query(ReportRow, "task_id")
    clock_s = Query(float)
    now = Query(str)
