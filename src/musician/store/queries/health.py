"""Whether the database is sound."""

from musician.store.query import Query


class Health:
    quick_check = Query(str)
    ahead_of_clock_s = Query(float)
