"""The live table at any size, and what it leaves out first."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from musician import service
from musician.cli.run_table import LiveTable, final_table
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.events import Reporter
from musician.reporting.standing import Standing, standings_of
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore

Walk = Callable[..., Claim | None]

LONGEST = "t" + "0123456789" * 6 + "end"


def program(task_id: str) -> Program:
    step = Play(item="step 1", title="Do", prose="", scripts=(), step=1)
    piece = Play(item="step 2 agent 1", title="Draw", prose="", scripts=(), step=2, is_agent=True)
    check = CheckpointItem(
        item="checkpoint 1", number=1, of=1, title="ok", commands=(), rework=(), final=True
    )
    return Program(task_id=task_id, title="t", items=(step, piece, check))


def table_of(store: Store) -> LiveTable:
    rows = service.tasks_of(store)
    made = LiveTable(Reporter(plan_id="greeter", store=store), plan_id="greeter", title="Greet people ✓")
    programs = {row.task_id: program(row.task_id) for row in rows}
    made.show(standings_of([service.task_view(store, row.task_id) for row in rows], programs))
    return made


def plain(frame: list[str]) -> str:
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", line) for line in frame)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> LiveTable:
    """Forty tasks in all states there are, one with the longest id there may be, six of them in need."""
    store = SqliteStore.create(tmp_path_factory.mktemp("crowd") / "comms.db")
    for number in range(1, 40):
        task_id = f"task-{number:02d}"
        service.open_task(store, task_id, title=f"Task {number} — an ordinary title", instruction_path="i.md")
        if number % 3 == 0:
            claim = service.claim(store, task_id, f"s{number}", settings=Settings()).claim
            service.record(store, claim, Entry(kind=EntryKind.STARTED, item="step 1", context_pct=42))
        if number % 6 == 0:
            service.ask_human(store, task_id, kind="question", subject_id=1, text="may I? " * 40)
    service.open_task(store, LONGEST, title="Z" * 300, instruction_path="i.md")
    service.claim(store, LONGEST, "s0", settings=Settings())
    return table_of(store)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(width=st.integers(20, 220), height=st.integers(5, 70))
def test_a_frame_never_outgrows_its_terminal(crowd: LiveTable, width: int, height: int) -> None:
    frame = crowd.frame(width, height)
    assert len(frame) <= height
    assert max(cell_len(line) for line in plain(frame).split("\n")) <= width


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(width=st.integers(40, 220))
def test_an_id_is_folded_and_never_cut(crowd: LiveTable, width: int) -> None:
    text = plain(crowd.frame(width, 500))
    first_column = "".join(line.split("  ")[0] for line in text.split("\n"))
    assert LONGEST in first_column
    assert "task-38" in text


def test_what_does_not_fit_is_counted_and_what_needs_a_person_stays(crowd: LiveTable) -> None:
    text = plain(crowd.frame(100, 40))
    for number in (6, 12, 18, 24, 30, 36):
        assert re.search(f"^task-{number:02d} +working", text, re.MULTILINE)
    assert "more: " in text
    assert "watching" in text.split("more: ")[1]
    assert '    musician send task-06 "your answer"' in text
    assert "and 2 more: musician review list" in text


@pytest.fixture
def one(store: Store, walk: Walk) -> Callable[[State], str]:
    def show(state: State) -> str:
        walk(store, "task-01", state)
        return plain(table_of(store).frame(140, 30))

    return show


@pytest.mark.parametrize("state", list(State))
def test_every_state_is_a_word(one: Callable[[State], str], state: State) -> None:
    assert f"task-01  {state} " in one(state)


def test_the_bar_counts_items_and_the_step_is_the_next_one(store: Store) -> None:
    service.open_task(store, "task-01", title="t", instruction_path="i.md")
    claim = service.claim(store, "task-01", "s1", settings=Settings()).claim

    def row() -> str:
        return next(line for line in plain(table_of(store).frame(100, 30)).split("\n") if "working" in line)

    assert "step 1 of 2" in row()
    service.record(store, claim, Entry(kind=EntryKind.COMPLETED, item="step 1", context_pct=30))
    assert "step 2 agent 1" in row()
    assert "30%" in row()
    service.record(store, claim, Entry(kind=EntryKind.RETURNED, item="step 2 agent 1"))
    assert "checkpoint 1 of 1" in row()


def test_a_task_the_plan_does_not_know_has_no_progress(store: Store) -> None:
    service.open_task(store, "task-01", title="t", instruction_path="i.md")
    table = LiveTable(Reporter(plan_id="greeter", store=store), plan_id="greeter", title="")
    table.show((Standing(service.task_view(store, "task-01")),))
    assert "task-01  watching" in plain(table.frame(100, 30))


def test_a_frame_that_has_not_changed_is_not_drawn_again(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from musician.cli import run_table

    service.open_task(store, "task-01", title="t", instruction_path="i.md")
    monkeypatch.setattr(run_table, "duration", lambda _: "0:00")
    table = table_of(store)
    assert "task-01" in capsys.readouterr().out
    table.tick()
    assert capsys.readouterr().out == ""
    table.close()
    assert capsys.readouterr().out.count("\x1b[2K") > 3
    assert Path(store.name).exists()


@pytest.mark.parametrize("width", [40, 80, 100])
def test_the_hint_below_the_table_is_whole_or_shorter_never_cut(crowd: LiveTable, width: int) -> None:
    last = plain(crowd.frame(width, 24)).splitlines()[-1]
    assert "…" not in last
    assert re.match(r"0 of 40 tasks complete · \d+:\d\d( · |$)", last)
    assert ("Ctrl-C" in last) == (width > 40)


def test_what_was_withdrawn_is_no_part_of_the_plan_any_more(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.COMPLETE)
    service.open_task(store, "task-02", title="gone", instruction_path="i.md")
    service.withdraw(store, "task-02", "out of the plan")
    assert "1 of 1 task complete (1 withdrawn)" in plain(table_of(store).frame(80, 24))
    views = [service.task_view(store, task_id) for task_id in ("task-01", "task-02")]
    rows = final_table([Standing(view) for view in views])
    assert [row[0] for row in rows.rows] == ["task-01"]
