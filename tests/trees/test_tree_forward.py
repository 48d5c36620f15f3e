"""Nothing of the user's is overwritten by the move of his branch, and no crash leaves it half done (D24, D31)."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.trees.base import FastForward, Move, fast_forward
from musician.trees.branches import integration_branch
from musician.trees.root import Root

GitCommand = Callable[..., str]
INTEGRATION = integration_branch("greeter")


@pytest.fixture
def plan(root: Root, tmp_path: Path, git: GitCommand) -> Path:
    """A tree in which the plan's branch is checked out: what is committed there is what the plan has made."""
    tree = tmp_path / "plan"
    git(root.path, "worktree", "add", "-q", "-b", INTEGRATION, str(tree), "trunk")
    return tree


def _commit(git: GitCommand, plan: Path) -> str:
    git(plan, "add", "-A", "-f")
    git(plan, "commit", "-q", "-m", "made")
    return git(plan, "rev-parse", "HEAD")


def _all(folder: Path) -> dict[str, bytes | str]:
    """Every file and link of a working tree, with its content."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        if ".git" not in path.relative_to(folder).parts and (path.is_symlink() or path.is_file()):
            name = str(path.relative_to(folder))
            found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes()
    return found


Obstacle = tuple[Callable[[Path], object], Callable[[Path], object], str]
"""What the user has, what the plan makes, and what is named."""


def _file(name: str, text: str = "mine\n") -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return make


def _link(name: str, to: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).symlink_to(to)


def _nested(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        subprocess.run(["git", "init", "-q", str(folder / name)], check=True, env=env)
        (folder / name / "own.txt").write_text("mine\n")

    return make


OBSTACLES: dict[str, Obstacle] = {
    "an ignored file": (_file("local.ignored"), _file("local.ignored", "theirs\n"), "local.ignored"),
    "an ignored file with the same content": (_file("x.ignored"), _file("x.ignored"), "x.ignored"),
    "an untracked file": (_file("new.txt"), _file("new.txt", "theirs\n"), "new.txt"),
    "an ignored folder and a link": (
        _file("deps.ignored/only"),
        _link("deps.ignored", "a.txt"),
        "deps.ignored/",
    ),
    "an ignored folder and a file": (
        _file("deps.ignored/only"),
        _file("deps.ignored", "theirs\n"),
        "deps.ignored/",
    ),
    "an ignored file and a folder": (
        _file("deps.ignored"),
        _file("deps.ignored/x", "theirs\n"),
        "deps.ignored",
    ),
    "an ignored link and a folder": (
        _link("deps.ignored", "dir"),
        _file("deps.ignored/x", "theirs\n"),
        "deps.ignored",
    ),
    "a link that leads nowhere": (_link("gone.ignored", "nowhere"), _file("gone.ignored"), "gone.ignored"),
    "a nested repository": (_nested("nest.ignored"), _file("nest.ignored/x", "theirs\n"), "nest.ignored/"),
    "an odd name": (_file("Ü\n.ignored"), _file("Ü\n.ignored", "theirs\n"), "Ü\n.ignored"),
}


@pytest.mark.parametrize("kind", OBSTACLES)
def test_what_git_does_not_track_is_never_overwritten(
    kind: str, root: Root, plan: Path, git: GitCommand
) -> None:
    """AUDIT-U2: the branch stays, the path is named, and the command that is given overwrites nothing either."""
    of_user, of_plan, named = OBSTACLES[kind]
    of_user(root.path)
    of_plan(plan)
    commit = _commit(git, plan)
    before, at = _all(root.path), git(root.path, "rev-parse", "trunk")
    moved = fast_forward(root, "trunk", INTEGRATION)
    assert (moved.move, git(root.path, "rev-parse", "trunk")) == (Move.NOT_POSSIBLE, at)
    assert f"({named})" in str(moved.reason)
    git(root.path, *shlex.split(str(moved.command))[1:], may_fail=True)
    assert {name: content for name, content in _all(root.path).items() if name in before} == before
    if git(root.path, "rev-parse", "trunk") == at:  # git does go into somebody's repository
        (root.path / named.rstrip("/")).rename(root.path.parent / "moved away")
        assert fast_forward(root, "trunk", INTEGRATION) == FastForward(move=Move.MOVED)
    assert git(root.path, "rev-parse", "trunk") == commit
    assert git(root.path, "status", "--porcelain", "-uno") == ""


def test_a_tracked_file_may_become_a_folder_and_a_folder_a_file(
    root: Root, plan: Path, git: GitCommand
) -> None:
    """AUDIT-U2: what git tracks is the plan's to change; only what else lies there is in the way."""
    (root.path / "dir" / "own.ignored").touch()
    git(plan, "rm", "-q", "-r", "dir", "a.txt")
    (plan / "dir").write_text("a file now\n")
    _file("a.txt/inside")(plan)
    _commit(git, plan)
    assert "(dir/)" in str(fast_forward(root, "trunk", INTEGRATION).reason)
    (root.path / "dir" / "own.ignored").unlink()
    assert fast_forward(root, "trunk", INTEGRATION) == FastForward(move=Move.MOVED)
    assert (root.path / "dir").read_text() == "a file now\n"
    assert (root.path / "a.txt" / "inside").exists()


# -- moves that are cut off --------------------------------------------------------------------------------------


@pytest.fixture
def made(root: Root, plan: Path, git: GitCommand) -> str:
    """The plan has added, changed, removed and made executable."""
    _file("new/deep/one.txt", "one\n" * 1000)(plan)
    (plan / "a.txt").write_text("changed\n")
    (plan / "b.txt").unlink()
    (plan / "dir" / "ü ö.txt").chmod(0o755)
    _link("to dir", "dir")(plan)
    _file("z.deadly", "the last file\n")(plan)
    return _commit(git, plan)


def _break_the_ref(root: Root) -> Path:
    """Where git writes down that the branch was moved stands something that cannot be written."""
    log = root.git_dir / "logs" / "refs" / "heads" / "trunk"
    log.unlink()
    log.mkdir()
    (log / "in the way").touch()
    return log


def test_a_branch_that_cannot_be_written_leaves_tree_and_index_as_they_were(
    root: Root, made: str, git: GitCommand
) -> None:
    """AUDIT-S1: files and index were at the plan's commit, the branch was not, and the run said all was well."""
    log = _break_the_ref(root)
    before, at = _all(root.path), git(root.path, "rev-parse", "trunk")
    moved = fast_forward(root, "trunk", INTEGRATION)
    assert (moved.move, git(root.path, "rev-parse", "trunk")) == (Move.FAILED, at)
    assert (_all(root.path), git(root.path, "status", "--porcelain")) == (before, "")
    assert not (root.path / "new").exists()
    (log / "in the way").unlink()
    log.rmdir()
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.MOVED
    assert (git(root.path, "rev-parse", "trunk"), git(root.path, "status", "--porcelain")) == (made, "")


def _kill_at_the_last_file(root: Root, git: GitCommand, *, times: int) -> None:
    """A filter that kills the git which runs it, so often, when it checks ``z.deadly`` out."""
    count = root.git_dir / "deaths"
    smudge = root.git_dir / "smudge"
    smudge.write_text(
        f"#!/bin/sh\n[ $(wc -c < '{count}') -lt {times} ] && {{ printf x >> '{count}'; kill -9 $KILL_TOO 0; }}\ncat\n"
    )
    smudge.chmod(0o755)
    count.touch()
    git(root.path, "config", "filter.deadly.smudge", f"'{smudge}'")
    (root.git_dir / "info" / "attributes").write_text("*.deadly filter=deadly\n")


def test_a_git_killed_in_the_middle_is_undone_at_once(root: Root, made: str, git: GitCommand) -> None:
    """AUDIT-S1: the files it had written already were left in the user's tree, as changes of his."""
    _kill_at_the_last_file(root, git, times=1)
    before, at = _all(root.path), git(root.path, "rev-parse", "trunk")
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.FAILED
    assert (_all(root.path), git(root.path, "rev-parse", "trunk")) == (before, at)
    assert git(root.path, "status", "--porcelain") == ""
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.MOVED
    assert (git(root.path, "rev-parse", "trunk"), git(root.path, "status", "--porcelain")) == (made, "")


_MOVE = """
import os, sys
from pathlib import Path
os.environ["KILL_TOO"] = str(os.getpid())
from musician.trees.base import fast_forward
from musician.trees.root import find_root
print(fast_forward(find_root(Path(sys.argv[1])), "trunk", sys.argv[2]).move)
"""


@pytest.mark.parametrize("edited", [False, True])
def test_a_run_killed_in_the_middle_is_put_right_by_the_next(
    edited: bool, root: Root, made: str, git: GitCommand, tmp_path: Path
) -> None:
    """AUDIT-S1: with it dies who could undo; what the user has edited since then stays."""
    _kill_at_the_last_file(root, git, times=1)
    ran = subprocess.run([sys.executable, "-c", _MOVE, str(root.path), INTEGRATION], capture_output=True)
    assert ran.returncode == -9, ran
    assert (root.path / "a.txt").read_text() == "changed\n"
    (root.path / "new" / "deep" / "one.txt").write_text("one\n")  # as a write that was cut off leaves it
    if edited:
        (root.path / "a.txt").write_text("edited since\n")
    moved = fast_forward(root, "trunk", INTEGRATION)
    if edited:
        assert moved.move is Move.NOT_POSSIBLE
        assert git(root.path, "status", "--porcelain") == " M a.txt"
        git(root.path, "checkout", "-q", "a.txt")
        moved = fast_forward(root, "trunk", INTEGRATION)
    assert moved.move is Move.MOVED
    assert (git(root.path, "rev-parse", "trunk"), git(root.path, "status", "--porcelain")) == (made, "")
    assert not (root.git_dir / "index.lock").exists()


def test_a_branch_that_was_moved_and_lacks_its_index_gets_it(root: Root, made: str, git: GitCommand) -> None:
    """AUDIT-S1: the branch is moved before the index is put in place; a kill between the two is finished."""
    old = git(root.path, "rev-parse", "trunk")
    index = (root.git_dir / "index").read_bytes()
    git(root.path, "merge", "-q", "--ff-only", INTEGRATION)
    (root.git_dir / "index").write_bytes(index)
    (root.git_dir / "index.lock").write_text(f"musician is moving {old} {made} trunk\n")
    moved = fast_forward(root, "trunk", INTEGRATION)
    assert moved.move is Move.ALREADY, moved.reason
    assert (git(root.path, "rev-parse", "trunk"), git(root.path, "status", "--porcelain")) == (made, "")


def test_index_and_files_without_the_branch_are_finished(root: Root, made: str, git: GitCommand) -> None:
    """AUDIT-S1: as an older version left it; every later run blamed changes of the user's."""
    git(root.path, "read-tree", "-m", "-u", "HEAD", made)
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.MOVED
    assert (git(root.path, "rev-parse", "trunk"), git(root.path, "status", "--porcelain")) == (made, "")
