"""The client's sessions that are musicians: which process runs them, how they end, and how a claim stays with one.

A session of a client has an id that changes under it (``/clear``), and a process that does not. So the process is
what a claim can be followed by (B05): the same one, by pid, start, boot and host, takes its own claims along to its
next id, with a new epoch, and nobody else can. It is the user's process: its end is noticed, and never brought about.
"""

from dataclasses import dataclass

from musician.processes.identity import ProcessIdentity, is_same_start
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost
from musician.protocol.journal import Entry, Kind, Progress
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import Counted, Deviations, SelfCorrection
from musician.protocol.messages.types import Resumption
from musician.protocol.names import check_session_id, succession_name
from musician.protocol.rules.deviations import worst
from musician.service.claims import claims_in
from musician.service.rowwork import load_owned, named, say, write_entries
from musician.service.work import as_entry
from musician.store.port import Store, Tx
from musician.store.rows import ClientRow, JournalRow, decode

__all__ = [
    "CLEARED",
    "Met",
    "claims_of_process",
    "client_identity",
    "client_of",
    "current_session",
    "end_client",
    "meet_client",
    "note_client_failure",
    "rebind",
    "session_of_process",
    "warn_client",
]

CLEARED = "clear"
"""The end of a session that its process goes on from under another id."""

MOST_FAILURE_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A client as it is met: its process, whether a person is at it, and whether a program of ours hosts it.

    ``source`` is what the session began from, None where that was not seen.
    """

    identity: ProcessIdentity
    attended: bool
    hosted: bool
    transcript_path: str | None = None
    source: str | None = None


def meet_client(store: Store, session_id: str, met: Met) -> None:
    """Record what runs a session that has claimed; met again, what runs it now."""
    check_session_id(session_id)
    with store.write() as tx:
        _meet(tx, session_id, met)


def client_of(store: Store, session_id: str) -> ClientRow | None:
    """The client of a session; None for one that never claimed, or was no client's."""
    with store.read() as tx:
        return _client(tx, session_id)


def client_identity(client: ClientRow) -> ProcessIdentity:
    return ProcessIdentity(
        pid=client.pid,
        pgid=client.pgid,
        started_at_s=client.started_at_s,
        boot_id=client.boot_id,
        host=client.host,
    )


def current_session(store: Store, session_id: str) -> str:
    """The id under which a session goes on: its own, or its latest successor's.

    For what lives longer than an id, as a server or a monitor of the client's does.
    """
    seen = {session_id}
    with store.read() as tx:
        while (client := _client(tx, session_id)) is not None and client.successor not in (None, *seen):
            session_id = str(client.successor)
            seen.add(session_id)
    return session_id


def session_of_process(store: Store, identity: ProcessIdentity) -> str | None:
    """The session that exactly this process of a client runs now; None where none of its sessions has claimed."""
    with store.read() as tx:
        running = [row for row in _clients_of(tx, identity, but="") if row.ended_at is None]
    return running[0].session_id if running else None


def end_client(store: Store, session_id: str, *, reason: str) -> tuple[Claim, ...]:
    """A session has ended in its client: whatever it owns has a dead owner from now on; its live claims.

    After :data:`CLEARED` the process goes on, and its claims with it (:func:`rebind`).
    """
    with store.write() as tx:
        tx.run("end_client", session_id=session_id, end_reason=reason[:MOST_FAILURE_CHARS])
        claims = claims_in(tx, session_id)
        if reason != CLEARED:
            for claim in claims:
                _tell(tx, claim, f"the client's session has ended ({reason})")
        return claims


def note_client_failure(store: Store, session_id: str, text: str) -> tuple[Claim, ...]:
    """A turn of a session has failed in its client, so that no gate was asked; its live claims."""
    said = " ".join(text.split())[:MOST_FAILURE_CHARS]
    with store.write() as tx:
        tx.run("note_client_failure", session_id=session_id, text=said)
        claims = claims_in(tx, session_id)
        for claim in claims:
            _tell(tx, claim, f"the client's turn has failed: {said}")
        return claims


def warn_client(store: Store, session_id: str, pct: float) -> None:
    """Remember which context threshold a session has been told of, 0 for none (D15)."""
    with store.write() as tx:
        tx.run("warn_client", session_id=session_id, pct=pct)


def claims_of_process(store: Store, identity: ProcessIdentity, *, but: str) -> tuple[Claim, ...]:
    """The live claims that exactly this process of a client has made under other ids than ``but``."""
    with store.read() as tx:
        earlier = _clients_of(tx, identity, but=but)
        return tuple(claim for client in earlier for claim in claims_in(tx, client.session_id))


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
            for client in _clients_of(tx, new.identity, but=session_id)
            if client.end_reason == CLEARED or (is_cleared and client.ended_at is None)
        ]
        moved = [
            _move(tx, claim, session_id) for client in earlier for claim in claims_in(tx, client.session_id)
        ]
        if moved:
            _meet(tx, session_id, new)
            for client in earlier:
                tx.run("succeed_client", session_id=client.session_id, successor=session_id)
        return tuple(moved)


def _move(tx: Tx, old: Claim, session_id: str) -> Claim:
    new = Claim(task_id=old.task_id, session_id=session_id, epoch=old.epoch + 1)
    row = load_owned(tx, old)
    counted = tx.one("count_sessions", task_id=old.task_id)
    worked_by = succession_name(old.task_id, int((counted or {}).get("n") or 0) + 1)
    # The session before the epoch: an epoch without one is a fence.
    tx.run("add_session", task_id=old.task_id, claim_epoch=old.epoch, session_id=session_id)
    changed = tx.run("rebind", successor=session_id, worked_by=worked_by, **named(old))
    if changed != 1:
        raise ClaimLost(
            task_id=old.task_id, session_id=old.session_id, epoch=old.epoch, current_epoch=row.claim_epoch
        )
    reason = f"interrupted: the conversation was cleared and goes on as session {session_id}"
    tx.run("end_session", exit_reason=reason, context_pct=None, task_id=old.task_id, claim_epoch=old.epoch)
    text = _announcement(tx, old, worked_by).render()
    claimed = Entry(kind=Kind.CLAIMED, text=session_id)
    write_entries(tx, new, (claimed, Entry(kind=Kind.RESUMED, text=text)))
    say(tx, new.task_id, session_id, MessageType.RESUMPTION_STATUS, text)
    return new


def _announcement(tx: Tx, old: Claim, worked_by: str) -> Resumption:
    """As any successor announces itself; but the process, the tree and the work in it are the same."""
    of = {"task_id": old.task_id}
    rows = [decode(JournalRow, each) for each in tx.all("journal_of_task", **of)]
    progress = Progress().after(as_entry(row) for row in rows)
    begun = [row.item for row in rows if row.kind in (Kind.STARTED, Kind.LAUNCHED)]
    unread = tx.one("count_unread", **of)
    return Resumption(
        worked_by=worked_by,
        previous_session=old.session_id,
        handoff="none, the same process goes on after its conversation was cleared",
        context_usage_pct=None,
        deviations_found=Deviations(count=len(progress.deviations), worst=worst(progress.deviations)),
        mismatches=Counted(count=0),
        pending_messages=Counted(count=int((unread or {}).get("n") or 0)),
        previous_self_correction=SelfCorrection(happened=bool(progress.self_corrections)),
        assessment="the same musician under another session id",
        verification="not run anew: nothing but the conversation is lost",
        resuming_from=begun[-1] if begun else "the beginning",
    )


def _meet(tx: Tx, session_id: str, met: Met) -> None:
    tx.run(
        "meet_client",
        session_id=session_id,
        pid=met.identity.pid,
        pgid=met.identity.pgid,
        started_at_s=met.identity.started_at_s,
        boot_id=met.identity.boot_id,
        host=met.identity.host,
        attended=met.attended,
        hosted=met.hosted,
        transcript_path=met.transcript_path,
        source=met.source,
    )


def _client(tx: Tx, session_id: str) -> ClientRow | None:
    found = tx.one("client", session_id=session_id)
    return None if found is None else decode(ClientRow, found)


def _clients_of(tx: Tx, identity: ProcessIdentity, *, but: str) -> list[ClientRow]:
    rows = (decode(ClientRow, each) for each in tx.all("clients_of_process", pid=identity.pid, but=but))
    return [
        row
        for row in rows
        if (row.boot_id, row.host) == (identity.boot_id, identity.host)
        and is_same_start(row.started_at_s, identity)
    ]


def _tell(tx: Tx, claim: Claim, text: str) -> None:
    """Into the journal, and to the conductor: no submission, no report, only what became known."""
    write_entries(tx, claim, (Entry(kind=Kind.NOTE, text=text),))
    say(tx, claim.task_id, claim.session_id, MessageType.SYSTEM, text)
