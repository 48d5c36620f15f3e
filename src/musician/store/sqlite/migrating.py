"""Making a database, and making an older one this program's (D40).

Theory. A schema is what ``schema.sql`` says and the guards that ``guards`` derives. Versions only add, so that programs
of the one before can go on: existing tables keep their columns, and new facts get tables of their own; only what no
release has had yet is made anew. So an older database lacks some objects of ``schema.sql``, and what it lacks is
derived, not written down a second time. It is taken up by the first newer program that opens it: in one transaction,
behind the gate, every trigger is dropped, the missing objects are made, and the guards are made anew. Whoever comes
second finds it done. A migrated schema is, object by object, a fresh one; the test that says so fails for a change that
is more than an addition.

Loaded only where there is something to make: a hook that opens a current database pays nothing for it.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw

from musician.protocol.settings import Heartbeat
from musician.store.sqlite.guards import guard_statements
from musician.store.sqlite.named import load_queries, load_schema
from musician.store.sqlite.versions import (
    APPLICATION_ID,
    GUARDS,
    LEAST_VERSION,
    SCHEMA_VERSION,
    standing_of,
)

_RENAMED = (("limits", "provider", "account"),)
"""Table, old and new name of columns that were called otherwise between two releases."""
_MADE_ANEW = {
    "changes": "",
    "signatures": "SELECT max(c.seq), s.task_id, s.name, s.session_id FROM changes c"
    " JOIN signatures_before s ON s.source = c.source AND s.id = c.id GROUP BY s.source, s.id",
}
"""Tables that were made otherwise between two releases; and what their rows are now, where they had other columns.

A signature was of a row, and so of what was done to it last.
"""

_KEEP_PAUSES = """
INSERT INTO plan_pauses (plan_id, who, reason, at)
SELECT plan_id, who, reason, at FROM pauses
WHERE plan_id IN (SELECT plan_id FROM plans WHERE finished_at IS NULL)
  AND plan_id NOT IN (SELECT plan_id FROM plan_pauses WHERE resumed_at IS NULL);
INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
SELECT t.task_id, 'task-00', 'go_on', 'the pause is the plan''s own'
FROM pauses p JOIN orchestration_tasks t ON t.plan_id = p.plan_id
JOIN orchestration_messages m ON m.id = (
    SELECT max(id) FROM orchestration_messages
    WHERE task_id = t.task_id AND from_session = 'task-00' AND message_type IN ('pause', 'go_on'))
WHERE m.message_type = 'pause' AND m.id > p.mark;
DROP TABLE pauses
"""
"""Between two releases a paused plan had a row in ``pauses``, and each of its tasks was told to pause."""


def create_schema(connection: apsw.Connection) -> None:
    """Make what a fresh database has, unless somebody else just did."""
    connection.pragma("journal_mode", "WAL")
    with all_or_nothing(connection):
        if connection.pragma("application_id") != APPLICATION_ID:
            connection.execute(load_schema())
            connection.pragma("application_id", APPLICATION_ID)
            make_guards(connection)


def take_up(connection: apsw.Connection) -> None:
    """Make an older database one of this version, and the guards this program's."""
    with all_or_nothing(connection):
        standing = standing_of(connection)
        if standing.is_newer or standing.is_current:  # somebody else just did
            return
        drop_triggers(connection)
        _rename_columns(connection)
        _make_anew(connection)
        _add_what_is_missing(connection)
        if connection.table_exists(None, "pauses"):
            connection.execute(_KEEP_PAUSES)
        connection.execute(load_queries()["order_the_rest"])
        connection.execute(load_queries()["keep_settlements"])
        make_guards(connection)


def make_guards(connection: apsw.Connection) -> None:
    """Make them anew, whatever triggers there are, and write down what was made. Within a transaction."""
    drop_triggers(connection)
    for statement in guard_statements():
        connection.execute(statement)
    facts = {"schema.version": SCHEMA_VERSION, "schema.guards": GUARDS}
    connection.executemany(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        facts.items(),
    )
    connection.execute(
        "INSERT INTO settings (name, value) VALUES ('heartbeat.stale_after_s', ?) ON CONFLICT DO NOTHING",
        (Heartbeat().stale_after_s,),
    )
    connection.pragma("user_version", LEAST_VERSION)


def _rename_columns(connection: apsw.Connection) -> None:
    for table, old, new in _RENAMED:
        columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        if (old,) in columns:
            # Unquoted: as it is written here it stands in the schema, which is compared with a fresh one.
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")


def _make_anew(connection: apsw.Connection) -> None:
    """Tables that keep every row. Their indexes go, and are then missing."""
    made = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
    columns = "SELECT name FROM pragma_table_info(?)"
    with closing(apsw.Connection(":memory:")) as fresh:
        fresh.execute(load_schema())
        for table, otherwise in _MADE_ANEW.items():
            there, should = (each.execute(made, (table,)).get for each in (connection, fresh))
            if there not in (None, should):
                before, now = (list(each.execute(columns, (table,))) for each in (connection, fresh))
                rows = f"SELECT * FROM {table}_before" if before == now else otherwise  # noqa: S608
                connection.execute(f"ALTER TABLE {table} RENAME TO {table}_before")
                connection.execute(str(should))
                connection.execute(f"INSERT INTO {table} {rows}")
                connection.execute(f"DROP TABLE {table}_before")


def _add_what_is_missing(connection: apsw.Connection) -> None:
    """Tables, indexes and views of a fresh database, in the order in which they are made there."""
    listed = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
    there = {name for name, _ in connection.execute(listed)}
    with closing(apsw.Connection(":memory:")) as fresh:
        fresh.execute(load_schema())
        for name, sql in fresh.execute(listed):
            if name not in there:
                connection.execute(str(sql))


def drop_triggers(connection: apsw.Connection) -> None:
    """All there are, whoever made them."""
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        quoted = str(name).replace('"', '""')
        connection.execute(f'DROP TRIGGER "{quoted}"')


@contextmanager
def all_or_nothing(connection: apsw.Connection) -> Iterator[None]:
    """One transaction, changes of the schema among it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
