"""Looking again and again at a plan: what anybody has committed is seen, and what nobody has is not read anew."""

from collections.abc import Callable

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.service import PlanViews, TaskView
from musician.store.sqlite.store import SqliteStore
from musician.testing.simulation.clock import set_clock
from tests.conftest import Walk


def timeless(views: tuple[TaskView, ...]) -> list[TaskView]:
    return [replace(view, at="", quiet_s=None, row=view.row._replace(heartbeat_age_s=None)) for view in views]


def test_whoever_writes_is_seen_at_the_next_look(store: SqliteStore, walk: Walk) -> None:
    """Own verbs, another process's, the sqlite3 shell's, and what leaves no place in the one order."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    other = SqliteStore.open(store.path)
    looking = PlanViews(store, None)
    writes: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "own verb": lambda: service.send(store, "task-01", "go on"),
        "another's": lambda: service.record(other, claim, Entry(kind=EntryKind.NOTE, text="so far")),
        "a receipt": lambda: service.deliver(other, claim, (service.unread(other, "task-01")[-1].id,)),
        "a reading": lambda: service.describe_session(other, claim, agent="shell"),
        "raw": lambda: other.connection.execute("UPDATE orchestration_tasks SET title = 'another'"),
        "a new task": lambda: walk(other, "task-02", State.WATCHING),
        "own raw": lambda: store.connection.execute("UPDATE orchestration_tasks SET title = 'a third'"),
    }
    for who, write in writes.items():
        looking.now()
        write()
        fresh = tuple(service.task_view(store, row.task_id) for row in service.tasks_of(store))
        assert timeless(looking.now()) == timeless(fresh), who
    other.close()


def test_where_nobody_has_written_time_alone_goes_on(store: SqliteStore, walk: Walk) -> None:
    """An idle conductor asks for the tasks' rows and the moment, not for all that ever happened."""
    now_s = 0.0
    set_clock(store.connection, lambda: now_s)
    walk(store, "task-01", State.WORKING)
    looking = PlanViews(store, None)
    (before,) = looking.now()
    asked: list[str] = []

    def keep(_: object, sql: str, __: object) -> bool:
        asked.append(sql)
        return True

    store.connection.exec_trace = keep
    now_s = 100.0
    (after,) = looking.now()
    store.connection.exec_trace = None
    assert timeless((after,)) == timeless((before,))
    assert (after.row.heartbeat_age_s or 0) - (before.row.heartbeat_age_s or 0) == 100
    assert (after.quiet_s or 0) - (before.quiet_s or 0) == 100
    assert after.at > before.at
    assert [sql for sql in asked if "FROM journal WHERE task_id = :task_id ORDER BY id;" in sql] == []
    assert len(asked) <= 5, asked
