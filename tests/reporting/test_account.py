"""The account of a plan is a fold over its rows."""

import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.messages.feedback import with_points
from musician.protocol.resumption.handoff import DIED
from musician.protocol.rules.deviations import Severity
from musician.protocol.states import State
from musician.reporting.account import SentBack, account_of
from musician.reporting.account_page import page, sections
from musician.reporting.standing import Standing
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.reporting.played import Play, entry, look_at


@pytest.mark.parametrize(
    ("text", "points", "brief"),
    [
        ("say why\nand how", (), "say why …"),
        ("1. no\n2. yes", (), "no; yes"),
        ("please", ("a.py:2: one", "b.py:1: two"), "please: a.py:2: one; b.py:1: two"),
        ("", ("a.py:2: one",), "a.py:2: one"),
        ("1. no", ("a.py:2: one",), "no; a.py:2: one"),
        ("conflict in a.py\n\n- ours\n+ theirs", (), "conflict in a.py …"),
    ],
)
def test_why_work_was_sent_back_is_told_with_each_point(
    text: str, points: tuple[str, ...], brief: str
) -> None:
    why = with_points(text, points)[0] if points else text
    assert SentBack(task_id="task-01", checkpoint=1, why=why).brief == brief


def test_what_went_otherwise_is_told_with_its_reason(store: Store) -> None:
    play = Play(store)
    play.open()
    play.claim("s1")
    play.write(entry(EntryKind.STARTED, "step 1"), entry(EntryKind.COMPLETED, "step 1"))
    play.submit(1, 2)
    play.judge(State.REVIEW_FAILED, "1. no\ntests")
    play.exit("context exhaustion")
    service.reopen(store, play.task_id)
    play.claim("s2")
    play.write(entry(EntryKind.DEVIATION, "step 2", "by hand", severity=Severity.HIGH))
    account = account_of(None, store, (look_at(store),), plan_id="p", title="T")
    assert [(each.title, each.lines) for each in sections(account)] == [
        ("Sent back", ("task-01 at checkpoint 1: 1. no …",)),
        ("Sessions that ended early", ("musician-task-01: context exhaustion",)),
        ("Open deviations", ("task-01, step 2 (High): by hand",)),
    ]
    (task,) = account.tasks
    assert (task.sessions, task.steps, task.summary, task.size) == (2, 1, "done", None)


def test_the_last_session_of_a_complete_task_has_not_ended_early(store: Store) -> None:
    play = Play(store)
    play.open()
    play.claim("s1")
    play.submit(2, 2)
    play.judge(State.REVIEW_APPROVED, "fine")
    play.complete()
    assert sections(account_of(None, store, (look_at(store),), plan_id="p", title="T")) == ()


def test_the_dead_have_lasted_until_they_were_last_heard_of(store: Store) -> None:
    """An hour in which no run was at work was told as the time of a task."""
    assert isinstance(store, SqliteStore)
    play = Play(store)
    play.open()
    play.claim("s1")
    store.connection.execute("UPDATE sessions SET started_at = '2026-01-01 10:00:00'")
    store.connection.execute("UPDATE orchestration_tasks SET last_heartbeat = '2026-01-01 10:00:04'")
    service.fence(store, play.task_id, epoch=play.owner.epoch)
    service.take_over(store, play.task_id, "go on", reason=DIED)
    (task,) = account_of(None, store, (look_at(store),), plan_id="p", title="T").tasks
    assert task.took_s == 4


@pytest.mark.parametrize("heard", ["2999-01-01 00:00:00", "2020-01-01 00:00:00", "no time", None])
def test_who_was_last_heard_of_at_no_possible_time_has_ended_now(store: Store, heard: str | None) -> None:
    assert isinstance(store, SqliteStore)
    play = Play(store)
    play.open()
    play.claim("s1")
    store.connection.execute("UPDATE orchestration_tasks SET last_heartbeat = ?", (heard,))
    service.fence(store, play.task_id, epoch=play.owner.epoch)
    service.take_over(store, play.task_id, "go on", reason=DIED)
    view = look_at(store).view
    (session,) = view.sessions
    assert session.started_at <= (session.ended_at or "") <= view.at


def test_no_text_breaks_the_page(store: Store) -> None:
    service.open_task(store, "task-01", title="a | b\n# c ``` <script>", instruction_path="x")
    account = account_of(
        None, store, (Standing(service.task_view(store, "task-01")),), plan_id="p", title="T\n# x"
    )
    text = page(account, "ends ```` so", [("a `tick`", "x `y` ``z``")])
    lines = text.splitlines()
    assert lines[0] == "# T \\# x"
    assert lines[2:5] == ["`````text", "ends ```` so", "`````"]
    assert [line for line in lines if line.startswith("| task-01")] == [
        "| task-01 | a \\| b \\# c \\`\\`\\` \\<script\\> | watching |  | 0 | 0 | 0 |  |"
    ]
    assert "``` x `y` ``z`` ```" in text
