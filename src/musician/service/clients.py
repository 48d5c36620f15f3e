"""The client's sessions that are musicians: which process runs them, how they end, and how a claim stays with one.

A session of a client has an id that changes under it (``/clear``), and a process that does not. So the process is
what a claim can be followed by (B05): the same one, by pid, start, boot and host, takes its own claims along to its
next id, with a new epoch, and nobody else can. It is the user's process: its end is noticed, and never brought about.
"""

from collections.abc import Callable

from musician.processes.identity import (
    ProcessIdentity,
    host_name,
    is_same_boot,
    is_same_machine,
    is_same_start,
)
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind, Written
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import check_session_id
from musician.protocol.values import as_dict, dataclass
from musician.service.claims import claims_in
from musician.service.rowwork import say, write_entries
from musician.store.port import Store, Tx
from musician.store.queries.clients import Clients
from musician.store.rows import ClientRow, ProcessRow

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
        meet_in(tx, session_id, met)


def client_of(store: Store, session_id: str) -> ClientRow | None:
    """The client of a session; None for one that never claimed, or was no client's."""
    with store.read() as tx:
        return _client(tx, session_id)


def recorded_identity(row: ClientRow | ProcessRow) -> ProcessIdentity:
    return ProcessIdentity(
        pid=row.pid, pgid=row.pgid, started_at_s=row.started_at_s, boot_id=row.boot_id, host=row.host
    )


def client_lives(client: ClientRow, is_running: Callable[[ProcessIdentity], bool]) -> bool | None:
    """Whether the client's session lives; None if that cannot be seen from here.

    A client says when it ends one; if it could not, its process has ended.
    """
    if client.ended_at is not None and client.end_reason != CLEARED:
        return False
    identity = recorded_identity(client)
    if is_same_machine(identity):
        return is_running(identity)
    return False if identity.host == host_name() and not is_same_boot(identity) else None


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
        running = [row for row in clients_in(tx, identity, but="") if row.ended_at is None]
    return running[0].session_id if running else None


def end_client(store: Store, session_id: str, *, reason: str) -> Written:
    """A session has ended in its client: whatever it owns has a dead owner from now on.

    After :data:`CLEARED` the process goes on, and its claims with it (:func:`~musician.service.rebinding.rebind`).
    """
    with store.write() as tx:
        tx.run(Clients.end_client, session_id=session_id, end_reason=reason[:MOST_FAILURE_CHARS])
        return (
            () if reason == CLEARED else _tell(tx, session_id, f"the client's session has ended ({reason})")
        )


def note_client_failure(store: Store, session_id: str, text: str) -> Written:
    """A turn of a session has failed in its client, so that no gate was asked."""
    said = " ".join(text.split())[:MOST_FAILURE_CHARS]
    return tell_conductor(store, session_id, f"the client's turn has failed: {said}")


def warn_client(store: Store, session_id: str, pct: float) -> None:
    """Remember which context threshold a session has been told of, 0 for none (D15)."""
    with store.write() as tx:
        tx.run(Clients.warn_client, session_id=session_id, pct=pct)


def tell_conductor(store: Store, session_id: str, text: str) -> Written:
    """Something became known of a session that its conductor should hear now, of each of its live claims."""
    with store.write() as tx:
        return _tell(tx, session_id, text)


def claims_of_process(store: Store, identity: ProcessIdentity, *, but: str) -> tuple[Claim, ...]:
    """The live claims that exactly this process of a client has made under other ids than ``but``."""
    with store.read() as tx:
        earlier = clients_in(tx, identity, but=but)
        return tuple(claim for client in earlier for claim in claims_in(tx, client.session_id))


def meet_in(tx: Tx, session_id: str, met: Met) -> None:
    """:func:`meet_client` within a transaction of the caller's."""
    tx.run(
        Clients.meet_client,
        session_id=session_id,
        **as_dict(met.identity),
        attended=met.attended,
        hosted=met.hosted,
        transcript_path=met.transcript_path,
        source=met.source,
    )


def _client(tx: Tx, session_id: str) -> ClientRow | None:
    return tx.one(Clients.client, session_id=session_id)


def clients_in(tx: Tx, identity: ProcessIdentity, *, but: str) -> list[ClientRow]:
    """The sessions that exactly this process has run, by ids other than ``but``."""
    return [
        row
        for row in tx.all(Clients.clients_of_process, pid=identity.pid, but=but)
        if (row.boot_id, row.host) == (identity.boot_id, identity.host)
        and is_same_start(row.started_at_s, identity)
    ]


def _tell(tx: Tx, session_id: str, text: str) -> Written:
    """Into the journals, and to the conductor: no submission, no report, only what became known."""
    claims, entry = claims_in(tx, session_id), Entry(kind=EntryKind.NOTE, text=text)
    for claim in claims:
        write_entries(tx, claim, (entry,))
        say(tx, claim.task_id, session_id, MessageType.SYSTEM, text)
    return tuple((claim.task_id, entry) for claim in claims)
