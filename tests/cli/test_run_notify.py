"""A person who is not looking is told, by what the settings name; what hangs or fails holds nothing up."""

import json
import os
import signal
import subprocess
import termios
import threading
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from musician.protocol.settings import Notify
from musician.reporting.notices import Message
from musician.runtime.notifying import ways_of
from musician.testing.waiting import until
from tests.surroundings import Call, begin, git

PLAN = """\
---
plan: greeter
---
# Greet
## Phase 1: A
### task-01: Ask
#### Step 1: Ask
```bash run
{step}
```
#### Checkpoint 1: it is there
- test: `test -e made`
"""
FINE = PLAN.format(step="touch made")
ASKS = PLAN.format(step="echo '::question Is token=sk-abcdefghijklmnopqrstuvwx right?'; touch made")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Path:
    found = begin(tmp_path / "a b é", {"PLAN.md": FINE})
    monkeypatch.chdir(found)
    call("init")
    return found


def set_up(folder: Path, **settings: object) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (folder / ".musician" / "config.toml").write_text("\n".join(["[notify]", *lines]) + "\n")


def commit_plan(folder: Path, text: str) -> None:
    (folder / "PLAN.md").write_text(text)
    git(folder, "commit", "-qam", "plan")


@pytest.fixture
def hook() -> Iterator[tuple[str, list[Any]]]:
    """A webhook on this machine, and what it was told; it sends what it is told on to nobody."""
    told: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(302 if self.path == "/elsewhere" else 204)
            self.send_header("Location", "/")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", told
    server.shutdown()
    server.server_close()


def test_a_command_is_told_how_a_run_has_ended(folder: Path, program: Call, tmp_path: Path) -> None:
    set_up(folder, command=f"cat >> '{tmp_path}/told'; pwd >> '{tmp_path}/where'")
    assert program("run", "PLAN.md").code == 0
    (line,) = (tmp_path / "told").read_text().splitlines()
    told = json.loads(line)
    assert told["title"].startswith("Musician: greeter is complete: 1 of 1 task")
    assert (told["plan"], told["notices"]) == ("greeter", [])
    assert (tmp_path / "where").read_text() == f"{folder}\n"


@pytest.mark.deep
def test_nothing_is_told_to_anybody_by_default(folder: Path, program: Call, tmp_path: Path) -> None:
    bin_folder = fake_program(tmp_path, "notify-send", f"touch '{tmp_path}/told'")
    env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "DISPLAY": ":0"}
    assert program("run", "PLAN.md", env=env).code == 0
    assert not (tmp_path / "told").exists()


def test_what_needs_a_person_is_told_while_the_run_goes_on(
    folder: Path, command: tuple[str, ...], tmp_path: Path, call: Call
) -> None:
    """The other task waits until the message was read: so the run cannot have ended by then."""

    waits = f"until [ -e '{tmp_path}/read' ]; do sleep 0.1; done; touch made"
    other = PLAN.format(step=waits).partition("### task-01: Ask\n")[2]
    commit_plan(folder, ASKS + "### task-02: Wait\n" + other)
    set_up(folder, command=f"cat > '{tmp_path}/new'; mv '{tmp_path}/new' '{tmp_path}/told'")
    with subprocess.Popen(
        [*command, "run", "PLAN.md", "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        until(lambda: (tmp_path / "told").exists())
        told = json.loads((tmp_path / "told").read_text())
        (tmp_path / "read").touch()
        assert (told["ended"], told["notices"][0]["kind"]) == ("", "question")
        assert told["notices"][0]["commands"][0] == 'musician send task-01 "your answer"'
        assert "sk-abcdef" not in json.dumps(told)
        run.communicate()
    assert run.returncode == 1
    ended = json.loads((tmp_path / "told").read_text())
    assert ended["ended"].startswith("greeter waits for you: 1 of 2 tasks complete")


def test_a_webhook_is_posted_to(folder: Path, program: Call, hook: tuple[str, list[Any]]) -> None:
    address, told = hook
    set_up(folder, webhook=f"{address}/?token=abc")
    assert program("run", "PLAN.md").code == 0
    assert [each["plan"] for each in told] == ["greeter"]


@pytest.mark.deep
def test_a_webhook_that_sends_elsewhere_is_not_followed(
    folder: Path, program: Call, hook: tuple[str, list[Any]]
) -> None:
    address, told = hook
    set_up(folder, webhook=f"{address}/elsewhere")
    done = program("run", "PLAN.md")
    assert (done.code, len(told)) == (0, 1)
    assert "note: you could not be told by notify.webhook: exit code 1: it answered 302" in done.err


@pytest.mark.parametrize(
    ("notifier", "why"),
    [
        pytest.param(
            "trap '' TERM; while :; do sleep 1; done",
            "it took longer than 5 s",
            id="will not end",
            marks=pytest.mark.deep,
        ),
        pytest.param("echo no >&2; exit 3", "exit code 3: no", id="fails"),
        pytest.param("no-such-program", "not found", id="is not there", marks=pytest.mark.deep),
        pytest.param(
            "head -c 3000000 /dev/zero; exit 4", "exit code 4", id="says much", marks=pytest.mark.deep
        ),
    ],
)
def test_what_cannot_tell_fails_nothing_and_is_reported(
    folder: Path, program: Call, notifier: str, why: str
) -> None:
    set_up(folder, command=notifier)
    done = program("run", "PLAN.md")
    assert done.code == 0
    assert "greeter is complete" in done.out
    assert "note: you could not be told by notify.command" in done.err
    assert why in done.err


@pytest.mark.deep
def test_a_command_that_hangs_does_not_hold_a_run_up(folder: Path, program: Call, tmp_path: Path) -> None:
    """It is begun while the run goes on, and the task that waits for that is played to its end."""
    waits = f"until [ -e '{tmp_path}/begun' ]; do sleep 0.1; done; touch made"
    other = PLAN.format(step=waits).partition("### task-01: Ask\n")[2]
    commit_plan(folder, ASKS + "### task-02: Wait\n" + other)
    set_up(folder, command=f"touch '{tmp_path}/begun'; exec sleep 1000")
    done = program("run", "PLAN.md", "--jobs", "2")
    assert done.code == 1
    assert "1 of 2 tasks complete" in done.out


@pytest.mark.deep
def test_in_quiet_hours_nothing_is_told(folder: Path, program: Call, tmp_path: Path) -> None:
    set_up(folder, command=f"touch '{tmp_path}/told'", quiet="00:00-23:59")

    is_the_other_minute = (datetime.now().hour, datetime.now().minute) >= (23, 58)
    assert program("run", "PLAN.md").code == 0
    assert is_the_other_minute or not (tmp_path / "told").exists()


def fake_program(tmp_path: Path, name: str, script: str) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/bash\n{script}\n")
    (folder / name).chmod(0o755)
    return folder


@pytest.mark.deep
def test_a_desktop_notification_is_shown_where_there_is_a_desktop(
    folder: Path, program: Call, tmp_path: Path
) -> None:
    bin_folder = fake_program(tmp_path, "notify-send", f'printf "%s\\n" "$@" >> "{tmp_path}/told"')
    commit_plan(folder, PLAN.format(step="echo '::question <b>which & what?'; touch made"))
    set_up(folder, desktop=True)
    env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    bare = {name: value for name, value in env.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    bare.pop("DBUS_SESSION_BUS_ADDRESS", None)
    assert program("run", "PLAN.md", env=bare).code == 1
    assert not (tmp_path / "told").exists()
    assert program("run", "PLAN.md", env={**env, "DISPLAY": ":0"}).code == 1
    told = (tmp_path / "told").read_text().splitlines()
    assert told[:2] == ["--app-name=Musician", "--"]
    assert told[2].startswith("Musician: greeter waits for you")
    assert "&lt;b&gt;which &amp; what?" in told[3]


@pytest.mark.deep
def test_an_interrupted_run_tells_nobody(
    folder: Path, command: tuple[str, ...], tmp_path: Path, call: Call
) -> None:

    commit_plan(folder, PLAN.format(step=f"touch '{tmp_path}/begun'; sleep 1000"))
    set_up(folder, command=f"touch '{tmp_path}/told'")
    with subprocess.Popen([*command, "run", "PLAN.md"], stdout=subprocess.DEVNULL) as run:
        until(lambda: (tmp_path / "begun").exists())
        run.send_signal(signal.SIGINT)
    assert run.returncode == 130
    assert not (tmp_path / "told").exists()


@pytest.mark.parametrize("is_stopped", [False, True], ids=["reads", "stopped by Ctrl-S"])
def test_a_terminal_is_rung_and_named_and_never_waited_for(*, is_stopped: bool) -> None:
    master, slave = os.openpty()
    try:
        if is_stopped:
            termios.tcflow(slave, termios.TCOOFF)
        ways = ways_of(Notify(terminal=True), folder=Path("/"), terminal=Path(os.ttyname(slave)), env={})
        message = Message(plan_id="p", notices=(), ended="over\x1b]2;evil\x07")
        assert anyio.run(ways["the terminal"], message) == ""
        if not is_stopped:
            assert os.read(master, 1000) == "\x1b]2;Musician: over␛]2;evil␇\x07\x07".encode()
    finally:
        os.close(master)
        os.close(slave)


def test_without_a_terminal_or_a_wish_there_is_no_way() -> None:
    assert ways_of(Notify(terminal=True), folder=Path("/"), terminal=None, env={}) == {}
    assert ways_of(Notify(), folder=Path("/"), terminal=Path("/dev/tty"), env=os.environ) == {}
