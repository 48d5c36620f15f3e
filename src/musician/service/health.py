"""Whether the clock that wrote the database is plausible, for ``doctor``."""

from musician.store.port import Store
from musician.store.queries.health import Health


def ahead_of_clock_s(store: Store) -> float:
    """How far the newest time in the database lies in the future; 0 if it does not."""
    with store.read() as tx:
        return tx.only(Health.ahead_of_clock_s)
