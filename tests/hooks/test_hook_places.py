"""Where an event belongs: the root that git would name, found without git; and what is done when that is not well."""

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.hooks.entry import EVENTS
from musician.hooks.hook_context import PATIENCE_S, find_database
from musician.protocol.claim import Claim
from musician.protocol.errors import NoRepository
from musician.store.sqlite.store import SqliteStore
from musician.trees.finding import find_tree
from musician.trees.root import find_root, told_by_git

if TYPE_CHECKING:
    from tests.hooks.conftest import Answered, Hook

OURS = sorted(EVENTS.keys() - {"PreToolUse", "Stop"})
"""The two gates decide for themselves."""

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ways(repository: Path, tmp_path: Path, git: Callable[..., str]) -> dict[str, Path]:
    """Where one may stand in one repository, and beside it."""
    (repository / "sub" / "folder").mkdir(parents=True)
    linked = tmp_path / "linked tree"
    git(repository, "worktree", "add", "-q", "--detach", str(linked))
    (linked / "deep").mkdir()
    link = tmp_path / "link"
    link.symlink_to(repository)
    library = tmp_path / "library"
    git(tmp_path, "init", "-q", str(library))
    git(library, "commit", "-q", "--allow-empty", "-m", "begin")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    module_tree = tmp_path / "module tree"
    git(repository / "lib", "worktree", "add", "-q", "--detach", str(module_tree))
    apart = tmp_path / "apart"
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "store.git"), str(apart))
    git(apart, "commit", "-q", "--allow-empty", "-m", "begin")
    apart_tree = tmp_path / "apart tree"
    git(apart, "worktree", "add", "-q", "--detach", str(apart_tree))
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare.git"))
    around = tmp_path / "around"
    git(tmp_path, "clone", "-q", "--bare", str(library), str(around / ".bare"))
    (around / ".git").write_text("gitdir: ./.bare\n", encoding="utf-8")
    git(around, "worktree", "add", "-q", "--detach", str(around / "linked"))
    return {
        "a folder around a bare one": around,
        "a tree in that": around / "linked",
        "main": repository,
        "subfolder": repository / "sub" / "folder",
        "linked": linked,
        "in the linked": linked / "deep",
        "symlink": link / "sub",
        "submodule": repository / "lib",
        "its linked tree": module_tree,
        "git folder elsewhere": apart,
        "a tree of that": apart_tree,
        "bare": tmp_path / "bare.git",
        "none": tmp_path,
    }


def test_the_root_is_the_one_that_git_names(ways: dict[str, Path]) -> None:
    """From the main tree, a linked one, a subfolder, a link, a submodule (B35)."""
    expected, found = {}, {}
    for way, folder in ways.items():
        told = find_tree(str(folder))
        found[way] = told and told[0]
        try:
            expected[way] = str(told_by_git(folder).path)
            assert str(find_root(folder).path) == expected[way]
        except NoRepository:
            expected[way] = None  # type: ignore[assignment]
    assert found == expected
    assert len({found[way] for way in ("main", "subfolder", "linked", "in the linked", "symlink")}) == 1


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir: \0", "gitdir: /nowhere/at/all\n"])
def test_a_git_file_that_leads_nowhere_makes_no_trouble(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content, encoding="utf-8")
    context = find_database({}, str(tmp_path))
    assert context is None or not context.exists


def test_a_named_database_wins_and_the_project_counts_for_more_than_the_folder(
    repository: Path, tmp_path: Path
) -> None:
    """MUSICIAN_DB as in every command; a URL of another kind is none of ours."""
    here = str(tmp_path)
    project = {"CLAUDE_PROJECT_DIR": str(repository)}
    found = find_database(project, here)
    assert found is not None
    assert found.database == str(repository / ".musician" / "comms.db")
    named = find_database({**project, "MUSICIAN_DB": "other.db"}, here)
    assert named is not None
    assert (named.tree, named.database) == (str(repository), str(tmp_path / "other.db"))
    named = find_database({**project, "MUSICIAN_DB": "sqlite:///other.db"}, here)
    assert named is not None
    assert named.database == str(tmp_path / "other.db")
    assert find_database({**project, "MUSICIAN_DB": "postgresql://host/db"}, here) is None
    gone = find_database({"CLAUDE_PROJECT_DIR": "/nowhere"}, str(repository))
    assert gone is not None
    assert gone.tree == str(repository)


def test_a_musician_in_its_linked_tree_is_known(
    hook: "Hook", claim: Claim, ways: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ways["in the linked"])
    assert "You are musician-task-03" in hook("SessionStart", source="resume").context


# -- trouble (B10) ----------------------------------------------------------------------------------------------------


@contextmanager
def _locked(store: SqliteStore) -> Iterator[None]:
    """Another program holds the write lock, and does not know the gate."""
    argv = [sys.executable, "-c", HOLD, str(store.path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.kill()


@contextmanager
def _gated(store: SqliteStore) -> Iterator[None]:
    """Another of our own programs does not come out of the gate."""
    with store.path.with_name(store.path.name + "-gate").open("a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield


@contextmanager
def _read_only(store: SqliteStore) -> Iterator[None]:
    """Its folder takes no gate, as where one may not write."""
    gate = store.path.with_name(store.path.name + "-gate")
    gate.unlink()
    gate.mkdir()
    yield
    gate.rmdir()


@contextmanager
def _corrupt(store: SqliteStore) -> Iterator[None]:
    store.close()
    store.path.write_bytes(b"not a database, but long enough to be read as a header" * 100)
    yield


@contextmanager
def _foreign(store: SqliteStore) -> Iterator[None]:
    store.close()
    store.path.unlink()
    make = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE t (a)')"
    subprocess.run([sys.executable, "-c", make, str(store.path)], check=True)
    yield


SAYS = {
    "SessionStart": "CLAUDE_SESSION_ID=sess-aaa",
    "UserPromptExpansion": "NOT CLAIMED: ",
}
"""What the two that answer in any case say; the others let the client go on, and the log says why."""


@pytest.mark.parametrize("event", OURS)
@pytest.mark.parametrize("trouble", [_corrupt, _foreign])
def test_b10_a_database_that_cannot_be_read_is_named_and_the_client_goes_on(
    hook: "Hook", store: SqliteStore, claim: Claim, trouble: Callable[..., object], event: str
) -> None:
    """Nobody can say any more whose session it is: nothing is blocked (B10)."""
    with trouble(store):  # type: ignore[attr-defined]
        answered = _ask(hook, event, saying=str(store.path))
    _check(answered, event, store)


@pytest.mark.parametrize("event", ["SessionStart", "PostToolBatch", "PreCompact", "UserPromptExpansion"])
@pytest.mark.parametrize("trouble", [_locked, _gated, _read_only])
def test_b10_a_database_that_cannot_be_written_is_answered_in_good_time(
    hook: "Hook",
    store: SqliteStore,
    claim: Claim,
    trouble: Callable[..., object],
    event: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What can be known by reading still holds: a musician is not compacted (B10)."""
    assert PATIENCE_S * 2 < 30, "the shortest time limit of a hook that may wait twice"
    monkeypatch.setattr("musician.hooks.hook_context.PATIENCE_S", 0.2)
    with trouble(store):  # type: ignore[attr-defined]  # for ever: who answers has not waited for its end
        answered = _ask(hook, event, saying=str(store.path))
    if event == "PreCompact":
        assert "`/clear`" in answered.blocks
    else:
        _check(answered, event, store)
    assert service.claims_of(store, "sess-aaa") == (claim,)


@pytest.mark.parametrize("event", OURS)
def test_b10_a_database_that_is_gone_is_nobodys_business_but_a_musicians(
    hook: "Hook", store: SqliteStore, claim: Claim, event: str
) -> None:
    """Only who calls for a musician is told (B10); what a musician's own session hears is in test_guard_closed."""
    store.close()
    store.path.unlink()
    answered = _ask(hook, event)
    if event == "UserPromptExpansion":
        assert str(store.path) in answered.context
    else:
        assert answered.document is None
    assert not store.path.exists()


def _ask(hook: "Hook", event: str, *, saying: str = "") -> "Answered":
    return hook(
        event,
        saying=saying,
        source="resume",
        command_name="musician",
        command_args="task-04",
        prompt="<task-notification>",
        trigger="auto",
        agent_type="general-purpose",
    )


def _check(answered: "Answered", event: str, store: SqliteStore) -> None:
    assert answered.context.startswith(SAYS.get(event, ""))
    assert bool(answered.document) is (event in SAYS)
    assert not answered.blocks
    if event in SAYS:
        assert str(store.path) in answered.context + answered.notice
