"""Messages and what became of them."""

from musician.store.query import Command, Query
from musician.store.rows.messages import ForecastRow, MessageRow, ReceiptRow


class Messages:
    send = Command("task_id from_session message_type message")
    store_fields = Command("message_id fields")
    message = Query(MessageRow, "id")
    messages_of_task = Query(MessageRow, "task_id most")
    count_messages = Query(int, "task_id")
    receipts_of_task = Query(ReceiptRow, "task_id most")
    unread = Query(MessageRow, "task_id most")
    undelivered = Query(MessageRow, "task_id claim_epoch most")
    count_unread = Query(int, "task_id")
    last_word_on_pausing = Query(MessageRow, "task_id")
    forecasts_of_plan = Query(ForecastRow, "plan_id")
    forecasts_of_task = Query(ForecastRow, "task_id")
    blocked_before = Query(bool, "task_id session_id")
    address = Command("message_id task_id")
    carry_orders = Command("task_id claim_epoch")
    deliver = Command("session_id claim_epoch message_id task_id")
    acknowledge = Command("task_id message_id")
    open_question = Query(MessageRow, "task_id")
    messages_of_the_future = Query(int, "task_id tolerance_s")
