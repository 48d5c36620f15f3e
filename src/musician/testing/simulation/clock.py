"""Sets the database's clock to the simulation's, by replacing SQLite's date functions."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import apsw

from musician.store.query import Value

_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
_MOST_KEPT = 64


def set_clock(connection: apsw.Connection, now_s: Callable[[], float]) -> None:
    """Make "now" on this connection ``now_s`` seconds after the simulation's beginning."""
    plain = apsw.Connection(":memory:")
    for name in _FUNCTIONS:
        connection.create_scalar_function(name, _dated(plain, name, now_s), -1, flags=apsw.SQLITE_INNOCUOUS)


def _dated(plain: apsw.Connection, name: str, now_s: Callable[[], float]) -> Callable[..., Value]:
    """Return SQLite's function ``name``, cached by arguments, because each look asks for the age of
    everything.
    """

    @lru_cache(maxsize=_MOST_KEPT)
    def work_out(*given: Value) -> Value:
        marks = ",".join("?" * len(given))
        return plain.execute(f"SELECT {name}({marks})", given).fetchall()[0][0]  # a name of ours

    def answer(*arguments: Value) -> Value:
        given = arguments or ("now",)
        return work_out(*(_date(now_s()) if each == "now" else each for each in given))

    return answer


@lru_cache(maxsize=_MOST_KEPT)
def _date(at_s: float) -> str:
    return (_BEGIN + timedelta(seconds=at_s)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
