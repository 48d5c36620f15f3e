"""The clients that run sessions somebody opened by hand."""

from musician.store.query import Command, Query
from musician.store.rows.clients import ClientRow


class Clients:
    client = Query(ClientRow, "session_id")
    meet_client = Command(
        "session_id pid pgid started_at_s boot_id host attended hosted transcript_path source"
    )
    end_client = Command("end_reason session_id")
    warn_client = Command("pct session_id")
    clients_of_process = Query(ClientRow, "pid but")
    succeed_client = Command("successor session_id")
    add_session = Command("session_id task_id claim_epoch")
    rebind = Command("successor worked_by task_id session_id claim_epoch")
