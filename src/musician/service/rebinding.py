"""Moves the claims of a client's process to the next id of its session, with a new epoch (B05)."""

from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.particulars import Counted, Deviations, SelfCorrection
from musician.protocol.messages.types import Resumption
from musician.protocol.names import check_session_id, succession_name
from musician.protocol.rules.deviations import worst
from musician.protocol.values import as_dict, replace
from musician.service.claims import claims_in
from musician.service.clients import CLEARED, Met, clients_in, meet_in
from musician.service.conductor_session import move_conductor_in
from musician.service.rowwork import load_owned, named, say_fields, write_entries
from musician.service.work import as_entry, begun_in
from musician.store.port import Store, Tx
from musician.store.queries.clients import Clients
from musician.store.queries.messages import Messages
from musician.store.queries.sessions import Sessions
from musician.store.queries.work import Work


def rebind(store: Store, session_id: str, new: Met, *, is_cleared: bool = True) -> tuple[Claim, ...]:
    """The claims that the process of ``new`` made under earlier ids, now under ``session_id``, each an epoch on.

    Only what exactly this process ran, and what ended by being cleared; with ``is_cleared`` the client says that this
    session begins so, and an earlier one whose end it could not say has ended so too. Nothing is changed where there
    is no such claim (B05). Each is announced to the conductor; a late writer under an old id is refused (D2).
    """
    check_session_id(session_id)
    with store.write() as tx:
        earlier = [
            client
            for client in clients_in(tx, new.identity, but=session_id)
            if client.end_reason == CLEARED or (is_cleared and client.ended_at is None)
        ]
        moved = [
            _move(tx, claim, session_id) for client in earlier for claim in claims_in(tx, client.session_id)
        ]
        conducts = move_conductor_in(tx, (client.session_id for client in earlier), session_id)
        if moved or conducts:
            meet_in(tx, session_id, new)
            for client in earlier:
                tx.run(Clients.succeed_client, session_id=client.session_id, successor=session_id)
        return tuple(moved)


def _move(tx: Tx, old: Claim, session_id: str) -> Claim:
    new = Claim(task_id=old.task_id, session_id=session_id, epoch=old.epoch + 1)
    row = load_owned(tx, old)
    worked_by = succession_name(old.task_id, tx.only(Sessions.count_sessions, task_id=old.task_id) + 1)
    # The session before the epoch: an epoch without one is a fence.
    tx.run(Clients.add_session, task_id=old.task_id, claim_epoch=old.epoch, session_id=session_id)
    changed = tx.run(Clients.rebind, successor=session_id, worked_by=worked_by, **named(old))
    if changed != 1:
        raise ClaimLost(**as_dict(old), current_epoch=row.claim_epoch)
    tx.run(Messages.carry_orders, task_id=old.task_id, claim_epoch=old.epoch)
    tx.run(Work.carry_beginnings, task_id=old.task_id, claim_epoch=old.epoch)
    reason = f"interrupted: the conversation was cleared and goes on as session {session_id}"
    tx.run(
        Sessions.end_session, exit_reason=reason, context_pct=None, task_id=old.task_id, claim_epoch=old.epoch
    )
    journal = tx.all(Work.journal_of_task, task_id=old.task_id)
    begun = begun_in(journal, old.epoch)
    announcement = _announcement(tx, old, worked_by, Progress().after(map(as_entry, journal)), begun)
    claimed = Entry(kind=EntryKind.CLAIMED, text=session_id)
    # A step goes on in the same tree. A subagent's piece does not: it ends with the claim it was begun under.
    going_on = (replace(each, context_pct=None) for each in begun if each.kind is EntryKind.STARTED)
    write_entries(tx, new, (claimed, Entry(kind=EntryKind.RESUMED, text=announcement.render()), *going_on))
    say_fields(tx, new.task_id, session_id, announcement)
    return new


def _announcement(
    tx: Tx, old: Claim, worked_by: str, progress: Progress, begun: tuple[Entry, ...]
) -> Resumption:
    """As any successor announces itself; but the process, the tree and the work in it are the same."""
    return Resumption(
        worked_by=worked_by,
        previous_session=old.session_id,
        handoff="none, the same process goes on after its conversation was cleared",
        context_usage_pct=None,
        deviations_found=Deviations(count=len(progress.deviations), worst=worst(progress.deviations)),
        mismatches=Counted(count=0),
        pending_messages=Counted(count=tx.only(Messages.count_unread, task_id=old.task_id)),
        previous_self_correction=SelfCorrection(happened=bool(progress.self_corrections)),
        assessment="the same musician under another session id",
        verification="not run anew: nothing but the conversation is lost",
        resuming_from=begun[-1].item if begun else "its next item",
    )
