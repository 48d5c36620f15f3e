"""Finds damage in a database that would go unnoticed, and mends it.

Theory. Guards keep everybody from writing what nobody can go on from; but whoever has the file can drop them, and older
programs had fewer. What they let in stays: it is found here, object by object and row by row, and mended in one
transaction without the guards, which are made anew at its end. Nothing is guessed: ids and epochs go back to what the
rows beside them say, an owner to whom its claim belongs, text to what a reader is shown of it anyway.
"""
# ruff: noqa: S608 - generated from the schema's own names

from collections.abc import Iterator

import apsw

from musician.protocol.states import ACTIVE
from musician.store.guards.bounds import COUNTED
from musician.store.literals import state_list
from musician.store.sqlite.comparing import differences
from musician.store.sqlite.migrating import all_or_nothing, drop_triggers, make_guards
from musician.store.sqlite.named import load_queries

_LAST_ID = 2**53
"""Farther than ids come by counting; what lies beyond has been put there."""

_LAST_EPOCH = 1_000_000_000

_NAMED_IN = {
    "orchestration_messages": (
        ("history", "message_id"),
        ("history", "submission_id"),
        ("receipts", "message_id"),
        ("grants", "message_id"),
        ("grants", "revoked_by"),
        ("rulings", "message_id"),
        ("proposals", "message_id"),
        ("verifications", "submission_id"),
        ("opinions", "submission_id"),
        ("comments", "message_id"),
        ("message_fields", "message_id"),
        ("covered", "message_id"),
        ("orders", "message_id"),
    ),
    "journal": (("rulings", "journal_id"), ("verifications", "journal_id"), ("covered", "entry_id")),
    "documents": (("proposals", "document_id"),),
    "needs_human": (("limits", "ask_id"),),
    "changes": (("signatures", "seq"), ("settlements", "seq")),
}
"""Where the ids of a table are written down elsewhere."""

_KEYS = {**dict.fromkeys(COUNTED, "id"), "changes": "seq"}

_SOURCES = {
    "orchestration_messages": "('message')",
    "history": "('state')",
    "journal": "('journal')",
    "needs_human": "('asked', 'settled')",
    "proposals": "('decided')",
}
"""What the one order calls the rows of a table."""

_DISOWNED = (
    "FROM orchestration_tasks t JOIN sessions s ON s.task_id = t.task_id AND s.claim_epoch = t.claim_epoch"
    f" WHERE s.session_id IS NOT t.session_id AND t.state IN ({state_list(ACTIVE)})"
)
"""An owner that is not the one whose claim it is: a claim's own epoch has a session (D23)."""


def broken(connection: apsw.Connection) -> tuple[str, ...]:
    """One line for each thing that :func:`mend` puts right; tables that are not as they should be cannot be."""
    return (
        *differences(connection),
        *(
            f"the ids of {table} are spent: somebody wrote one of {last}"
            for table, last in _spent(connection)
        ),
        *(f"{task_id} has an epoch of {epoch}" for task_id, epoch in _far_epochs(connection)),
        *(
            f"{task_id} stands under {_shown(session)}, and its claim belongs to {_shown(owner)}"
            for task_id, session, owner in connection.execute(
                f"SELECT t.task_id, CAST(t.session_id AS BLOB), CAST(s.session_id AS BLOB) {_DISOWNED}"
            )
        ),
        *(f"{table}.{column} holds text that is no UTF-8" for table, column, _ in _no_texts(connection)),
    )


def mend(connection: apsw.Connection) -> tuple[str, ...]:
    """Put right what can be; what that was. Behind the gate."""
    with all_or_nothing(connection):
        found = broken(connection)
        if not found:
            return ()
        drop_triggers(connection)
        for table, _ in _spent(connection):
            _count_anew(connection, table)
        far = list(_far_epochs(connection))
        connection.execute("DELETE FROM sessions WHERE claim_epoch > ?", (_LAST_EPOCH,))
        for task_id, _ in far:
            connection.execute(
                "UPDATE orchestration_tasks SET claim_epoch = (SELECT coalesce(max(claim_epoch), 0) FROM sessions s"
                " WHERE s.task_id = orchestration_tasks.task_id) WHERE task_id = ?",
                (task_id,),
            )
        connection.execute(
            "UPDATE orchestration_tasks SET session_id = (SELECT s.session_id FROM sessions s"
            " WHERE s.task_id = orchestration_tasks.task_id AND s.claim_epoch = orchestration_tasks.claim_epoch)"
            f" WHERE task_id IN (SELECT t.task_id {_DISOWNED})"
        )
        for table, column, raw in list(_no_texts(connection)):
            connection.execute(
                f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE CAST("{column}" AS BLOB) = ?',
                (raw.decode("utf-8", "replace"), raw),
            )
        connection.execute(load_queries()["order_the_rest"])
        connection.execute(load_queries()["keep_settlements"])
        make_guards(connection)
        left = broken(connection)
        return tuple(line for line in found if line not in left)


def _spent(connection: apsw.Connection) -> Iterator[tuple[str, int]]:
    for table, key in _KEYS.items():
        last = connection.execute(
            f"SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{table}'), 0),"
            f" coalesce((SELECT max({key}) FROM {table}), 0))"
        ).get
        if isinstance(last, int) and last > _LAST_ID:
            yield table, last


def _count_anew(connection: apsw.Connection, table: str) -> None:
    """The rows that took the last ids get the next ones, wherever they are named."""
    key = _KEYS[table]
    last = connection.execute(
        f"SELECT coalesce(max({key}), 0) FROM {table} WHERE {key} <= ?", (_LAST_ID,)
    ).get
    taken = connection.execute(
        f"SELECT {key} FROM {table} WHERE {key} > ? ORDER BY {key}", (_LAST_ID,)
    ).fetchall()
    named = [(where, f"{column} = ?", column) for where, column in _NAMED_IN.get(table, ())]
    if table in _SOURCES:
        named.append(("changes", f"id = ? AND source IN {_SOURCES[table]}", "id"))
    for new, (old,) in enumerate(taken, start=int(str(last)) + 1):
        for where, is_it, column in ((table, f"{key} = ?", key), *named):
            connection.execute(f"UPDATE {where} SET {column} = ? WHERE {is_it}", (new, old))
    connection.execute(
        f"UPDATE sqlite_sequence SET seq = (SELECT coalesce(max({key}), 0) FROM {table}) WHERE name = '{table}'"
    )


def _far_epochs(connection: apsw.Connection) -> Iterator[tuple[str, int]]:
    found = connection.execute(
        "SELECT task_id, claim_epoch FROM orchestration_tasks WHERE claim_epoch NOT BETWEEN 0 AND ?1"
        " OR task_id IN (SELECT task_id FROM sessions WHERE claim_epoch > ?1)",
        (_LAST_EPOCH,),
    ).fetchall()
    for task_id, epoch in found:
        yield str(task_id), int(str(epoch))


def _no_texts(connection: apsw.Connection) -> Iterator[tuple[str, str, bytes]]:
    """Each table, column and value of bytes that are no text."""
    columns = connection.execute(
        "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite_*' AND c.type = 'TEXT'"
    ).fetchall()
    for table, column in columns:
        values = connection.execute(
            f'SELECT DISTINCT CAST("{column}" AS BLOB) FROM "{table}" WHERE typeof("{column}") IN (\'text\', \'blob\')'
        )
        for (raw,) in values:
            if isinstance(raw, bytes) and not _is_text(raw):
                yield str(table), str(column), raw


def _shown(raw: object) -> str:
    return repr(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
