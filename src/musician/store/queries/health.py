"""Whether the database is sound."""

from musician.store.query import Query


class Health:
    ahead_of_clock_s = Query(float)
