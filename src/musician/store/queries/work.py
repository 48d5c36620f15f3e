"""Queries for what sessions did: journal, rulings, verification, documents."""

from typing import NamedTuple

from musician.store.query import Command, Query
from musician.store.rows.documents import DocumentRow
from musician.store.rows.sessions import JournalRow
from musician.store.rows.submissions import OpinionRow, VerificationRow


class BeginningRow(NamedTuple):
    tip: str
    outside: str


class Work:
    write_journal = Command("task_id claim_epoch session_id kind item text severity context_pct commit_id")
    journal_of_task = Query(JournalRow, "task_id")
    to_be_ruled = Query(bool, "journal_id task_id")
    rule = Command("journal_id message_id")
    tie_newest = Command("message_id task_id")
    store_verification = Command(
        "task_id claim_epoch checkpoint covers_all outcome tree_id result submission_id known_entry_id"
    )
    cover = Command("message_id task_id commit_id tree_id changed_files")
    moved_since = Query(bool, "task_id entry_id")
    others_moved_since = Query(bool, "task_id entry_id")
    verifications_of_task = Query(VerificationRow, "task_id")
    verification = Query(VerificationRow, "id")
    store_document = Command("task_id claim_epoch kind path body written_by")
    latest_document = Query(DocumentRow, "task_id kind")
    keep_opinion = Command("task_id submission_id judgement text ruled")
    opinions_of_task = Query(OpinionRow, "task_id")
    begin_piece = Command("task_id claim_epoch item tip outside")
    carry_beginnings = Command("task_id claim_epoch")
    beginning_of_piece = Query(BeginningRow, "task_id claim_epoch item")
