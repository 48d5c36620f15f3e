"""Who has decided, where that was a person, or the session in which one conducts. All else is the program's own.

Theory. A person's verbs do many things: a verdict, an answer, a skip, a grant. So it is not each verb that says who
asked for it: whoever acts for somebody hands in a store that signs. All that one of its transactions does to a task as
its conductor (messages, changes of state, questions that are settled, proposals that are decided) bears the name, or
nothing of it is done. What is signed is the change, by its place in the one order: who settles a question that was
asked again leaves the name of whoever has settled it before. The name is told and grants nothing: whoever has the
database can write any.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from musician.protocol.journal import JUDGED_BY_PERSON
from musician.protocol.values import dataclass
from musician.service.following import Source
from musician.store.port import Store, Tx
from musician.store.queries.changes import Changes
from musician.store.queries.signatures import SignatureRow, Signatures

MOST_NAME_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Who it was: a person by the name of the login, and the session that spoke for him, if one did."""

    name: str
    session_id: str | None = None


def signed(store: Store, signer: Signer) -> Store:
    """Return the same store, whose writing transactions are signed."""
    return cast("Store", _SigningStore(store, signer))


def signers_between(store: Store, seq: int, until: int) -> Mapping[int, Signer]:
    """Return who has signed what happened after ``seq``, up to ``until``, by its place in the order."""
    with store.read() as tx:
        return _by_number(tx.all(Signatures.signed_between, seq=seq, until=until))


def signers_of(store: Store, task_id: str, source: Source, *, most: int) -> Mapping[int, Signer]:
    """Return who has signed the newest ``most`` of a task's messages, or of its changes of state, by their ids."""
    with store.read() as tx:
        return _by_number(tx.all(Signatures.signed_of_task, task_id=task_id, source=source, most=most))


def signer_of(store: Store, task_id: str, message_id: int) -> Signer | None:
    """Return who has signed a message of a task."""
    with store.read() as tx:
        row = tx.one(Signatures.signed_message, task_id=task_id, id=message_id)
        return None if row is None else Signer(name=row.name, session_id=row.session_id)


def judged_by_persons(store: Store, seq: int, until: int) -> frozenset[int]:
    """Return the places of the verdicts that persons gave, or who speaks for one, whether or not they signed."""
    with store.read() as tx:
        return frozenset(tx.all(Signatures.judged_by_persons, note=JUDGED_BY_PERSON, seq=seq, until=until))


def judged_by_agents(store: Store, seq: int, until: int) -> frozenset[int]:
    """Return the places of the verdicts that follow what a reviewing or answering agent has said."""
    with store.read() as tx:
        return frozenset(tx.all(Signatures.judged_by_agents, seq=seq, until=until))


def _by_number(rows: Iterable[SignatureRow]) -> Mapping[int, Signer]:
    return {row.number: Signer(name=row.name, session_id=row.session_id) for row in rows}


class _SigningStore:
    def __init__(self, store: Store, signer: Signer) -> None:
        self._store, self._signer = store, signer

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    @contextmanager
    def write(self) -> Iterator[Tx]:
        with self._store.write() as tx:
            before = tx.only(Changes.newest_seq)
            yield tx
            name = self._signer.name[:MOST_NAME_CHARS]
            tx.run(Signatures.sign, before=before, name=name, session_id=self._signer.session_id)
