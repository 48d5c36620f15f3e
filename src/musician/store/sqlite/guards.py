"""The guards in SQLite's words: one trigger each.

A RAISE takes only literals, and a trigger only functions that every program has, the ``sqlite3`` shell among them. So
what other databases would call is written out. ``IS NOT DISTINCT FROM`` is known to newer shells only.
"""

import re
from functools import cache
from typing import assert_never

from musician.store.guards import guards
from musician.store.guards.guard import Guard, Ignore, Refuse, Write

_WRITTEN = r"replace(replace(replace(\1, char(65533), ''), char(65534), ''), char(65535), '')"
"""U+FFFD itself is text, and so are the two that SQLite also reads as it."""

_SPELLINGS = {
    r"\bIS NOT DISTINCT FROM\b": "IS",
    r"\bIS DISTINCT FROM\b": "IS NOT",
    r"\bLIKE '([^'%]*)%'": r"GLOB '\1*'",  # LIKE would not tell upper from lower case
    r"\bTRUE\b": "1",
    r"\bFALSE\b": "0",
    r"\bCURRENT_TIMESTAMP\b": "datetime('now')",
    r"\bGREATEST\(": "max(",
    r"\bis_given\(([^\s()]+)\)": r"\1 <> -1",  # a BEFORE trigger sees -1 if no id is given
    r"\blast_id\(([^\s()]+)\)": r"coalesce((SELECT seq FROM sqlite_sequence WHERE name = \1), 0)",
    r"\bis_integer\(([^\s()]+)\)": r"typeof(\1) = 'integer'",
    r"\bis_no_text\(([^\s()]+)\)": (
        rf"(typeof(\1) NOT IN ('text', 'null') OR {_WRITTEN} GLOB '*' || char(65533) || '*')"
    ),
    r"\bnames_nobody\(([^\s()]+)\)": (
        r"lower(trim(coalesce(\1, ''), ' ' || char(9, 10, 11, 12, 13))) IN ('', 'null', 'none', 'undefined')"
    ),
    # SQLite would also read 'now' and day numbers as times: only dates count.
    r"\bhas_aged\(([^\s()]+), ([^\s()]+)\)": (
        r"coalesce(\1 GLOB '[0-9][0-9][0-9][0-9]-*' AND datetime(\1) <= datetime('now', '-' ||"
        r" (SELECT value FROM settings WHERE name = \2) || ' seconds'), 0)"
    ),
}


@cache
def guard_statements() -> tuple[str, ...]:
    """Every guard, as one CREATE TRIGGER statement each."""
    return tuple(map(_statement, guards()))


def _statement(guard: Guard) -> str:
    body = "\n".join(f"    {_spelt(statement)};" for statement in _body(guard))
    return f"CREATE TRIGGER {guard.name} {guard.on}\nWHEN {_spelt(guard.when)}\nBEGIN\n{body}\nEND"


def _body(guard: Guard) -> tuple[str, ...]:
    match guard.then:
        case Refuse(reason=reason):
            return (f"SELECT RAISE(ABORT, 'musician: {reason}')",)  # ``faults`` finds the reason by the name
        case Ignore():
            return ("SELECT RAISE(IGNORE)",)
        case Write(statements=statements):
            return statements
        case _:
            assert_never(guard.then)


def _spelt(sql: str) -> str:
    for pattern, ours in _SPELLINGS.items():
        sql = re.sub(pattern, ours, sql)
    return sql
