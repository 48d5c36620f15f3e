"""Sessions (one row per claim) and their processes."""

from musician.store.query import Command, Query
from musician.store.rows.sessions import (
    ConversationRow,
    CostRow,
    MeansRow,
    ProcessRow,
    ProgramRow,
    SessionRow,
    UsageRow,
)

_USAGE = (
    "task_id claim_epoch session_id item model input_tokens cache_read_tokens cache_write_tokens output_tokens cost_usd"
    " is_estimated turns"
)


class Sessions:
    count_sessions = Query(int, "task_id")
    session = Query(SessionRow, "task_id claim_epoch")
    own_epoch = Query(int, "task_id session_id")
    tasks_of_session = Query(str, "session_id")
    sessions_of_task = Query(SessionRow, "task_id")
    describe_session = Command("agent task_id claim_epoch")
    keep_account = Command("task_id claim_epoch account")
    forget_account = Command("task_id claim_epoch")
    end_session = Command("exit_reason context_pct task_id claim_epoch")
    end_older_sessions = Command("exit_reason task_id claim_epoch")
    measure_context = Command("context_pct task_id claim_epoch")
    add_usage = Command(_USAGE)
    add_to_usage = Command(_USAGE)
    add_playtime = Command("task_id claim_epoch played_s")
    grant_means = Command("task_id cost_usd tokens turns time_s")
    means_of_tasks = Query(MeansRow, "task_id plan_id")
    keep_means_of_today = Command("plan_id")
    forget_archived_means = Command("plan_id")
    means_of_today = Query(MeansRow)
    usage_of_plan = Query(UsageRow, "plan_id")
    costs_of_plan = Query(CostRow, "plan_id")
    usage_of_task = Query(UsageRow, "task_id")
    keep_conversation = Command("task_id claim_epoch token")
    conversation = Query(ConversationRow, "task_id claim_epoch")
    conversation_before = Query(ConversationRow, "task_id claim_epoch")
    record_process = Command("task_id claim_epoch role pid pgid started_at_s boot_id host")
    register_program = Command("task_id claim_epoch host version python system")
    programs_at_work = Query(ProgramRow)
    processes_of_task = Query(ProcessRow, "task_id")
