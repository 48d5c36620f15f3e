"""The session of a client in which a person conducts: what it says is ``task-00``'s, and no other session's is.

One at a time for a repository. It is not the run, which holds the row ``task-00``: the run goes on without it, and it
without a run. Who asks to conduct while it lives is told who does; one that is dead is replaced. A musician's session
cannot be it, nor one that has played a task of a plan that is still here: whoever plays does not judge.
"""

import json
from collections.abc import Callable, Iterable

from musician.protocol.errors import ConductorTaken, NotConducting
from musician.protocol.names import CONDUCTOR, check_session_id
from musician.service.claims import claims_in
from musician.service.clients import Met, meet_in
from musician.store.port import Store, Tx
from musician.store.queries.clients import Clients, ConductorSessionRow
from musician.store.queries.sessions import Sessions
from musician.store.rows import ClientRow

Lives = Callable[[ClientRow], bool | None]
"""Whether the process of a client lives; None if that cannot be seen from here."""


def begin_conducting(store: Store, session_id: str | None, met: Met, *, lives: Lives) -> None:
    """Have the session conduct from now on.

    Raises :class:`ConductorTaken` while another one lives, and :class:`NotConducting` for a musician's.
    """
    session = check_session_id(session_id)
    with store.write() as tx:
        _refuse_musician(tx, session)
        current = _current(tx)
        if current is not None and current.session_id != session:
            client = tx.one(Clients.client, session_id=current.session_id)
            if client is not None and lives(client) is not False:
                raise ConductorTaken(
                    session_id=current.session_id, since=current.since, pid=client.pid, host=client.host
                )
        meet_in(tx, session, met)
        if current is None or current.session_id != session:
            tx.run(Clients.conduct, session_id=session)
        tx.ring(CONDUCTOR)


def conducting_session(store: Store) -> ConductorSessionRow | None:
    with store.read() as tx:
        return _current(tx)


def check_conducts(store: Store, session_id: str) -> None:
    """Raise :class:`NotConducting` unless it is the session that conducts, and plays nothing."""
    with store.read() as tx:
        _refuse_musician(tx, session_id)
        current = _current(tx)
    if current is None or current.session_id != session_id:
        other = "" if current is None else f"session {current.session_id} does"
        raise NotConducting(session_id=session_id, reason=other or "nobody does")


def leave_conducting(store: Store, session_id: str) -> bool:
    """The session conducts no more; whether it did."""
    with store.write() as tx:
        tx.ring(CONDUCTOR)
        return tx.run(Clients.conduct_no_more, session_id=session_id) == 1


def tell_conductor_session(store: Store, session_id: str, waiting: Iterable[str]) -> frozenset[str]:
    """Return which of the keys the session has not heard of, and note that it has now.

    What does not wait any more is forgotten, so that it can be told again. Nothing is new to a session that does not
    conduct. However many ask at once, each key is returned once.
    """
    keys = frozenset(waiting)
    with store.write() as tx:
        current = _current(tx)
        if current is None or current.session_id != session_id:
            return frozenset()
        told = frozenset(map(str, json.loads(current.told)))
        if keys != told:
            tx.run(Clients.tell_conductor, session_id=session_id, told=json.dumps(sorted(keys)))
        return keys - told


def move_conductor_in(tx: Tx, earlier: Iterable[str], session_id: str) -> bool:
    """The process goes on under another session id: whether one of its earlier ones conducted, as this one does now."""
    current = _current(tx)
    if current is None or current.session_id not in set(earlier):
        return False
    tx.run(Clients.conduct, session_id=session_id)
    return True


def _refuse_musician(tx: Tx, session_id: str) -> None:
    if claims := claims_in(tx, session_id):
        raise NotConducting(session_id=session_id, reason=f"it plays {claims[0].task_id}")
    for played in tx.all(Sessions.tasks_of_session, session_id=session_id):
        reason = f"it has played {played}, and who has played does not judge: open another session"
        raise NotConducting(session_id=session_id, reason=reason)


def _current(tx: Tx) -> ConductorSessionRow | None:
    return tx.one(Clients.conductor_session)
