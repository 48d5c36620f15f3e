"""The guards hold on PostgreSQL as they do on SQLite: said once, they refuse the same, in the same words (DESIGN 5)."""

# ruff: noqa: S608 - raw SQL is the point
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.protocol.transitions import TABLE, targets
from musician.store.guards import guards
from musician.store.guards.bounds import COUNTED
from musician.store.guards.guard import Refuse
from musician.store.sqlite.store import SqliteStore
from tests.conftest import walk_to
from tests.store.postgres import dialect
from tests.store.postgres.server import Postgres, running

_TYPES = {"INTEGER": "bigint", "REAL": "double precision"}
_NUMBERED = {**dict.fromkeys((*COUNTED, "usage"), "id"), "changes": "seq"}
_TIMES = (
    *("timestamp", "at", "last_heartbeat", "started_at", "ended_at", "created_at", "completed_at"),
    *("locked_at", "resumed_at"),
)
_LOOKED_AT = ("orchestration_tasks", "orchestration_messages", "history", "sessions", "orders", "changes")
_LOOKED_AT_TOO = ("plans", "plan_pauses", "settlements")
OLD = "2020-02-02 02:02:02"

ATTEMPT = """
CREATE FUNCTION attempt(says text[], looks text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one text; line text; changed bigint; told text[] := '{}';
BEGIN
    FOREACH one IN ARRAY says LOOP
        EXECUTE one;
        GET DIAGNOSTICS changed = ROW_COUNT;
        told := told || changed::text;
    END LOOP;
    FOREACH one IN ARRAY looks LOOP
        FOR line IN EXECUTE one LOOP told := told || line; END LOOP;
    END LOOP;
    RAISE EXCEPTION 'undone';
EXCEPTION WHEN OTHERS THEN
    RETURN to_json(CASE WHEN SQLERRM = 'undone' THEN told ELSE told || SQLERRM END);
END $$;
"""
"""What each statement changed, and how the tables are then; or what it was refused with. Nothing of it stays."""


def attempts() -> Iterator[tuple[str, ...]]:
    """Every pair of states, bare and with all that may come along; and every way around them."""
    for source in State:
        for target in State:
            yield from _changes(f"from-{source}", target)
    for path in _conductors_paths().values():
        for target in State:
            yield (*path, _become(CONDUCTOR, target))
            yield (
                *path,
                _become(CONDUCTOR, target, "session_id = 'newcomer', claim_epoch = claim_epoch + 1"),
            )
    for state in State:
        yield (f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('another', '{state}')",)
        yield (f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('from-working', '{state}')",)
        yield (
            (
                "INSERT INTO orchestration_tasks (task_id, state, session_id)"
                f" VALUES ('fallback-me', '{state}', 'me')"
            ),
            _become("fallback-me", State.WATCHING),
        )
    yield from ((each,) for each in DETOURS)
    for state in State:
        into = f"UPDATE orchestration_tasks SET plan_id = 'band' WHERE task_id = 'from-{state}'"
        claims = _become(f"from-{state}", State.WORKING, "session_id = 'newcomer'")
        goes_on = _become(f"from-{state}", State.WORKING)
        for paused in (_PAUSE, _PAUSE.replace("'band'", "'another'")):
            yield into, paused, claims
            yield into, paused, goes_on
            yield into, paused, claims.replace("'newcomer'", "NULL")
    yield from _pauses()
    asks = "INSERT INTO needs_human (task_id, kind, subject_id, text) VALUES ('from-working', 'question', 1, 'so?')"
    settles = f"UPDATE needs_human SET resolved_at = '{OLD}', resolution = "
    again = "UPDATE needs_human SET resolved_at = NULL, resolution = NULL"
    yield asks, f"{settles} 'yes'", f"{settles} 'no'", again, f"{settles} NULL"
    for table, (columns, values) in ROWS.items():
        row = f"INSERT INTO {table} ({columns}) VALUES ({values})"
        yield row, row
        yield row, f"DELETE FROM {table}"
        for column in columns.split(", "):
            yield row, f"UPDATE {table} SET {column} = {column}"
    unsaid = _become("from-working", State.NEEDS_REVIEW)
    yield unsaid, _become("from-working", State.REVIEW_APPROVED)
    approved = "from-review_approved"
    covers = (
        "INSERT INTO covered (message_id, task_id, tree_id, entry_id, changed_files)"
        " SELECT message_id, task_id, 't', 0, 1 FROM history"
        f" WHERE task_id = '{approved}' AND message_type = 'completion'"
    )
    plays = (
        "INSERT INTO journal (task_id, claim_epoch, session_id, kind)"
        f" VALUES ('{approved}', 1, 'me', 'completed')"
    )
    yield covers, plays, _become(approved, State.COMPLETE)


def _pauses() -> Iterator[tuple[str, ...]]:
    into = "UPDATE orchestration_tasks SET plan_id = 'band' WHERE task_id = 'from-watching'"
    resume = f"UPDATE plan_pauses SET resumed_at = '{OLD}', resumed_by = 'bob'"
    claim = _become("from-watching", State.WORKING, "session_id = 'newcomer'")
    finish = f"UPDATE plans SET finished_at = '{OLD}' WHERE plan_id = 'band'"
    yield into, _PAUSE, _PAUSE, claim, resume, claim
    yield into, _PAUSE, finish, claim, _PAUSE
    yield _PAUSE, resume, resume
    yield _PAUSE, f"{resume}, reason = 'another'"
    yield _PAUSE, "UPDATE plan_pauses SET plan_id = 'another'"
    yield ("INSERT INTO plan_pauses (plan_id) VALUES ('nobody')",)
    yield (f"INSERT INTO plan_pauses (plan_id, resumed_at) VALUES ('band', '{OLD}')",)


def _changes(task_id: str, target: State) -> Iterator[tuple[str, ...]]:
    age = f"UPDATE orchestration_tasks SET last_heartbeat = '{OLD}' WHERE task_id = '{task_id}'"
    claim = f"session_id = 'newcomer', last_heartbeat = '{OLD}'"
    types = sorted({kind for row in TABLE if row.target is target for kind in row.messages})
    for also in ("", claim, "session_id = NULL", "session_id = 'null'", "claim_epoch = claim_epoch + 1"):
        yield (_become(task_id, target, also),)
        yield (age, _become(task_id, target, also))
    for who in (CONDUCTOR, "session-1"):
        for kind in types:
            yield (_say(task_id, who, kind), _become(task_id, target))
            yield (_become(task_id, target), _say(task_id, who, kind))
            yield (age, _say(task_id, who, kind), _become(task_id, target, "session_id = NULL"))


def _become(task_id: str, state: str, also: str = "") -> str:
    with_it = f", {also}" if also else ""
    return f"UPDATE orchestration_tasks SET state = '{state}'{with_it} WHERE task_id = '{task_id}'"


def _say(task_id: str, who: str, kind: str) -> str:
    return (
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        f" VALUES ('{task_id}', '{who}', '{kind}', 'so be it')"
    )


def _conductors_paths() -> dict[State, tuple[str, ...]]:
    """The statements that bring the conductor's row to each state it can have."""
    begins = "INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-00', '{}')"
    paths: dict[State, tuple[str, ...]] = {
        state: (begins.format(state),) for state in targets(None, conductor=True)
    }
    for state in (todo := list(paths)):
        for target in targets(state, conductor=True):
            if target not in paths:
                paths[target] = (*paths[state], _become(CONDUCTOR, target))
                todo.append(target)
    return paths


_PAUSE = "INSERT INTO plan_pauses (plan_id, who, reason) VALUES ('band', 'ada', 'lunch')"

DETOURS = [
    *(f"DELETE FROM {table}" for table in (*_LOOKED_AT, "journal", "documents", "verifications")),
    *(f"UPDATE {table} SET task_id = 'other'" for table in (*_LOOKED_AT, "journal", "documents", "verifications")),
    *(f"UPDATE orchestration_tasks SET claim_epoch = claim_epoch + {by}" for by in (-1, 1, 2)),
    *(f"UPDATE orchestration_tasks SET retry_count = {count}" for count in (-1, 3, 1_000_001)),
    "UPDATE orchestration_tasks SET session_id = 'thief' WHERE task_id = 'from-working'",
    "UPDATE orchestration_tasks SET last_heartbeat = '2020-02-02 02:02:02' WHERE task_id = 'from-watching'",
    "INSERT INTO changes (seq, task_id, source, id) VALUES (999, 'from-working', 'state', 1)",
    ("INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
    " VALUES ('from-working', 'working', 'complete', 'me', 1)"),
    "UPDATE history SET message_id = 1, message_type = 'approval'",
    "INSERT INTO sessions (task_id, claim_epoch, session_id, number) VALUES ('from-working', 9, 'me', 2)",
    "INSERT INTO sessions (task_id, claim_epoch, session_id, number) VALUES ('from-working', 1, 'me', 2)",
    "UPDATE orchestration_messages SET message = 'other'",
    *(
        "INSERT INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        f" VALUES ({number}, 'from-working', 'me', 'note', 'it')"
        for number in (1, 500, 99_000_000)
    ),
    _say("from-working", CONDUCTOR, "instruction"),
    _say("from-working", CONDUCTOR, "pause"),
    _say("from-working", "me", "claim_blocked"),
]  # fmt: skip


ROWS = {
    "journal": (
        "id, task_id, claim_epoch, session_id, kind",
        "(SELECT max(id) + 1 FROM journal), 'from-working', 1, 'me', 'note'",
    ),
    "rulings": ("journal_id, message_id", "1, 1"),
    "message_fields": ("message_id, fields", "99, '{}'"),
    "opinions": ("submission_id, task_id, text, ruled", "1, 'from-working', 'well', '[]'"),
    "proposals": (
        "id, task_id, claim_epoch, session_id, type, title, path, document_id, message_id",
        "1, 'from-working', 1, 'me', 'a', 'b', 'c', 1, 1",
    ),
    "plan_pauses": ("id, plan_id", "1, 'band'"),
    "signatures": ("seq, task_id, name", "1, 'from-working', 'ada'"),
    "settlements": ("seq, task_id, resolution, at", f"1, 'from-working', 'yes', '{OLD}'"),
}
"""One of a table that keeps what it has, and that the walks leave empty."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A task in every state, each brought there by the service."""
    with closing(SqliteStore.create(tmp_path / "comms.db")) as store:
        for state in State:
            walk_to(store, f"from-{state}", state)
        for name in ("band", "another"):
            store.connection.execute(
                "INSERT INTO plans (plan_id, path, title, sha256, text, base_commit) VALUES (?, '', '', '', '', '')",
                (name,),
            )
        yield store.connection


def test_postgresql_does_with_every_change_what_sqlite_does(
    sqlite: apsw.Connection, postgres: Postgres
) -> None:
    tried = tuple(attempts())
    looks = tuple(_look(sqlite, table) for table in (*_LOOKED_AT, *_LOOKED_AT_TOO))
    by_sqlite = [_attempt(sqlite, says, looks) for says in tried]
    postgres.say("\n".join((dialect.FUNCTIONS, *_copied(sqlite), *dialect.guard_statements(), ATTEMPT)))
    asked = "\n".join(f"SELECT attempt(ARRAY[{_texts(says)}], ARRAY[{_texts(looks)}]);" for says in tried)
    by_postgres = [json.loads(line) for line in postgres.say(asked).splitlines()]
    assert len(by_postgres) == len(tried)
    for says, ours, theirs in zip(tried, by_sqlite, by_postgres, strict=True):
        assert theirs == ours, says
    heard = {told[-1] for told in by_sqlite}
    assert not {name for name, words in _refusals().items() if words not in heard}, "every guard was met"


def _refusals() -> dict[str, str]:
    """What each guard refuses with; without those of states that the conductor's row has not, of bytes, which
    PostgreSQL does not take as text, and of an id twice, which is below the last one too as long as nobody has written
    into SQLite's own count.
    """
    never = {f"conductor_from_{state}" for state in State if state not in _conductors_paths()}
    never |= {each.name for each in guards() if each.name.endswith("_text")} | {"messages_unique"}
    refusing = ((each.name, each.then) for each in guards() if each.name not in never)
    return {name: f"musician: {then.reason}" for name, then in refusing if isinstance(then, Refuse)}


def _attempt(connection: apsw.Connection, says: tuple[str, ...], looks: tuple[str, ...]) -> list[str]:
    told: list[str] = []
    connection.execute("BEGIN IMMEDIATE")
    try:
        for one in says:
            connection.execute(one)
            told.append(str(connection.changes()))
        for look in looks:
            told += (str(line) for (line,) in connection.execute(look))
    except apsw.Error as error:
        told.append(str(error))
    finally:
        connection.execute("ROLLBACK")
    return told


def _look(connection: apsw.Connection, table: str) -> str:
    """Every row as one text, in an order; without the times, which are the clock's."""
    columns = [name for name, *_ in _columns(connection, table) if name not in _TIMES]
    row = " || '|' || ".join(f"coalesce(CAST({name} AS TEXT), '-')" for name in columns)
    aged = (
        f" || CASE WHEN last_heartbeat = '{OLD}' THEN ' old' ELSE '' END"
        if "last_heartbeat" in columns
        else ""
    )
    return f"SELECT {row}{aged} AS line FROM {table} ORDER BY {row}"


def _columns(connection: apsw.Connection, table: str) -> list[tuple[str, str, int, str | None, int]]:
    facts = f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{table}')"
    return list(connection.execute(facts))


def _copied(connection: apsw.Connection) -> Iterator[str]:
    """The tables and their rows, without the checks: those are the schema's own, and no guards."""
    listed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    for (table,) in list(connection.execute(listed)):
        columns = _columns(connection, str(table))
        parts = [_column(*each) for each in columns]
        if keys := [name for name, *_, number in sorted(columns, key=lambda column: column[4]) if number]:
            parts.append(f"PRIMARY KEY ({', '.join(keys)})")
        yield f"CREATE TABLE {table} ({', '.join(parts)});"
        for row in connection.execute(f"SELECT * FROM {table}"):
            yield f"INSERT INTO {table} VALUES ({', '.join(_literal(value) for value in row)});"
        if key := _NUMBERED.get(str(table)):
            yield f"INSERT INTO counted SELECT '{table}', coalesce(max({key}), 0) FROM {table};"
            yield dialect.counting_statements(str(table), key)


def _column(name: str, kind: str, is_needed: int, default: str | None, _: int) -> str:
    says = f"{name} {_TYPES.get(kind, 'text')}"
    if default is not None:
        says += f" DEFAULT {'utc_now()' if '(' in default else default}"
    return f"{says} NOT NULL" if is_needed else says


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _texts(values: tuple[str, ...]) -> str:
    return ", ".join(_literal(value) for value in values)
