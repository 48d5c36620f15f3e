"""What a script does through git is refused by git itself, in a musician's session and nowhere else (D21)."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import EntryKind
from musician.protocol.policy.forbidden import Act
from musician.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def remote(repository: Path, tmp_path: Path) -> Path:
    """A remote of the repository's, with its branch."""
    folder = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    subprocess.run(["git", "remote", "add", "origin", str(folder)], cwd=repository, check=True)
    return folder


@pytest.fixture
def shell(hook: "Hook", repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The shell of a session's commands, as SessionStart leaves its environment."""
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-push", "post-commit", "reference-transaction"):
        own = hooks / name
        own.write_text(f'#!/bin/sh\ncat >/dev/null\necho "own {name} $1" >> "$OWN_LOG"\n')
        own.chmod(0o755)
    monkeypatch.setenv("OWN_LOG", str(tmp_path / "own.log"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def run(script: str, *, session: str = "sess-aaa", **env: str) -> "subprocess.CompletedProcess[str]":
        file = tmp_path / f"{session}.env"
        file.write_text("")
        monkeypatch.setenv("CLAUDE_ENV_FILE", str(file))
        hook("SessionStart", session_id=session, source="startup")
        (tmp_path / "script.sh").write_text(script)
        command = f'. "{file}"; sh "{tmp_path / "script.sh"}"'
        who = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        surroundings: Mapping[str, str] = {**os.environ, **who, **env}
        return subprocess.run(
            ["bash", "-c", command],
            cwd=repository,
            env=surroundings,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def branches(remote: Path) -> str:
    return subprocess.run(
        ["git", "branch", "--list"], cwd=remote, capture_output=True, text=True, check=True
    ).stdout


def test_a_script_of_a_musicians_session_pushes_nothing(
    shell: Shell, claim: Claim, store: SqliteStore, remote: Path
) -> None:
    """D21.1: in the journal too."""
    done = shell("git push -q origin HEAD:trunk")
    assert done.returncode != 0
    assert "musician: Refused (push)" in done.stderr
    assert branches(remote) == ""
    assert service.journal_of(store, claim.task_id)[-1].kind == EntryKind.REFUSED


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("git branch mine", "making refs/heads/mine"),
        ("git checkout -q -b mine", "making refs/heads/mine"),
        ("git update-ref -d refs/heads/old", "deleting refs/heads/old"),
    ],
)
@pytest.mark.usefixtures("claim")
def test_a_script_makes_and_deletes_no_branches(
    shell: Shell, repository: Path, script: str, said: str
) -> None:
    """D21.1."""
    subprocess.run(["git", "branch", "old"], cwd=repository, check=True)
    done = shell(script)
    assert done.returncode != 0
    assert said in done.stderr
    assert shell("git branch --list").stdout.split() == ["old", "*", "trunk"]


def test_what_was_granted_goes_through_and_the_users_own_hooks_run(
    shell: Shell, claim: Claim, store: SqliteStore, remote: Path, tmp_path: Path
) -> None:
    service.send(store, claim.task_id, "Push it.", grants=[Act.PUSH])
    done = shell("git commit -q --allow-empty -m x && git push -q origin HEAD:trunk")
    assert (done.returncode, done.stderr) == (0, "")
    assert "trunk" in branches(remote)
    own = (tmp_path / "own.log").read_text()
    assert "own post-commit" in own
    assert "own pre-push origin" in own
    assert "own reference-transaction prepared" in own


@pytest.mark.usefixtures("claim")
def test_other_sessions_and_other_repositories_are_untouched(
    shell: Shell, remote: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    done = shell(
        f'git branch mine && git push -q origin HEAD:trunk && git init -q "{elsewhere}" && cd "{elsewhere}" && '
        "git commit -q --allow-empty -m x && git branch theirs",
        session="sess-bbb",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "trunk" in branches(remote)


@pytest.mark.usefixtures("claim")
def test_a_hooks_folder_of_the_users_own_and_what_else_is_configured_stay(
    shell: Shell, repository: Path, tmp_path: Path
) -> None:
    subprocess.run(["git", "config", "core.hooksPath", "my hooks"], cwd=repository, check=True)
    (repository / "my hooks").mkdir()
    own = repository / "my hooks" / "pre-commit"
    own.write_text('#!/bin/sh\necho "mine" >> "$OWN_LOG"\n')
    own.chmod(0o755)
    before = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.nickname", "GIT_CONFIG_VALUE_0": "Zoë"}
    for name, value in before.items():
        os.environ[name] = value
    try:
        done = shell("git commit -q --allow-empty -m x; git config user.nickname")
    finally:
        for name in before:
            del os.environ[name]
    assert done.stdout == "Zoë\n"
    assert (tmp_path / "own.log").read_text() == "mine\n"
    assert (
        subprocess.run(
            ["git", "config", "core.hooksPath"], cwd=repository, capture_output=True, text=True, check=True
        ).stdout
        == "my hooks\n"
    )


@pytest.mark.usefixtures("claim")
def test_a_guard_whose_python_is_gone_stops_nobodys_git(
    shell: Shell, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B10: a session that was opened before it went has the guard in its shell still."""
    with monkeypatch.context() as patched:
        patched.setattr("sys.executable", "/nowhere/python3")
        done = shell("git push -q origin trunk", session="sess-zzz")
    assert done.returncode == 0, done.stderr
    assert "musician is gone" in done.stderr
    assert "trunk" in branches(remote)


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(("session", "goes_on"), [("sess-aaa", False), ("sess-bbb", True)])
def test_without_its_database_a_musicians_git_is_refused_and_nobody_elses(
    shell: Shell,
    claim: Claim,
    store: SqliteStore,
    hook: "Hook",
    session: str,
    *,
    goes_on: bool,
    is_there: bool,
) -> None:
    """AUDIT-C3, B10: a mark beside the repository says whose session it is."""
    assert (
        hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).document is None
    )  # it is marked by that
    assert shell("true", session=session).returncode == 0
    assert claim.task_id == "task-03"
    path = store.path
    store.close()
    path.write_bytes(b"no database " * 500)
    if not is_there:
        path.unlink()
    done = subprocess.run(
        ["bash", "-c", '. "$0"; git branch mine', os.environ["CLAUDE_ENV_FILE"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is goes_on
    assert "cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('git -C "$ROOT" commit -q --allow-empty -m x', "moving refs/heads/trunk"),
        ("git branch -f theirs HEAD", "moving refs/heads/theirs"),
        ("git update-ref refs/heads/trunk HEAD", "moving refs/heads/trunk"),
        ("git fetch -q . HEAD:theirs", "moving refs/heads/theirs"),
        ("git reset -q --hard HEAD~1", "back"),
        ("git reset -q --soft HEAD~1", "back"),
        ("git stash drop -q", "deleting refs/stash"),
        ("git tag -d v1", "deleting refs/tags/v1"),
        ("git branch -D theirs", "deleting refs/heads/theirs"),
    ],
)
def test_a_script_moves_no_branch_but_its_own_and_that_one_not_back(
    shell: Shell, own_tree: Path, repository: Path, script: str, said: str
) -> None:
    """AUDIT-K4: the user's branch above all."""
    before = subprocess.run(
        ["git", "for-each-ref"], cwd=repository, capture_output=True, text=True, check=True
    )
    done = shell(f'cd "$TREE"; {script}', ROOT=str(repository), TREE=str(own_tree))
    assert done.returncode != 0
    assert said in done.stderr
    after = subprocess.run(
        ["git", "for-each-ref"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert after.stdout == before.stdout


def test_a_script_commits_amends_stashes_merges_and_packs_in_its_own_tree(
    shell: Shell, own_tree: Path
) -> None:
    """AUDIT-C11: what is one's own stays free."""
    script = """
        set -e
        cd "$TREE"
        echo d > d.txt; git add d.txt; git commit -q -m three; git commit -q --amend -m four
        git cherry-pick -n HEAD~1 || true; git checkout -q HEAD -- .; git clean -qf
        git merge -q theirs; git tag v2; git gc -q; git pack-refs --all
        echo e > d.txt; git stash -q; git stash list; git fetch -q --all; git revert --no-edit HEAD
    """
    done = shell(script, TREE=str(own_tree))
    assert (done.returncode, "musician:" in done.stderr) == (0, False), done.stderr


@pytest.mark.usefixtures("claim")
def test_a_musicians_tests_may_push_between_repositories_of_their_own(shell: Shell, tmp_path: Path) -> None:
    """The guard asks for the repository that git works in: one without our database is nobody's."""
    script = f"""
        set -e
        cd "{tmp_path}"
        git init -q --bare there.git
        git init -q -b main here
        cd here
        git commit -q --allow-empty -m first
        git branch aside
        git push -q ../there.git main aside
    """
    done = shell(script)
    assert done.returncode == 0, done.stderr
    assert {"aside", "main"} <= set(branches(tmp_path / "there.git").split())
