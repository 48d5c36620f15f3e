"""A musician's hook with nothing to say is answered by the tools' server of its client; nobody else's word counts."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import musician
from musician import service
from musician.processes import client_line
from musician.testing import until
from musician.testing.waiting import HANG_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux'")

PATHS = [str(Path(musician.__file__).parents[1]), sysconfig.get_path("platlib")]
BOOT = (
    f"import sys; sys.path[:0] = {PATHS!r}\n"
    "from musician.hooks.entry import main\n"
    "from musician.processes import client_line\n"
    "client_line.LIMIT_S = float(sys.argv.pop(1))\n"
    "main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer)\n"
    "sys.stderr.write('\\nBY ITSELF' if 'apsw' in sys.modules else '\\nBY THE SERVER')\n"
)
IMPOSTOR = (
    "import socket, sys\n"
    "listener = socket.socket(socket.AF_UNIX)\n"
    "listener.bind(bytes.fromhex(sys.argv[1]))\n"
    "listener.listen()\n"
    "print('up', flush=True)\n"
    "while True:\n"
    "    line = listener.accept()[0]\n"
    "    line.sendall(b'q')\n"
    "    while line.recv(65536): pass\n"
    "    line.close()\n"
)
ADDRESS = client_line._address(os.getpid())
"""This process is the client: it starts the server and the hooks."""


class Session:
    """Session s1, which holds task-01, has read everything and was met."""

    def __init__(self, project: Any, server: Any) -> None:
        self.project, self.server = project, server

    def hook(
        self, event: str = "PostToolBatch", *, session: str = "s1", patience_s: float = HANG_S, **keys: Any
    ) -> tuple[str, str]:
        """Who has answered, and what. On a busy machine the server may take its time."""
        document = {"session_id": session, "cwd": str(self.project.folder), **keys}
        boot = [
            os.path.realpath(sys.executable),
            "-I",
            "-S",
            "-X",
            "utf8",
            "-c",
            BOOT,
            str(patience_s),
            event,
        ]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MUSICIAN_")}
        done = subprocess.run(
            ["/bin/sh", "-c", '"$@" && exit 0', "sh", *boot],
            input=json.dumps(document).encode(),
            cwd=self.project.folder,
            env={
                **environ,
                "CLAUDE_PROJECT_DIR": str(self.project.folder),
                "CLAUDE_CODE_SESSION_ID": session,
            },
            capture_output=True,
            timeout=HANG_S,
            check=True,
        )
        return done.stderr.decode().rpartition("\n")[2], done.stdout.decode()


def is_listened_to() -> bool:
    return "@" + ADDRESS[1:].decode() in Path("/proc/net/unix").read_text()


@pytest.fixture
def session(project: Any, served: Callable[..., Any]) -> Session:
    server = served(project.folder, CLAUDE_CODE_SESSION_ID="s1")
    server.begin()
    server.call("claim", task="task-01")
    server.call("inbox")
    made = Session(project, server)
    until(is_listened_to)
    made.hook()
    return made


@pytest.fixture
def impostor(session: Session) -> Iterator[Callable[..., None]]:
    """In place of the server, a process that says to everything that there is nothing to say."""
    started: list[subprocess.Popen[str]] = []

    def start(*through: str) -> None:
        session.server.kill()
        until(lambda: not is_listened_to())
        argv = [*through, sys.executable, "-c", IMPOSTOR, ADDRESS.hex()]
        started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout is not None
        assert started[-1].stdout.readline() == "up\n"

    yield start
    for each in started:
        for child in psutil.Process(each.pid).children():
            child.kill()
        each.kill()
        each.wait()
        assert each.stdout is not None
        each.stdout.close()


def test_with_nothing_to_say_the_server_answers(session: Session) -> None:
    assert session.hook() == ("BY THE SERVER", "")


def test_what_is_to_be_said_or_written_the_hook_does_itself(session: Session) -> None:
    """A message is pointed at, and a heartbeat that is due is refreshed."""
    service.send(session.project.store, "task-01", "look here", urgent=False)
    who, said = session.hook()
    assert who == "BY ITSELF"
    assert "read with `inbox`" in said
    assert session.hook() == ("BY THE SERVER", ""), "pointed at once"
    session.project.store.connection.execute(
        "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-500 seconds')"
        " WHERE task_id = 'task-01'"
    )
    assert session.hook() == ("BY ITSELF", "")
    age_s = session.project.view().row.heartbeat_age_s
    assert age_s is not None
    assert age_s < 400
    assert session.hook() == ("BY THE SERVER", "")


def test_another_session_and_another_event_are_looked_at_by_the_hook(session: Session) -> None:
    assert session.hook(session="s2") == ("BY ITSELF", "")
    push: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "git push"}}
    who, said = session.hook("PreToolUse", **push)
    assert who == "BY ITSELF"
    assert '"deny"' in said


def test_without_its_server_a_hook_does_all_itself(session: Session) -> None:
    """Killed, it leaves no socket behind."""
    session.server.kill()
    assert not is_listened_to()
    service.send(session.project.store, "task-01", "look here", urgent=False)
    who, said = session.hook()
    assert who == "BY ITSELF"
    assert "read with `inbox`" in said
    assert session.hook() == ("BY ITSELF", "")


def test_a_server_that_is_stuck_is_not_waited_for(session: Session) -> None:
    session.server.process.send_signal(signal.SIGSTOP)
    assert session.hook(patience_s=client_line.LIMIT_S) == ("BY ITSELF", "")
    session.server.process.send_signal(signal.SIGCONT)
    until(lambda: session.hook() == ("BY THE SERVER", ""))


def test_a_process_that_the_client_has_not_started_is_not_believed(
    session: Session, impostor: Callable[..., None]
) -> None:
    service.send(session.project.store, "task-01", "look here", urgent=False)
    impostor("/bin/sh", "-c", '"$@"; exit', "sh")
    who, said = session.hook()
    assert who == "BY ITSELF"
    assert "read with `inbox`" in said


def test_no_guard_is_left_to_an_answer(session: Session, impostor: Callable[..., None]) -> None:
    """Even of a process that the client itself has started, as the model's own command may be."""
    impostor()
    assert session.hook() == ("BY THE SERVER", "")
    push: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "git push"}}
    assert '"deny"' in session.hook("PreToolUse", **push)[1]


@pytest.mark.parametrize(
    "question",
    [b"", b"\0", b"a\0b\0c\0d", b"\0\0\0\0{", b"\0\0\0/nowhere\0{}", b"\xff\0\xfe\0\0\0\xff" * 999],
)
def test_a_question_that_is_none_harms_nobody(session: Session, question: bytes) -> None:
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(HANG_S)
    line.connect(ADDRESS)
    line.sendall(question)
    line.shutdown(socket.SHUT_WR)
    assert line.recv(9) == b"o"
    line.close()
    gone = socket.socket(socket.AF_UNIX)
    gone.connect(ADDRESS)
    gone.close()
    assert session.hook() == ("BY THE SERVER", "")
    assert not session.server.call("siblings")[1]


def test_who_asks_too_much_or_never_ends_is_dropped(session: Session) -> None:
    endless = socket.socket(socket.AF_UNIX)
    endless.settimeout(HANG_S)
    endless.connect(ADDRESS)
    with contextlib.suppress(OSError):
        for _ in range(3):
            endless.sendall(b"x" * client_line.MOST_BYTES)
    with contextlib.suppress(ConnectionResetError):
        assert endless.recv(1) == b""
    endless.close()
    assert session.hook() == ("BY THE SERVER", "")
    assert session.hook(tool_calls=["x" * 2 * client_line.MOST_BYTES])[0] == "BY ITSELF"


def test_a_second_server_of_the_same_client_leaves_the_answering_to_the_first(
    session: Session, served: Callable[..., Any]
) -> None:
    second = served(session.project.folder, CLAUDE_CODE_SESSION_ID="s2")
    second.begin()
    assert not second.call("siblings")[1]
    assert session.hook() == ("BY THE SERVER", "")
    assert client_line.listen(os.getpid()) is None
