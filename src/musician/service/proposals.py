"""Proposals: made by musicians, decided by the conductor alone, once (sources "Proposal System", D21)."""

from collections.abc import Callable, Collection

from musician.protocol.claim import Claim
from musician.protocol.errors import BadField, UnknownProposal
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.checks import check_said
from musician.protocol.names import CONDUCTOR
from musician.protocol.proposals import (
    Act,
    Draft,
    Proposal,
    Status,
    check_may,
    file_name,
    merged,
    next_status,
)
from musician.protocol.transitions import Actor
from musician.protocol.values import as_dict, dataclass, replace
from musician.service.documents import keep_text
from musician.service.rowwork import beat_in, write_entries
from musician.store.port import Store, Tx
from musician.store.queries.history import History
from musician.store.queries.proposals import Proposals
from musician.store.rows import ProposalRow

MOST_PROPOSALS = 500
"""That one look gives; the oldest are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptProposal:
    """A proposal and its row. ``proposal`` has the row's status and outcome."""

    row: ProposalRow
    proposal: Proposal


def propose(
    store: Store, by: Claim | None, draft: Draft, *, folder: str, taken: Collection[str]
) -> tuple[KeptProposal, Entry | None]:
    """Keep a proposal of a claim's owner, or, with None, of the conductor's.

    ``folder`` is where its file will lie, relative to the project; ``taken`` the names that are there. The second
    value is the journal entry that was written, for the files beside it; the conductor has no journal. What the task
    has proposed before, word for word, is given back as it stands, without an entry: a piece that is played again
    proposes nothing new.
    """
    with store.write() as tx:
        if by is not None:
            beat_in(tx, by)
        task_id = CONDUCTOR if by is None else by.task_id
        before = _same(tx, task_id, draft)
        if before is not None:
            return before, None
        prefix = folder.rstrip("/") + "/"
        given = {path.removeprefix(prefix) for path in tx.all(Proposals.proposal_paths, prefix=prefix)}
        made = Proposal(
            **as_dict(draft),
            task_id=task_id,
            session_id=CONDUCTOR if by is None else by.session_id,
            date=_today(tx),
        )
        path = prefix + file_name(made.date, made.title, given | set(taken))
        kept = _keep(tx, made, path, epoch=0 if by is None else by.epoch)
        entry = None
        if by is not None:
            entry = Entry(kind=EntryKind.NOTE, text=f"proposal created: {path} ({made.type})")
            write_entries(tx, by, (entry,))
        return kept, entry


def list_proposals(store: Store, *, only_open: bool) -> tuple[KeptProposal, ...]:
    """The newest, oldest first."""
    with store.read() as tx:
        rows = tx.all(Proposals.open_proposals if only_open else Proposals.proposals, most=MOST_PROPOSALS)
        return tuple(_kept(row) for row in rows)


def find_proposal(store: Store, proposal_id: int) -> KeptProposal:
    """:class:`UnknownProposal` if there is none."""
    with store.read() as tx:
        return _load(tx, proposal_id)


def unsubmitted_proposals(store: Store, task_id: str) -> tuple[str, ...]:
    """The paths of what was proposed since the task's last submission: what the next one's ``Proposal`` field names."""
    with store.read() as tx:
        return tuple(tx.all(Proposals.unsubmitted_proposals, task_id=task_id))


def open_proposals_of(store: Store, task_id: str) -> tuple[str, ...]:
    """A task's undecided proposals as a HANDOFF lists them: ``path (TYPE)`` (sources "HANDOFF Document Structure")."""
    with store.read() as tx:
        rows = tx.all(Proposals.open_proposals_of_task, task_id=task_id)
    return tuple(f"{row.path} ({row.type})" for row in rows)


def accept_proposal(
    store: Store, proposal_id: int, land: Callable[[KeptProposal], str], *, session_id: str | None = None
) -> KeptProposal:
    """Accept a proposal once it has landed; ``land`` puts it in its place and gives the path.

    It is called with the write lock held, so that two acceptances never write one file at a time; if it fails,
    nothing is decided. It is to find what it wrote before a crash. ``session_id`` names a musician who tries.
    """
    _check_conductor(Act.ACCEPT, session_id)
    with store.write() as tx:
        kept = _load(tx, proposal_id)
        status = next_status(kept.proposal.status, Act.ACCEPT, proposal_id=proposal_id)
        return _decide(tx, kept, status, land(kept))


def reject_proposal(
    store: Store, proposal_id: int, reason: str, *, session_id: str | None = None
) -> KeptProposal:
    """Reject a proposal; ``reason`` says why."""
    _check_conductor(Act.REJECT, session_id)
    check_said("text", reason)
    with store.write() as tx:
        kept = _load(tx, proposal_id)
        return _decide(
            tx, kept, next_status(kept.proposal.status, Act.REJECT, proposal_id=proposal_id), reason
        )


def merge_proposal(
    store: Store, proposal_id: int, into_id: int, *, session_id: str | None = None
) -> tuple[KeptProposal, KeptProposal]:
    """Make one open proposal of two: ``into_id`` gets the text of both and stays open, the other is closed."""
    _check_conductor(Act.MERGE, session_id)
    if proposal_id == into_id:
        raise BadField(
            field="into", value=into_id, reason="name another proposal than the one that is merged"
        )
    with store.write() as tx:
        closed, kept = _load(tx, proposal_id), _load(tx, into_id)
        status = next_status(closed.proposal.status, Act.MERGE, proposal_id=proposal_id)
        next_status(kept.proposal.status, Act.MERGE, proposal_id=into_id)
        both = merged(kept.proposal, closed.proposal, closed.row.path)
        document_id = _store_text(tx, both, kept.row.path, epoch=kept.row.claim_epoch)
        tx.run(Proposals.reword_proposal, id=into_id, document_id=document_id)
        return _decide(tx, closed, status, kept.row.path), _load(tx, into_id)


def _same(tx: Tx, task_id: str, draft: Draft) -> KeptProposal | None:
    rows = tx.all(Proposals.proposals_called, task_id=task_id, type=draft.type, title=draft.title)
    kept = [_kept(row) for row in rows]
    return next(
        (each for each in kept if (each.proposal.body, each.proposal.why) == (draft.body, draft.why)), None
    )


def _check_conductor(act: Act, session_id: str | None) -> None:
    if session_id is not None and session_id != CONDUCTOR:
        check_may(act, Actor.OWNER, session_id=session_id)


def _keep(tx: Tx, made: Proposal, path: str, *, epoch: int) -> KeptProposal:
    document_id = _store_text(tx, made, path, epoch=epoch)
    proposal_id = tx.insert(
        Proposals.write_proposal,
        task_id=made.task_id,
        claim_epoch=epoch,
        session_id=made.session_id,
        type=made.type,
        title=made.title,
        path=path,
        document_id=document_id,
    )
    return _load(tx, proposal_id)


def _store_text(tx: Tx, made: Proposal, path: str, *, epoch: int) -> int:
    writer = "program" if made.session_id == CONDUCTOR else "agent"
    return keep_text(tx, made.task_id, epoch, "proposal", path, made.render(), written_by=writer)


def _decide(tx: Tx, kept: KeptProposal, status: Status, outcome: str) -> KeptProposal:
    tx.run(Proposals.decide_proposal, id=kept.row.id, status=status, outcome=outcome)
    return _load(tx, kept.row.id)


def _load(tx: Tx, proposal_id: int) -> KeptProposal:
    row = tx.one(Proposals.proposal, id=proposal_id)
    if row is None:
        raise UnknownProposal(proposal_id=proposal_id)
    return _kept(row)


def _kept(row: ProposalRow) -> KeptProposal:
    written = Proposal.parse(row.text)
    return KeptProposal(row=row, proposal=replace(written, status=Status(row.status), outcome=row.outcome))


def _today(tx: Tx) -> str:
    return tx.only(History.now)[:10]
