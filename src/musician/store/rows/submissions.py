"""Rows of what was handed in, of what was found when it was verified, and of what an agent thought of it."""

from typing import TYPE_CHECKING, NamedTuple

from musician.protocol.states import State

if TYPE_CHECKING:
    from musician.protocol.messages.stored import Report
    from musician.protocol.messages.submissions import Submission


class SubmissionRow(NamedTuple):
    """A submission and, once it is judged, its verdict; what it covers, where this program wrote it (D28)."""

    id: int
    message_id: int
    message_type: str
    claim_epoch: int
    at: str
    message: str | None
    verdict: State | None
    verdict_text: str | None
    commit_id: str | None = None
    tree_id: str | None = None
    entry_id: int | None = None
    changed_files: int | None = None
    fields: str | None = None
    verdict_id: int | None = None
    """The verdict's message."""

    @property
    def said(self) -> "Submission | None":
        """None for a text that says no such thing."""
        from musician.protocol.messages.stored import read_submission

        return read_submission(self.message_type, self.message or "", self.fields)


class ReportRow(NamedTuple):
    """An error report or a context warning."""

    id: int
    message_type: str
    message: str
    fields: str | None = None

    @property
    def said(self) -> "Report | None":
        """None for a text that says no such thing."""
        from musician.protocol.messages.stored import read_report

        return read_report(self.message_type, self.message, self.fields)


class VerificationRow(NamedTuple):
    id: int
    task_id: str
    claim_epoch: int
    checkpoint: int
    covers_all: bool
    outcome: str
    tree_id: str
    journal_id: int
    result: str
    submission_id: int | None
    at: str


class OpinionRow(NamedTuple):
    """``judgement`` is None where the agent gave none that counts; ``ruled`` is a JSON array of numbers from 1."""

    submission_id: int
    task_id: str
    judgement: str | None
    text: str
    ruled: str
    at: str
