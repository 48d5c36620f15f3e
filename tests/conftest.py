"""Fixtures for every test that needs a database: each backend's store, and a task brought to any state.

A behaviour that every database must show is tested over ``store``; a second backend joins by one line here.
"""

import gc
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, cast

import hypothesis
import pytest

from musician import service
from musician.__main__ import run_command
from musician.protocol.claim import Claim
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, State
from musician.store.port import Store
from musician.store.rows import TaskRow
from musician.store.sqlite.store import SqliteStore
from tests.needs import left_out, need
from tests.said import evidence, farewell, submission
from tests.said import report as report_of
from tests.surroundings import Call, Result, settle

for profile, examples in {"default": 25, "deep": 500}.items():
    hypothesis.settings.register_profile(
        profile,
        deadline=None,  # how long an example takes says something about the machine and nothing about the code
        derandomize=profile == "default",  # coverage must not hang on luck: the deep search throws dice
        max_examples=examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("default")  # `make test-deep` names the other one

UNSTABLE_ID = re.compile(r"frozenset\(\{|\{'[^':]*'[,}]| at 0x[0-9a-f]")
"""Of a test whose id comes from a set or an address."""


def pytest_sessionstart() -> None:
    """What is collected stays to the end: looking through ten thousand tests for garbage took a third of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse ids that differ between two processes: each of xdist's workers collects by itself."""
    if unstable := [item.nodeid for item in items if UNSTABLE_ID.search(item.nodeid)]:
        raise pytest.UsageError(f"name these parameters by hand (pytest.param(…, id=…)): {unstable}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        need(*mark.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out on this machine is said last, with its remedy: a green run must not hide it."""
    for line in left_out(str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)


@cache
def _new_database() -> bytes:
    """A database as it is made, which takes twice as long as to open one."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "comms.db"
        SqliteStore.create(path).close()
        return path.read_bytes()


def _sqlite(folder: Path) -> Store:
    path = folder / "comms.db"
    if not path.exists():
        path.write_bytes(_new_database())
    return SqliteStore.open(path, busy_timeout_s=10)


BACKENDS: dict[str, Callable[[Path], Store]] = {"sqlite": _sqlite}
"""Each gives a handle on the folder's database, made if it is not there: two calls, one database."""


def every_task(store: Store) -> list[TaskRow]:
    """Of no plan, and of every plan."""
    plans = (None, *(plan.plan_id for plan in service.all_plans(store)))
    return [row for plan_id in plans for row in service.tasks_of(store, plan_id)]


class Walk(Protocol):
    def __call__(
        self, store: Store, task_id: str, state: State, *, session_id: str = ...
    ) -> Claim | None: ...


class GrowOld(Protocol):
    def __call__(self, store: Store, task_id: str, seconds: int) -> None: ...


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the machine's or its user's own has a say in any test."""
    with pytest.MonkeyPatch.context() as patch:
        settle(patch, tmp_path_factory.mktemp("home"))
        yield


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process."""

    def run(*arguments: str, expect: int | None = 0) -> Result:
        capsys.readouterr()
        code = run_command(list(arguments))
        out, err = capsys.readouterr()
        assert expect is None or code == expect, (code, out, err)
        return Result(code, out, err)

    return run


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Callable[[Path], Store]:
    """How this database's stores are opened."""
    return BACKENDS[cast("str", request.param)]


@pytest.fixture
def open_store(backend: Callable[[Path], Store], tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Every call is another connection to the same database."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(backend(tmp_path))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    """A fresh database."""
    return open_store()


@pytest.fixture
def walk() -> Walk:
    """Bring a task to a state along the service's own verbs, opening it if it is not there.

    The claim of the session that was on it, also where that claim has ended; None if nobody claimed it.
    """
    return walk_to


@pytest.fixture
def grow_old() -> GrowOld:
    """Let a task's heartbeat be so many seconds old."""

    def age(store: Store, task_id: str, seconds: int) -> None:
        assert isinstance(store, SqliteStore)
        store.connection.execute(
            "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', ?) WHERE task_id = ?",
            (f"{-seconds} seconds", task_id),
        )

    return age


def walk_to(store: Store, task_id: str, state: State, *, session_id: str = "session-1") -> Claim | None:
    service.open_task(store, task_id, title=f"Task {task_id}", instruction_path=f"docs/tasks/{task_id}.md")
    if state is State.WATCHING:
        return None
    claim = service.claim(store, task_id, session_id, settings=Settings()).claim
    if state in {State.NEEDS_REVIEW, *VERDICTS, State.COMPLETE}:
        service.submit(store, claim, submission(MessageType.COMPLETION, "TASK COMPLETE"), verified=evidence())
    match state:
        case State.REVIEW_APPROVED | State.REVIEW_FAILED | State.FIX_PROPOSED:
            service.judge(store, task_id, state, "so be it")
        case State.ERROR:
            service.report(
                store, claim, report_of(MessageType.ERROR, "ERROR (Retry 1/5):"), last_error="it broke"
            )
        case State.EXIT_REQUESTED:
            service.request_exit(store, task_id, "please leave", urgent=False)
        case State.EXITED:
            service.exit_task(store, claim, farewell("context"), handoff="next: all")
        case State.COMPLETE:
            service.judge(store, task_id, State.REVIEW_APPROVED, "so be it")
            service.complete(store, claim, report_path="docs/report.md", report="done", notice="COMPLETED")
    return claim
