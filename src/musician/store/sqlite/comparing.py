"""The schema that is against the one it should be, object by object: what somebody dropped, altered or added.

Whoever has the file can drop a guard (D6), and nothing that is written afterwards would show it. What should be there
is made in memory and compared by its text, comments and spacing aside.
"""

import re
from collections.abc import Mapping

import apsw

from musician.store.sqlite.migrating import create_schema

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|\w+|[^\w\s]")


def objects(connection: apsw.Connection) -> Mapping[str, str]:
    """Every table, index and trigger as ``kind name``, with its text in one spelling."""
    found = connection.execute(
        "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
    )
    return {str(name): _one_spelling(str(sql)) for name, sql in found}


def differences(connection: apsw.Connection) -> tuple[str, ...]:
    """One line for each object that is not as this program would make it; none where all are."""
    fresh = apsw.Connection(":memory:")
    try:
        create_schema(fresh)
        should = objects(fresh)
    finally:
        fresh.close()
    found = objects(connection)
    return (
        *(f"{name} is missing" for name in should if name not in found),
        *(f"{name} is altered" for name in should if name in found and found[name] != should[name]),
        *(f"{name} is foreign" for name in found if name not in should),
    )


def _one_spelling(sql: str) -> str:
    return " ".join(token for token in _TOKEN.findall(sql) if not token.startswith("--"))
