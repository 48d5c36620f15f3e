"""The clients that run sessions somebody opened by hand."""

from typing import NamedTuple

from musician.store.query import Command, Query
from musician.store.rows.clients import ClientRow


class ConductorSessionRow(NamedTuple):
    """``told`` is a list of keys, as JSON: of what the session has heard of and that still waits."""

    session_id: str
    since: str
    told: str


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
    conductor_session = Query(ConductorSessionRow)
    conduct = Command("session_id")
    conduct_no_more = Command("session_id")
    tell_conductor = Command("told session_id")
