"""Whether the database's times are plausible."""

from musician.store.query import Query


class Health:
    ahead_of_clock_s = Query(float)
