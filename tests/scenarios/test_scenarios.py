"""The sources' worked examples, played with the real command in real repositories.

A script's commands are the shell's, each in a shell of its own, and some of the stage's: ``export NAME=VALUE`` and
``cd FOLDER`` (``cd`` alone: to the project) hold for all that follow; what ends in ``&`` is played in the background,
where ``wait`` waits for it and prints what it printed; ``until TASK STATE`` waits for a state.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.__main__ import run_command
from musician.store.opening import open_store
from musician.testing.waiting import HANG_S

HERE = Path(__file__).parent
SCRIPTS = sorted(HERE.glob("*.txt"))
LOOK_EVERY_S = 0.02

PROCESSES = frozenset({"run", "work", "worker", "wait"})
"""Commands that listen to signals or may never end, and so get a process of their own."""

_SHELL = re.compile(r"[|&;<>$`(){}*?~\n]")
_SESSION = re.compile(r"\b(?:musician|conductor)-[0-9a-f]{12}\b")
_SCRUBBED = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\+00:00|Z)?"), "<time>"),
    (re.compile(r"^\d\d:\d\d:\d\d(?=  )", re.MULTILINE), "<time>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "<commit>"),
    (re.compile(r"(?<=git diff )[0-9a-f]{12} [0-9a-f]{12}\b"), "<commit> <commit>"),
    (re.compile(r"\(-?\d+s ago\)"), "(<age> ago)"),
    (re.compile(r"\bin \d+:\d\d\b|\bin \d+\.\d+ ?s\b"), "in <duration>"),
)


class Repository:
    """A stage: an empty git repository, somebody who types, and ``musician`` on the path."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder, self._capsys, self._monkeypatch = folder, capsys, monkeypatch
        self.background: subprocess.Popen[str] | None = None
        self._sessions: dict[str, str] = {}

    def write(self, path: str, text: str) -> None:
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def play(self, command: str) -> str:
        words = [] if _SHELL.search(command) else shlex.split(command)
        match words:
            case ["musician", verb, *_] if verb not in PROCESSES:
                printed, code = self._call(words[1:])
            case ["export", setting]:
                self._monkeypatch.setenv(*setting.split("=", 1))
                return ""
            case ["cd", *folder]:
                self._monkeypatch.chdir(folder[0] if folder else self.folder)
                return ""
            case ["until", task_id, state]:
                self._await_state(task_id, state)
                return ""
            case ["wait"]:
                printed, code = self._end_background()
            case _ if command.endswith(" &"):
                assert self.background is None, "one at a time"
                self.background = self._start(command.removesuffix(" &"))
                return ""
            case _:
                process = self._start(command)
                printed, code = process.communicate(timeout=HANG_S)[0], process.returncode
        ending = f"[exit {code}]" if code else ""
        return self._scrub("\n".join(part for part in (printed.rstrip("\n"), ending) if part))

    def _call(self, arguments: list[str]) -> tuple[str, int]:
        self._capsys.readouterr()
        code = run_command(arguments)
        return "".join(self._capsys.readouterr()), code

    def _start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )

    def _await_state(self, task_id: str, state: str) -> None:
        """The bell rings for one waiter, and this is another one; so it looks."""
        until_s = time.monotonic() + HANG_S
        database = self.folder / ".musician" / "comms.db"
        with closing(open_store(database, named=True, busy_timeout_s=HANG_S)) as store:
            while (found := service.task_row(store, task_id).state) != state:
                if time.monotonic() > until_s:
                    pytest.fail(f"{task_id} is {found}, not {state}: {self._call(['messages', task_id])[0]}")
                time.sleep(LOOK_EVERY_S)

    def _end_background(self) -> tuple[str, int]:
        assert self.background is not None, "nothing is played in the background"
        process, self.background = self.background, None
        return process.communicate(timeout=HANG_S)[0], process.returncode

    def _scrub(self, text: str) -> str:
        """Stable words for what differs from run to run: places, times, commits, ids that were made up."""
        text = text.replace(str(self.folder), "<project>")
        for pattern, word in _SCRUBBED:
            text = pattern.sub(word, text)
        return _SESSION.sub(self._session, text)

    def _session(self, match: re.Match[str]) -> str:
        return self._sessions.setdefault(match[0], f"<session {len(self._sessions) + 1}>")


@pytest.fixture
def repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Repository]:
    for name in [name for name in os.environ if name.startswith(("MUSICIAN_", "GIT_"))]:
        if name != "MUSICIAN_REWRITE":  # whoever runs the tests may be a musician too
            monkeypatch.delenv(name)
    home, folder = tmp_path / "home", tmp_path / "knowledge"
    home.mkdir()
    folder.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr("musician.runtime.as_person.login_name", lambda: "ada")
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "-q"], check=True)
    stage = Repository(folder, capsys, monkeypatch)
    yield stage
    if stage.background is not None:
        os.killpg(stage.background.pid, signal.SIGKILL)
        stage.background.communicate()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_story_goes_as_it_is_told(
    script: Path, repository: Repository, play: Callable[[Path, Any], None]
) -> None:
    play(script, repository)


def test_every_worked_example_of_the_sources_is_told() -> None:
    assert {script.stem for script in SCRIPTS} >= {
        "bootstrap",
        "subagents",
        "checkpoint",
        "rejection",
        "tight-context",
        "resumption",
        "error-recovery",
        "clean-exit",
    }
    for script in SCRIPTS:
        assert script.read_text(encoding="utf-8").startswith("# ")
