"""Whether the database's clock is believable, for whoever looks after the machine."""

from musician.store.port import Store
from musician.store.queries.health import Health


def ahead_of_clock_s(store: Store) -> float:
    """How far the newest time in the database lies in the future; 0 if it does not."""
    with store.read() as tx:
        return tx.only(Health.ahead_of_clock_s)
