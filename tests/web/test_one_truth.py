"""Whatever happens, and whoever is killed after it: page, terminal and JSON say what the fold of the database says."""

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.project import Project
from musician.testing.waiting import HANG_S
from tests.surroundings import Call
from tests.web.conftest import Served
from tests.web.random_acts import ACTS, LIKELY
from tests.web.surfaces import check_surfaces, tasks_in
from tests.web.test_streams import Browser

TASKS = ("task-01", "task-02", "loose-01")
REPOSITORY = Path(__file__).parents[2]
LIKELINESS = 0.8
"""Of an act that the task's state may well allow."""
LIFE = 8
"""Events after which the server is killed, too."""


class Actors:
    """Processes that each do one thing, and are killed once it is done."""

    def __init__(self, folder: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        argv = (sys.executable, "-m", "tests.web.random_acts")
        self._process = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Actors":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=HANG_S)

    def act(self, name: str, task_id: str, seed: int) -> str:
        """Return how it went."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name} {task_id} {seed}\n")
        self._process.stdin.flush()
        actor, _, went = self._process.stdout.readline().strip().partition(" ")
        os.kill(int(actor), signal.SIGKILL)
        return went


@pytest.mark.parametrize(
    ("seed", "events"),
    [(1, 16), *(pytest.param(seed, 160, marks=pytest.mark.deep) for seed in range(2, 8))],
)
def test_page_terminal_and_json_are_the_fold_after_every_event_and_kill(
    ready: Path, call: Call, command: tuple[str, ...], seed: int, events: int
) -> None:
    """Each event's writer is killed when it has written, and the server now and then; nothing is left to write."""
    chance = random.Random(seed)
    with closing(Project(str(ready))) as project:
        service.open_task(project.store, "loose-01", title="Loose", instruction_path="docs/loose.md")
    served = Served(ready, command).__enter__()
    browser = Browser(served.address)
    told: list[str] = []
    try:
        with Actors(ready) as actors:
            for number in range(events):
                name, task_id = next_act(ready, chance)
                went = actors.act(name, task_id, chance.randrange(1000))
                told.append(f"{name} {task_id}: {went}")
                assert not went.startswith("crashed")
                if number % LIFE == 0:
                    served.process.kill()
                    served.end()
                    served = Served(ready, command).__enter__()
                check_surfaces(ready, browser, call)
    except AssertionError as error:
        error.add_note("\n".join(told))
        raise
    finally:
        served.end()


def next_act(folder: Path, chance: random.Random) -> tuple[str, str]:
    task_id = chance.choice(TASKS)
    with closing(Project(str(folder))) as project:
        states = {row.task_id: row.state for row in tasks_in(project)}
    if chance.random() > LIKELINESS:
        return chance.choice(tuple(ACTS)), task_id
    if task_id not in states:
        return "restore", task_id
    return chance.choice(LIKELY[states[task_id]]), task_id
