"""Rows of texts: documents, proposals, comments, what a person is asked, locked plans."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from musician.protocol.messages.remarks import Remark, Side


_MOST_CHARS = 500
"""Of what a raw writer may have written at any length."""


class DocumentRow(NamedTuple):
    id: int
    task_id: str
    claim_epoch: int
    kind: str
    path: str
    body: str
    written_by: str
    at: str


class ProposalRow(NamedTuple):
    """``text`` is the proposal's file as it was written when it was open; ``status`` and ``outcome`` are now's."""

    id: int
    task_id: str
    claim_epoch: int
    session_id: str
    type: str
    title: str
    path: str
    document_id: int
    message_id: int
    status: str
    outcome: str
    at: str
    decided_at: str | None
    text: str


class DecidedRow(NamedTuple):
    """A proposal that is closed, without its text."""

    id: int
    task_id: str
    title: str
    status: str
    outcome: str
    decided_at: str | None


class CommentRow(NamedTuple):
    """``message_id`` is the verdict's that carries it as its point ``number``; None for a draft."""

    id: int
    task_id: str
    path: str
    side: "Side"
    line: int
    commit_id: str
    quoted: str
    text: str
    message_id: int | None
    number: int | None
    at: str

    @property
    def remark(self) -> "Remark":
        from musician.protocol.messages.remarks import Remark

        return Remark(
            path=self.path,
            side=self.side,
            line=self.line,
            commit_id=self.commit_id,
            quoted=self.quoted,
            text=self.text,
        )


class HumanRow(NamedTuple):
    """``plan_path`` is the file of the task's plan, None if it belongs to none."""

    id: int
    task_id: str
    kind: str
    subject_id: int
    text: str
    at: str
    resolved_at: str | None
    resolution: str | None
    plan_path: str | None = None


class PlanRow(NamedTuple):
    plan_id: str
    path: str
    title: str
    sha256: str
    text: str
    base_branch: str | None
    base_commit: str
    locked_at: str
    finished_at: str | None


class PauseRow(NamedTuple):
    """A plan that ``who`` has paused, ``at`` UTC by the database's clock. ``resumed_at`` is None while that lasts."""

    id: int
    plan_id: str
    who: str
    reason: str
    at: str
    resumed_by: str
    resumed_at: str | None

    @property
    def said(self) -> str:
        """By whom it is paused, since when and why, as a clause on one line."""
        who, why = (" ".join(each.split())[:_MOST_CHARS] for each in (self.who, self.reason))
        return f"paused by {who or 'somebody'} since {self.at} UTC{': ' if why else ''}{why}"

    @property
    def text(self) -> str:
        """The same as a sentence about its plan, without a full stop."""
        return f"plan {self.plan_id} is {self.said}"


class ArchiveRow(NamedTuple):
    """A plan whose rows are elsewhere. ``abandoned`` says why it was not played to its end; None if it was.

    ``tasks`` are those that it waited for. An old archive, of which it is not known what was ``skipped`` and
    ``withdrawn``, may have these among them.
    """

    plan_id: str
    title: str
    tasks: int
    completed: int
    proposals: int
    base_branch: str | None
    base_commit: str
    locked_at: str
    finished_at: str | None
    abandoned: str | None
    archived_at: str
    skipped: int | None = None
    withdrawn: int | None = None
