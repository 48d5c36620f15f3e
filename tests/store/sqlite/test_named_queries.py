"""Named SQL: every query is sound on the schema, has its name once, and uses the indexes made for it."""

import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from musician.store.sqlite import named
from musician.store.sqlite.named import load_queries, load_schema
from musician.store.sqlite.store import SqliteStore

HOT = [
    "task",
    "owned_task",
    "claim_task",
    "beat",
    "move_owned",
    "unread",
    "count_unread",
    "acknowledge",
    "send",
]
"""What every session runs all the time; none of it may look through a whole table (PERFORMANCE)."""


@pytest.mark.parametrize("name", sorted(load_queries()))
def test_a_query_is_sound_on_the_schema(tmp_path: Path, name: str) -> None:
    query = load_queries()[name]
    with closing(SqliteStore.create(tmp_path / "comms.db")) as store:
        given = dict.fromkeys(re.findall(r":([a-z_0-9]+)", query))
        assert len(list(store.connection.execute(f"EXPLAIN {query}", given))) > 0
    assert "/*" not in query


@pytest.mark.parametrize("name", HOT)
def test_a_hot_query_scans_no_table(tmp_path: Path, name: str) -> None:
    query = load_queries()[name]
    with closing(SqliteStore.create(tmp_path / "comms.db")) as store:
        given = dict.fromkeys(re.findall(r":([a-z_0-9]+)", query))
        plan = [str(row[3]) for row in store.connection.execute(f"EXPLAIN QUERY PLAN {query}", given)]
    assert [step for step in plan if step.startswith("SCAN")] == []


def test_a_name_given_twice_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = tmp_path / "queries"
    shutil.copytree(Path(named.__file__).parent / "queries", queries)
    (queries / "zz.sql").write_text("-- name: task\nSELECT 1;\n", encoding="utf-8")
    monkeypatch.setattr(named, "_HERE", tmp_path)
    with pytest.raises(ValueError, match="query task is defined twice"):
        load_queries.__wrapped__()


def test_the_schema_is_filled_from_the_protocol() -> None:
    schema = load_schema()
    assert "'review_approved'" in schema
    assert "/*" not in schema
