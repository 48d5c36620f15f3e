"""Moves a plan's rows between a repository's database and a file of their own (D32).

Theory. Ids of tasks are unique in a database, so a plan's rows are those that name one of its tasks, or itself. An
archive is a database like any other, with the guards: whatever reads the one reads the other. The file is whole before
the transaction that deletes the rows here is committed, and that commit is the moment of archiving. Killed before,
there is a file that nobody counts, which the next attempt writes anew. Guards forbid all of this: they are dropped and
made anew within the same transaction.

Places in the one order are never given twice: the newest stays, whoever it belongs to.
"""
# ruff: noqa: S608 - generated from the schema's own names

import json
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from musician.protocol.errors import DatabaseUnusable
from musician.store.query import Value
from musician.store.sqlite.faults import as_unusable
from musician.store.sqlite.migrating import all_or_nothing, create_schema, drop_triggers, make_guards, take_up
from musician.store.sqlite.texts import read_bytes

STAYS = frozenset(
    {
        "archived_means",
        "archived_settled",
        "archives",
        "baselines",
        "clients",
        "conductor_sessions",
        "dropped",
        "limits",
        "settings",
    }
)
"""Tables that belong to no plan: to the repository, to an agent's provider, to a client's session."""

_BY_PARENT = {
    "rulings": "journal_id IN (SELECT id FROM journal WHERE {of_tasks})",
    "message_fields": "message_id IN (SELECT id FROM orchestration_messages WHERE {of_tasks})",
}
_OF_TASKS = "task_id IN (SELECT value FROM json_each(:tasks))"
_OF_PLAN = "plan_id = :plan_id"


def move_out(connection: apsw.Connection, plan_id: str, into: Path) -> None:
    """Within a transaction: write the plan's rows into a new database, then delete them here."""
    into.parent.mkdir(parents=True, exist_ok=True)
    beside = into.with_name(f"{into.name}.new")
    beside.unlink(missing_ok=True)
    archive = apsw.Connection(str(beside))
    try:
        create_schema(archive)
        archive.pragma("journal_mode", "DELETE")
        _copy(connection, archive, plan_id)
    finally:
        archive.close()
    os.replace(beside, into)
    _sync(into.parent)
    delete_plan(connection, plan_id)


def move_in(connection: apsw.Connection, plan_id: str, out_of: Path) -> tuple[str, ...]:
    """Within a transaction: take the plan's rows back. The file stays, for whoever commits to delete.

    Returns the ids that are in use here: then nothing was taken. Ids that differ in case only are the same (U11).
    """
    archive = _opened(out_of, plan_id)
    try:
        take_up(archive)  # it may be older than this program
        taken = connection.execute(
            "SELECT task_id FROM orchestration_tasks WHERE task_id COLLATE NOCASE IN"
            " (SELECT value FROM json_each(:tasks)) OR plan_id = :plan_id ORDER BY task_id",
            _named(archive, plan_id),
        ).fetchall()
        if taken:
            return tuple(str(task_id) for (task_id,) in taken)
        drop_triggers(connection)
        _copy_rows(archive, connection, plan_id)
        make_guards(connection)
        return ()
    finally:
        archive.close()


def _opened(archive: Path, plan_id: str) -> apsw.Connection:
    """Open an archive that is whole. What is wrong with it is not said of the repository's own database."""
    try:
        connection = apsw.Connection(str(archive), flags=apsw.SQLITE_OPEN_READWRITE)
        if connection.pragma("quick_check") != "ok":
            raise apsw.CorruptError
        return connection
    except apsw.Error as error:
        fault = as_unusable(error, archive)
        remedy = (
            f"put a whole one there; without it the plan can only be dropped: musician plan drop {plan_id}"
        )
        raise DatabaseUnusable(
            path=fault.path, kind=fault.kind, detail=fault.detail, remedy=remedy
        ) from error


def delete_plan(connection: apsw.Connection, plan_id: str) -> None:
    drop_triggers(connection)
    named = _named(connection, plan_id)
    found = list(_rows(connection))
    for table, where in sorted(found, key=lambda each: each[0] not in _BY_PARENT):
        newest = " AND seq < (SELECT max(seq) FROM changes)" if table == "changes" else ""
        connection.execute(f"DELETE FROM {table} WHERE {where}{newest}", named)
    make_guards(connection)


def _copy(source: apsw.Connection, target: apsw.Connection, plan_id: str) -> None:
    with all_or_nothing(target):
        drop_triggers(target)
        _copy_rows(source, target, plan_id)
        make_guards(target)


def _copy_rows(source: apsw.Connection, target: apsw.Connection, plan_id: str) -> None:
    named = _named(source, plan_id)
    for table, where in _rows(source):
        columns = [name for name in _columns(target, table) if name in _columns(source, table)]
        asked = f"SELECT {', '.join(columns)} FROM {table} WHERE {where}"
        try:
            rows = source.execute(asked, named).fetchall()
        except UnicodeDecodeError:
            rows = read_bytes(source, asked, named)[1]
        again = " OR IGNORE" if table == "changes" else ""  # its newest may have stayed
        places = ", ".join("?" * len(columns))
        target.executemany(f"INSERT{again} INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)


def _named(connection: apsw.Connection, plan_id: str) -> dict[str, Value]:
    tasks = connection.execute("SELECT task_id FROM orchestration_tasks WHERE plan_id = ?", (plan_id,))
    return {"plan_id": plan_id, "tasks": json.dumps([task_id for (task_id,) in tasks])}


def _rows(connection: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Each table that has rows of plans, and which of them are this one's."""
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    ).fetchall()
    for table in sorted(str(name) for (name,) in tables):
        columns = _columns(connection, table)
        if table in STAYS:
            continue
        if table in _BY_PARENT:
            yield table, _BY_PARENT[table].format(of_tasks=_OF_TASKS)
        elif "task_id" in columns:
            yield table, _OF_TASKS
        elif "plan_id" in columns:
            yield table, _OF_PLAN
        else:
            raise LookupError(f"{table}: say in archiving.py whose its rows are")


def _columns(connection: apsw.Connection, table: str) -> tuple[str, ...]:
    return tuple(
        str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    )


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
