"""An archived plan is counted as it was before it was put away."""

from pathlib import Path

import pytest

from musician import service
from musician.protocol.states import State
from musician.reporting.plan_list import list_plans
from musician.reporting.tally import tally_of
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import walk_to
from tests.service.test_plan_verbs import lock, plan, task

IDS = ("task-02", "task-03", "task-04", "task-05")


@pytest.fixture
def played(store: Store) -> SqliteStore:
    """One task is complete, one skipped, one withdrawn, and two are left."""
    assert isinstance(store, SqliteStore)
    lock(store, plan(tuple(map(task, IDS)), plan_id="band"))
    walk_to(store, "task-01", State.COMPLETE)
    store.connection.execute("UPDATE orchestration_tasks SET plan_id = 'band' WHERE task_id = 'task-01'")
    service.skip(store, "task-02", "nobody wants it")
    service.withdraw(store, "task-03", "not in the plan any more")
    return store


def said(store: Store) -> str:
    (only,) = list_plans(store)
    return only.tally.said


def test_an_archived_plan_is_counted_as_before(played: SqliteStore, tmp_path: Path) -> None:
    """PLAN-TALLY: and is again when it is brought back."""
    before = said(played)
    assert before == tally_of(service.tasks_of(played, "band")).said
    assert before == "1 of 3 tasks complete (1 skipped, 1 withdrawn)"
    away = tmp_path / "away.db"
    for _ in range(2):
        service.archive_plan(played, "band", away, abandoned="enough")
        assert said(played) == before
        service.restore_plan(played, "band", away)
        assert said(played) == before
    service.archive_plan(played, "band", away, abandoned="enough")
    service.drop_plan(played, "band")
    assert played.connection.execute("SELECT count(*) FROM archived_settled").get == 0


@pytest.mark.parametrize("counts_all", [True, False], ids=["among its tasks", "left out"])
def test_an_old_archive_is_counted_as_far_as_its_row_tells(
    played: SqliteStore, tmp_path: Path, *, counts_all: bool
) -> None:
    """PLAN-TALLY: what a complete plan has not completed, it did not wait for; of an abandoned one nobody can tell."""
    for left in ("task-04", "task-05"):
        service.skip(played, left, "nor this")
    played.connection.execute("UPDATE plans SET finished_at = datetime('now')")
    assert said(played) == "1 of 1 task complete (3 skipped, 1 withdrawn)"
    service.archive_plan(played, "band", tmp_path / "away.db")
    played.connection.execute("DELETE FROM archived_settled")
    played.connection.execute("UPDATE archives SET tasks = tasks + ?", (4 if counts_all else 0,))
    apart = " (4 skipped or withdrawn)" if counts_all else ""
    assert said(played) == f"1 of 1 task complete{apart}"
    played.connection.execute("UPDATE archives SET abandoned = 'enough'")
    assert said(played) == ("1 of 5 tasks complete" if counts_all else "1 of 1 task complete")
