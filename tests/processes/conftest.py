"""Real trees of processes: marked by their environment, so that what is left of one can be found."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from musician.testing.waiting import HANG_S

MARK = "MUSICIAN_TEST_TREE"

STUBBORN = """
trap '' TERM HUP INT
setsid bash -c "trap '' TERM HUP INT; sleep 300 & echo up > daemon; wait" &
bash -c "trap '' TERM; sleep 301 & echo up > child; wait" &
until [ -s daemon ] && [ -s child ]; do sleep 0.01; done
echo up > started
wait
"""
"""A program, a child in its group, and a daemon in a session of its own; none minds SIGTERM. It says when it is up."""


class Trees:
    """What runs with this test's mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, MARK: str(folder)}
        self._started: list[subprocess.Popen[bytes]] = []

    def living(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                marked = process.environ().get(MARK) == str(self.folder)
                if marked and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def start(self, *argv: str, **options: object) -> "subprocess.Popen[bytes]":
        started = subprocess.Popen(argv, env=self.env, cwd=self.folder, **options)  # type: ignore[call-overload]
        self._started.append(started)
        return started  # type: ignore[no-any-return]

    def python(self, code: str, *arguments: str, **options: object) -> "subprocess.Popen[bytes]":
        return self.start(sys.executable, "-c", code, *arguments, **options)

    def exists(self, name: str) -> bool:
        """Whether the file is there and has content."""
        path = self.folder / name
        return path.exists() and path.stat().st_size > 0

    def clear(self) -> None:
        while living := self.living():  # one that is forking as it is killed shows up in the next round
            for process in living:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        for started in self._started:
            started.kill()
            started.wait()
            for stream in (started.stdin, started.stdout):
                if stream is not None:
                    stream.close()


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Trees]:
    made = Trees(tmp_path)
    yield made
    made.clear()


@pytest.fixture
def stubborn() -> str:
    return STUBBORN


@pytest.fixture
def until() -> Callable[..., None]:
    def wait(condition: Callable[[], object], *, bound_s: float = HANG_S) -> None:
        """Where the system gives no event: look again and again, up to a bound."""
        deadline = time.monotonic() + bound_s
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)

    return wait
