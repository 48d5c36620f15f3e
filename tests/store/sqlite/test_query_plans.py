"""No query reads a table that grows with every plan from end to end, but for those named here with a reason."""

import re
from collections.abc import Mapping

import apsw
import pytest

from musician.store.sqlite.named import load_queries
from musician.store.sqlite.store import SqliteStore

MAY_SCAN: Mapping[str, str] = {
    "newest_seq": "the last row alone",
    "moment": "the last row of the order alone",
    "current_plans": "from the end, until something has a plan",
    "has_tasks": "until the first",
    "proposals": "from the end, as many as are asked for",
    "needs_human": "an index of what is open alone",
    "open_tasks": "an index of what is open alone",
    "tasks_at_hand": "indexes of what is open alone",
    "archives": "a row for each archived plan, all of them listed",
    "dropped": "a row for each dropped plan that something is left of",
    "count_plans": "an index, one entry a plan",
    "pauses": "an index of what lasts alone",
    "plans": "everything is what `status --all` asks for",
    "keep_means_of_today": "what indexes have found",
    "means_of_tasks": "what indexes have found",
    "means_of_today": "what indexes have found",
    "keep_settlements": "once in a database's life, when it is taken up",
    "order_the_rest": "once in a database's life, when it is taken up",
    "ahead_of_clock_s": "everything is what `doctor` asks for",
}

SMALL = frozenset({"settings", "sqlite_sequence", "limits", "conductor_sessions"})
"""They hold a row for each thing that the program knows, or each agent that a plan names."""

_COMMENT = re.compile(r"--.*$", re.MULTILINE)
_PARAMETER = re.compile(r":([a-z_]\w*)")
_SCANNED = re.compile(r"(?:SCAN|SEARCH) (\w+)(?: USING [A-Z ]+\w*)?$")  # no condition in brackets behind it


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    connection = SqliteStore.create(tmp_path_factory.mktemp("plans") / "comms.db").connection
    connection.config(apsw.SQLITE_DBCONFIG_TRIGGER_EQP, 1)
    return connection


def scans(database: apsw.Connection, sql: str) -> set[str]:
    """What it reads from end to end, the triggers it fires included."""
    values = dict.fromkeys(_PARAMETER.findall(_COMMENT.sub("", sql)))
    found = (_SCANNED.match(row[3]) for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values))
    return {each[1] for each in found if each and each[1] not in SMALL | {"CONSTANT"}}


@pytest.mark.parametrize("name", sorted(name for name, sql in load_queries().items() if "PRAGMA" not in sql))
def test_no_query_reads_all_of_what_grows(database: apsw.Connection, name: str) -> None:
    """DATA-9: as ``EXPLAIN QUERY PLAN`` says, without statistics, for every statement and the guards it sets off."""
    found = scans(database, load_queries()[name])
    assert bool(found) == (name in MAY_SCAN), found


def test_a_scan_is_seen(database: apsw.Connection) -> None:
    assert scans(database, "SELECT * FROM history h WHERE h.who = :who") == {"h"}
    assert scans(database, "SELECT * FROM history WHERE task_id = :task_id") == set()
