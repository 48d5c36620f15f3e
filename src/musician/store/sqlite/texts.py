"""Text is bytes: what is no UTF-8 is shown with replacement characters, and whoever reads it goes on (D39).

SQLite stores under "text" whatever it is given, and apsw refuses to make a string of what is none. So a query that
meets such a value is asked once more, for the bytes; one that would write half a character writes U+FFFD instead.
Where all is text, nothing of this costs anything.
"""

# ruff: noqa: S608 - around queries of our own
from collections.abc import Mapping
from types import MappingProxyType

import apsw

from musician.store.query import Value


def read_bytes(
    connection: apsw.Connection, sql: str, parameters: Mapping[str, Value] = MappingProxyType({})
) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
    """Columns and rows of a query that reads, each text made of its bytes."""
    inner = sql.rstrip().rstrip(";")
    names = _names(connection, f"SELECT * FROM ({inner}\n)", parameters)
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    asked = ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in quoted
    )
    rows = connection.execute(f"SELECT {asked} FROM ({inner}\n)", parameters)
    return names, [tuple(map(_readable, row)) for row in rows]


def whole(parameters: Mapping[str, Value]) -> dict[str, Value]:
    """The same values, with U+FFFD for each half of a character."""
    return {
        name: value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(value, str)
        else value
        for name, value in parameters.items()
    }


def _names(connection: apsw.Connection, sql: str, parameters: Mapping[str, Value]) -> tuple[str, ...]:
    found: list[str] = []

    def note(cursor: apsw.Cursor, _statement: str, _bindings: object) -> bool:
        found.extend(column[0] for column in cursor.get_description())
        return True

    cursor = connection.cursor()
    cursor.exec_trace = note
    cursor.execute(f"{sql} LIMIT 0", parameters)
    return tuple(found)


def _readable(value: Value) -> Value:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
