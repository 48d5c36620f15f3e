"""A stage: a repository of its own in which real conductors and musicians play, are killed, and play again.

Everything a stage starts carries its mark in the environment, so that whatever is left of it is found. Steps reach
the test through the folder MUSICIAN_TEST_HALL: they note each playing there, notice if a second one plays at the
same time, and stand at a gate (a FIFO) where a moment must be hit.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from musician import service
from musician.config import load_settings
from musician.processes.identity import identify
from musician.processes.life_lock import holder, lock_path
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.runtime.locking import lock_plan_file
from musician.service import TaskView
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from musician.trees.root import exclude_private, find_root
from tests.conftest import every_task

KILLING = Path(__file__).with_name("killing")
HALL = "MUSICIAN_TEST_HALL"

PACE_S = 0.05

SOLO = """
exec 9> "$MUSICIAN_TEST_HALL/lock-$MUSICIAN_TASK"
flock -n 9 || echo "$MUSICIAN_TASK $MUSICIAN_ITEM" >> "$MUSICIAN_TEST_HALL/overlaps"
"""
"""Two agents of one task at the same time leave a trace."""

STAND = """
if mkdir "$MUSICIAN_TEST_HALL/stood-{gate}" 2> /dev/null; then
    echo "$$" > "$MUSICIAN_TEST_HALL/at-{gate}"
    read -r _ < "$MUSICIAN_TEST_HALL/go-{gate}"
fi
"""
"""The first one to come by says that it is here (a FIFO) and waits for leave to go on; later ones walk through."""


RAW = """
import json, sqlite3, sys
database, statement, values = json.load(sys.stdin)
connection = sqlite3.connect(database, isolation_level=None, timeout=60)
print(json.dumps(connection.execute(statement, values).fetchall()))
connection.close()
"""


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


class Stage:
    """One repository with a plan."""

    solo = SOLO
    command = (sys.executable, "-m", "musician")

    def __init__(self, folder: Path) -> None:
        self.hall = folder / "hall"
        self.root = folder / "project"
        self.hall.mkdir()
        self.root.mkdir()
        self.plan = self.root / "PLAN.md"
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("MUSICIAN_", "GIT_"))
        }
        self.env = {**own, HALL: str(self.hall), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self._started: list[subprocess.Popen[str]] = []
        self._store: SqliteStore | None = None
        self.git("init", "-q", "-b", "main")

    # -- setting up -------------------------------------------------------------------------------------------

    def git(self, *arguments: str) -> str:
        argv = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
        ran = subprocess.run(argv, cwd=self.root, env=self.env, check=True, capture_output=True, text=True)
        return ran.stdout

    def write(self, plan: str, settings: str = "", **files: str) -> None:
        """The plan, the settings and more files, committed; and the repository set up."""
        self.plan.write_text(plan, encoding="utf-8")
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "begin")
        root = find_root(self.root)
        root.temp_dir.mkdir(exist_ok=True)
        exclude_private(root)
        root.musician_dir.mkdir()
        root.config.write_text(f"{settings}\n[trees]\nkeep = true\n", encoding="utf-8")
        self._store = SqliteStore.create(root.database, busy_timeout_s=30)

    def gate(self, name: str) -> str:
        """A gate, and the lines of a step that stands at it."""
        for end in ("at", "go"):
            os.mkfifo(self.hall / f"{end}-{name}")
        return STAND.format(gate=name)

    def lock(self) -> None:
        """Lock the plan as a conductor would, without being one."""
        root = find_root(self.root)
        lock_plan_file(root, self.store, self.plan, load_settings(root.config))

    # -- playing ----------------------------------------------------------------------------------------------

    def start(self, *arguments: str, **env: str) -> "subprocess.Popen[str]":
        """A command in the background, its outputs in files of the hall."""
        number = len(self._started)
        with (
            (self.hall / f"out-{number}").open("w") as out,
            (self.hall / f"err-{number}").open("w") as err,
        ):
            started = subprocess.Popen(
                [*self.command, *arguments],
                cwd=self.root,
                env={**self.env, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
            )
        self._started.append(started)
        return started

    def end(self, started: "subprocess.Popen[str]") -> Result:
        """Wait for its end."""
        code = started.wait(HANG_S)
        number = self._started.index(started)
        out, err = ((self.hall / f"{name}-{number}").read_text() for name in ("out", "err"))
        return Result(code=code, out=out, err=err)

    def run(self, *arguments: str, **env: str) -> Result:
        return self.end(self.start(*arguments, **env))

    def conduct(self, *options: str, **env: str) -> Result:
        return self.run("run", "PLAN.md", *options, **env)

    def to_the_end(self) -> Result:
        """Run, and it is complete."""
        done = self.conduct()
        assert done.code == 0, (done, [ask.text for ask in service.open_asks(self.store)], self.told())
        return done

    def armed(self, role: str, where: str, number: int = 1) -> dict[str, str]:
        """The environment in which one process of this role dies at a moment; see ``killing/sitecustomize.py``."""
        paths = [str(KILLING), *filter(None, [os.environ.get("PYTHONPATH")])]
        wanted = f"{role} {where} {number} {self.hall / 'killed'}"
        return {"PYTHONPATH": os.pathsep.join(paths), "MUSICIAN_TEST_KILL": wanted}

    def clock(self, off_s: float = 0) -> dict[str, str]:
        """Set the databases' wall clock; the environment in which it is asked."""
        place = self.hall / "clock"
        place.with_suffix(".new").write_text(str(off_s))
        place.with_suffix(".new").replace(place)
        paths = [str(KILLING), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(paths), "MUSICIAN_TEST_CLOCK": str(place)}

    @property
    def killed_at(self) -> str:
        """What happened last in the process that died; "" if none did."""
        mark = self.hall / "killed"
        return mark.read_text() if mark.exists() else ""

    # -- gates and moments ------------------------------------------------------------------------------------

    def wait_at(self, gate: str) -> int:
        """Return when a step stands at the gate; its pid."""
        with open(os.open(self.hall / f"at-{gate}", os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as fifo:
            said = b""
            deadline = time.monotonic() + HANG_S
            while not said.endswith(b"\n"):
                assert time.monotonic() < deadline, f"nobody came to the gate {gate}: {self.told()}"
                if select.select([fifo], [], [], 1.0)[0]:
                    said += fifo.read(64) or b""
                    time.sleep(PACE_S if not said else 0)  # a FIFO without a writer reads as ended
        return int(said)

    def open_gate(self, gate: str) -> None:
        """Let the step go on; its read end is open, or soon will be."""
        self.until(lambda: self._pushed(gate))

    def _pushed(self, gate: str) -> bool:
        try:
            descriptor = os.open(self.hall / f"go-{gate}", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        os.write(descriptor, b"go\n")
        os.close(descriptor)
        return True

    def until(self, condition: Callable[[], object], *, bound_s: float = HANG_S) -> None:
        """Where the system gives no event: look again and again, up to a bound."""
        deadline = time.monotonic() + bound_s
        while not condition():
            assert time.monotonic() < deadline, f"it did not happen in time: {self.told()}"
            time.sleep(PACE_S)

    # -- looking ----------------------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        assert self._store is not None, "write a plan first"
        return self._store

    def view(self, task_id: str) -> TaskView:
        return service.task_view(self.store, task_id)

    def state(self, task_id: str) -> State:
        return self.view(task_id).row.state

    def states(self) -> dict[str, str]:
        return {row.task_id: row.state.value for row in every_task(self.store)}

    def raw(self, statement: str, **values: object) -> list[list[Any]]:
        """As a writer that knows neither the service nor the bells.

        In a process of its own: two SQLite libraries in one process take each other's locks away.
        """
        asked = json.dumps([str(self.root / ".musician" / "comms.db"), statement, values])
        ran = subprocess.run(
            [sys.executable, "-c", RAW], input=asked, check=True, capture_output=True, text=True
        )
        answer: list[list[Any]] = json.loads(ran.stdout)
        return answer

    def conductors(self) -> list[int]:
        """Who conducts, by the lock."""
        signed = holder(lock_path(self.root / ".musician" / "locks", CONDUCTOR))
        return [] if signed.identity is None else [signed.identity.pid]

    def merged(self, name: str) -> str:
        """A file as the plan's end left it on the user's branch."""
        return self.git("show", f"main:{name}")

    def told(self) -> str:
        """What every process has said, for a failure's message."""
        logs = [*self.hall.glob("err-*"), *(self.root / ".musician" / "logs").glob("*.log")]
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in logs)

    def said_by(self, task_id: str) -> str:
        """What the task's musicians have said."""
        log = self.root / ".musician" / "logs" / f"{task_id}.musician.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def processes(self, word: str = "") -> list[psutil.Process]:
        """What this stage started and still runs; with a word on its command line."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.environ().get(HALL) == str(self.hall)
                alive = process.status() != psutil.STATUS_ZOMBIE
                if ours and alive and (not word or word in process.cmdline()):
                    found.append(process)
        return found

    @staticmethod
    def stopped(pid: int) -> bool:
        """Not one that has just ended either."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).status() == psutil.STATUS_STOPPED
        return False

    def suspend(self, process: psutil.Process) -> None:
        """Stop it where it keeps nobody from writing: one that stands still in the middle of a write holds up all."""

        def stands_aside() -> bool:
            process.suspend()
            self.until(lambda: self.stopped(process.pid))
            if self.store.holder()[1] != process.pid:
                return True
            process.resume()
            return False

        self.until(stands_aside)

    def musician(self, task_id: str) -> psutil.Process:
        """The process that plays a task; as recorded."""
        view = self.view(task_id)
        row = next(each for each in view.processes if each.role == "musician")
        assert identify(row.pid).started_at_s == row.started_at_s
        return psutil.Process(row.pid)

    def check_quiet(self) -> None:
        """Nothing of this stage runs any more, or will in a moment."""
        self.until(lambda: not self.processes())

    def check_whole(self) -> None:
        """All that must hold after the end, whatever was killed on the way."""
        self.check_quiet()
        assert set(self.states().values()) == {"complete"}
        assert not (self.hall / "overlaps").exists(), (self.hall / "overlaps").read_text()
        for task_id in self.states():
            self._check_owners(self.view(task_id))

    def _check_owners(self, view: TaskView) -> None:
        """Never two at once: whoever came later had the higher epoch, and nothing of the older was written after."""
        epochs = [row.claim_epoch for row in view.journal]
        assert epochs == sorted(epochs)
        assert all(session.ended_at is not None for session in view.sessions)
        claims = [session.claim_epoch for session in view.sessions]
        assert claims == sorted(set(claims))
        done = [row.item for row in view.journal if row.kind in ("completed", "returned", "reconciled")]
        assert len(done) == len(set(done)), f"done twice: {done}"

    # -- the end ----------------------------------------------------------------------------------------------

    def clear(self) -> None:
        while living := self.processes():
            for process in living:
                with contextlib.suppress(psutil.Error):
                    process.send_signal(signal.SIGKILL)
        for started in self._started:
            started.kill()
            started.wait()
        if self._store is not None:
            self._store.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.clear()
