"""Proposals: what musicians found worth keeping, and what the conductor made of it."""

from typing import NamedTuple

from musician.store.query import Command, Query
from musician.store.rows.documents import ProposalRow


class OpenProposalRow(NamedTuple):
    path: str
    type: str


class Proposals:
    write_proposal = Command("task_id claim_epoch session_id type title path document_id")
    proposal = Query(ProposalRow, "id")
    open_proposals = Query(ProposalRow, "most")
    proposals = Query(ProposalRow, "most")
    proposals_called = Query(ProposalRow, "task_id type title")
    proposal_paths = Query(str, "prefix")
    open_proposals_of_task = Query(OpenProposalRow, "task_id")
    unsubmitted_proposals = Query(str, "task_id")
    decide_proposal = Command("status outcome id")
    reword_proposal = Command("document_id id")
