"""A repository with an opened task, and the two ways to call a hook: its ``main`` in this process, and the program."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import musician
from musician import service
from musician.hooks.entry import main
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.runtime.locking import lock_plan_file
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from musician.trees.root import exclude_private, find_root
from tests.surroundings import GREETER, begin, git

PLAN = (
    GREETER.format(test="python3 -m unittest -q")
    + """\
### task-03: Add the greeting ✓
#### Step 1: Write it
Write `greet(name)` into greeter.py.
#### Checkpoint 1: it greets
#### Step 2: Polish it
Mind the accents.

### task-04: Add the farewell
#### Step 1: Write it
Write `part(name)`.
"""
)


@dataclass(frozen=True)
class Answered:
    """A hook's one answer, None for silence."""

    document: dict[str, Any] | None

    @property
    def context(self) -> str:
        """What the model is told; "" if nothing."""
        return str(((self.document or {}).get("hookSpecificOutput") or {}).get("additionalContext", ""))

    @property
    def blocks(self) -> str:
        """Why the client may not go on; "" if it may."""
        document = self.document or {}
        return str(document.get("reason", "")) if document.get("decision") == "block" else ""

    @property
    def denies(self) -> str:
        """Why a tool call is refused; "" if it is not."""
        specific = (self.document or {}).get("hookSpecificOutput") or {}
        denied = specific.get("permissionDecision") == "deny"
        return str(specific.get("permissionDecisionReason", "")) if denied else ""

    @property
    def notice(self) -> str:
        """What the person at the terminal is told; "" if nothing."""
        return str((self.document or {}).get("systemMessage", ""))


@pytest.fixture(name="git")
def git_command() -> Callable[..., str]:
    return git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One commit with a plan, and we stand in it. Nothing of Musician's yet."""
    folder = begin(tmp_path / "My Proj (é) $x", {"PLAN.md": PLAN})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def first_locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository set up and its plan locked; nothing in it names its place."""
    folder = begin(tmp_path_factory.mktemp("locked") / "first", {"PLAN.md": PLAN})
    root = find_root(folder)
    root.musician_dir.mkdir()
    exclude_private(root)
    with closing(SqliteStore.create(root.database)) as made:
        lock_plan_file(root, made, folder / "PLAN.md", Settings())
    return folder


@pytest.fixture
def store(first_locked: Path, repository: Path) -> Iterator[SqliteStore]:
    """The repository as :func:`first_locked`: task-03 and task-04 wait for a musician."""
    for name in (".musician", "temp"):  # with the time of now: of an old database less is asked
        shutil.copytree(first_locked / name, repository / name, symlinks=True, copy_function=shutil.copy)
    shutil.copyfile(first_locked / ".git/info/exclude", repository / ".git/info/exclude")
    opened = SqliteStore.open(find_root(repository).database)
    yield opened
    opened.close()


@pytest.fixture
def claim(store: SqliteStore) -> Claim:
    """Session sess-aaa holds task-03."""
    return service.claim(store, "task-03", "sess-aaa", settings=Settings()).claim


@pytest.fixture
def own_tree(claim: Claim, repository: Path) -> Path:
    """The claim's own tree, with two commits on its branch."""
    plan = "greeter"
    tree = repository / ".musician" / "trees" / plan / claim.task_id
    commands = f"""
        git config user.name a; git config user.email a@b
        git branch theirs
        git worktree add -q -b musician/{plan}/{claim.task_id} .musician/trees/{plan}/{claim.task_id}
        cd .musician/trees/{plan}/{claim.task_id}
        echo a > a.txt && git add a.txt && git commit -q -m one && echo b > a.txt && git commit -q -a -m two
        git stash list > /dev/null && echo c > a.txt && git stash -q && git tag v1
    """
    subprocess.run(["bash", "-ec", commands], cwd=repository, check=True)
    return tree


@pytest.fixture
def backdate(store: SqliteStore) -> Callable[[int], None]:
    """Let task-03's heartbeat be so many seconds old."""

    def age(seconds: int) -> None:
        store.connection.execute(
            "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', ?) WHERE task_id = 'task-03'",
            (f"{-seconds} seconds",),
        )

    return age


Hook = Callable[..., Answered]


@pytest.fixture
def hook(capfd: pytest.CaptureFixture[str]) -> Hook:
    """Call a hook in this process: its one answer, or None. ``saying`` must be found on standard error."""

    def call(event: str, *, saying: str = "", document: bytes | None = None, **keys: Any) -> Answered:
        said = {"hook_event_name": event, "session_id": "sess-aaa", **keys}
        out = BytesIO()
        capfd.readouterr()
        assert main([event], BytesIO(json.dumps(said).encode() if document is None else document), out) == 0
        printed, err = capfd.readouterr()
        assert printed == ""
        assert "Traceback" not in err
        assert saying in err
        return one_document(out.getvalue())

    return call


def one_document(out: bytes) -> Answered:
    """Nothing, or exactly one JSON object whose specific output names its event (B06)."""
    if not out.strip():
        return Answered(None)
    text = out.decode().lstrip()
    document, end = json.JSONDecoder().raw_decode(text)
    assert isinstance(document, dict)
    assert not text[end:].strip()
    specific = document.get("hookSpecificOutput")
    assert specific is None or specific.get("hookEventName")
    return Answered(document)


PATHS = [str(Path(musician.__file__).parents[1]), sysconfig.get_path("platlib")]
BOOT = "import sys; sys.path[:0] = {paths!r}; from musician.hooks.entry import program; sys.exit(program(sys.argv[1:]))"


@pytest.fixture
def boot() -> list[str]:
    """How the plugin starts a hook: no site, no environment, the two folders it needs."""
    python = os.path.realpath(sys.executable)
    return [python, "-I", "-S", "-X", "utf8", "-c", BOOT.format(paths=PATHS)]


@pytest.fixture
def hook_process(boot: list[str]) -> Hook:
    """Call a hook as the client does: a process of its own."""

    def call(event: str, *, env: Mapping[str, str] | None = None, **keys: Any) -> Answered:
        said = {"hook_event_name": event, "session_id": "sess-aaa", **keys}
        done = subprocess.run(
            [*boot, event],
            input=json.dumps(said).encode(),
            env={**os.environ, **(env or {})},
            capture_output=True,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return one_document(done.stdout)

    return call


LOADED = (
    "import sys; sys.path[:0] = {paths!r}; from musician.hooks.entry import main;"
    " main(sys.argv[1:], sys.stdin.buffer, sys.stderr.buffer); print(*sys.modules)"
)


@pytest.fixture
def loaded_by(boot: list[str]) -> Callable[..., set[str]]:
    """The modules that a hook with nothing to say has imported."""

    def call(event: str, **keys: Any) -> set[str]:
        argv = [*boot[:-1], LOADED.format(paths=PATHS), event]
        done = subprocess.run(
            argv, input=json.dumps(keys).encode(), capture_output=True, timeout=HANG_S, check=True
        )
        assert done.stderr == b""
        return set(done.stdout.decode().split())

    return call
