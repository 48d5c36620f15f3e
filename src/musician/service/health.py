"""Whether the database is sound and its clock believable, for whoever looks after the machine."""

from musician.protocol.errors import DatabaseUnusable
from musician.store.port import Store
from musician.store.queries.health import Health


def check_integrity(store: Store) -> None:
    """:class:`DatabaseUnusable` with the first fault found."""
    with store.read() as tx:
        found = tx.all(Health.quick_check)
    if found != ["ok"]:
        raise DatabaseUnusable(
            path=str(store.path),
            kind="corrupt",
            detail=f"the database is damaged ({found[0] if found else 'no answer'})",
            remedy="restore it from a copy, or move it away and init anew",
        )


def ahead_of_clock_s(store: Store) -> float:
    """How far the newest time in the database lies in the future; 0 if it does not."""
    with store.read() as tx:
        return tx.only(Health.ahead_of_clock_s)
