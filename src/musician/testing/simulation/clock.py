"""The database's clock, set to the simulation's: what SQLite's own date functions make of "now"."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import apsw

from musician.store.query import Value

_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


def set_clock(connection: apsw.Connection, now_s: Callable[[], float]) -> None:
    """Whatever this connection writes or asks is dated ``now_s`` seconds after the simulation's beginning."""
    plain = apsw.Connection(":memory:")
    for name in _FUNCTIONS:
        connection.create_scalar_function(name, _dated(plain, name, now_s), -1, flags=apsw.SQLITE_INNOCUOUS)


def _dated(plain: apsw.Connection, name: str, now_s: Callable[[], float]) -> Callable[..., Value]:
    def answer(*arguments: Value) -> Value:
        now = (_BEGIN + timedelta(seconds=now_s())).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        given = [now if argument == "now" else argument for argument in arguments or ("now",)]
        marks = ",".join("?" * len(given))
        return plain.execute(f"SELECT {name}({marks})", given).fetchall()[0][0]  # a name of ours

    return answer
