"""A tree per task: made once, found again after anything, never removed with work in it (D24, B34)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import BadId, TreeNotReady
from musician.trees.branches import branch_of, integration_branch
from musician.trees.registrations import clear_stale_locks, drop_entry, entry_of
from musician.trees.root import Root, find_root
from musician.trees.worktree import Worktree, ensure_worktree

GitCommand = Callable[..., str]


def _ensure(root: Root, task_id: str = "task-01", start: str = "trunk") -> Worktree:
    return ensure_worktree(root, "greeter", task_id, start)


def _files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".git"}


WHOLE = {"a.txt", "b.txt", "dir", ".gitignore", "temp"}


def test_a_tree_is_made_on_its_branch_at_its_place(root: Root, git: GitCommand) -> None:
    tree = _ensure(root)
    assert tree.path == root.path / ".musician" / "trees" / "greeter" / "task-01"
    assert tree.branch == "musician/greeter/task-01"
    assert git(tree.path, "symbolic-ref", "HEAD") == "refs/heads/musician/greeter/task-01"
    assert git(tree.path, "rev-parse", "HEAD") == git(root.path, "rev-parse", "trunk")
    assert _files(tree.path) == WHOLE
    assert (tree.path / "dir" / "ü ö.txt").read_text() == "u\n"
    assert git(tree.path, "status", "--porcelain", "-uall") == ""
    assert find_root(tree.path) == root


def test_a_tree_that_is_there_is_given_back_with_what_is_in_it(root: Root, git: GitCommand) -> None:
    tree = _ensure(root)
    (tree.path / "unfinished").write_text("half")
    git(root.path, "commit", "-q", "--allow-empty", "-m", "later")
    assert _ensure(root) == tree
    assert (tree.path / "unfinished").read_text() == "half"
    assert git(tree.path, "rev-parse", "HEAD") == git(root.path, "rev-parse", "trunk~1")


def test_a_branch_that_is_there_is_reused(root: Root, git: GitCommand) -> None:
    git(root.path, "branch", "musician/greeter/task-01", "trunk")
    git(root.path, "commit", "-q", "--allow-empty", "-m", "later")
    tree = _ensure(root)
    assert git(tree.path, "rev-parse", "HEAD") == git(root.path, "rev-parse", "trunk~1")


def test_temp_of_a_tree_is_the_main_trees_even_through_a_symlink(root: Root, tmp_path: Path) -> None:
    root.temp_dir.symlink_to(tmp_path / "big disk")
    tree = _ensure(root)
    (tree.path / "temp" / "task-01.status").write_text("x")
    assert (tmp_path / "big disk" / "task-01.status").read_text() == "x"


def test_a_repository_with_its_own_temp_keeps_it(root: Root, git: GitCommand) -> None:
    (root.path / "temp").mkdir()
    (root.path / "temp" / "theirs").touch()
    git(root.path, "add", "-f", "temp/theirs")
    git(root.path, "commit", "-q", "-m", "temp")
    tree = _ensure(root)
    assert not (tree.path / "temp").is_symlink()
    shutil.rmtree(tree.path / "temp")
    assert _ensure(root) == tree
    assert not os.path.lexists(tree.path / "temp")


def test_a_temp_link_that_leads_nowhere_is_mended(root: Root) -> None:
    tree = _ensure(root)
    (tree.path / "temp").unlink()
    (tree.path / "temp").symlink_to("/nowhere/temp")
    _ensure(root)
    assert (tree.path / "temp").resolve() == root.temp_dir.resolve()


def test_a_tree_deleted_by_hand_is_made_again_with_its_commits(root: Root, git: GitCommand) -> None:
    tree = _ensure(root)
    (tree.path / "work").touch()
    git(tree.path, "add", "work")
    git(tree.path, "commit", "-q", "-m", "work")
    git(root.path, "worktree", "add", "-q", "--detach", str(root.path.parent / "of user"))
    shutil.rmtree(root.path.parent / "of user")
    shutil.rmtree(tree.path)
    assert _files(_ensure(root).path) == WHOLE | {"work"}
    assert "of user" in git(root.path, "worktree", "list"), "only our own entry may be pruned"


def test_all_of_the_programs_folder_deleted_by_hand_is_made_again(root: Root) -> None:
    _ensure(root)
    _ensure(root, "task-02")
    shutil.rmtree(root.musician_dir)
    assert _files(_ensure(root).path) == WHOLE
    assert _files(_ensure(root, "task-02").path) == WHOLE


def test_a_deleted_git_file_is_put_back_and_the_work_kept(root: Root, git: GitCommand) -> None:
    tree = _ensure(root)
    (tree.path / "a.txt").write_text("unfinished\n")
    (tree.path / ".git").unlink()
    _ensure(root)
    assert git(tree.path, "status", "--porcelain") == " M a.txt"


@pytest.mark.parametrize(
    "state", ["locked", "no index", "no HEAD", "empty folder", "no folder", "partly checked out"]
)
def test_a_creation_that_was_killed_is_completed(root: Root, git: GitCommand, state: str) -> None:
    path = _ensure(root).path
    entry = entry_of(root, path)
    assert entry is not None
    (entry / "locked").write_text("initializing\n")
    if state == "no index":
        for name in _files(path):
            shutil.rmtree(path / name) if (path / name).is_dir() and name != "temp" else (
                path / name
            ).unlink()
        (entry / "index").unlink()
    elif state == "partly checked out":
        (path / "b.txt").unlink()
        (entry / "index").unlink()
        (entry / "index.lock").touch()
    elif state in ("no HEAD", "empty folder", "no folder"):
        shutil.rmtree(path)
        if state != "no folder":
            path.mkdir()
        if state == "no HEAD":
            (path / ".git").write_text(f"gitdir: {entry}\n")
        (entry / "HEAD").unlink()
        (entry / "index").unlink()
    tree = _ensure(root)
    assert _files(tree.path) == WHOLE
    assert git(tree.path, "status", "--porcelain", "-uall") == ""
    assert "locked" not in git(root.path, "worktree", "list")


def test_a_repository_that_was_moved_takes_its_trees_along(
    root: Root, tmp_path: Path, git: GitCommand
) -> None:
    tree = _ensure(root)
    (tree.path / "a.txt").write_text("unfinished\n")
    gone = _ensure(root, "task-02")
    shutil.rmtree(gone.path)
    moved = tmp_path / "moved é"
    root.path.rename(moved)
    new_root = find_root(moved)
    tree = _ensure(new_root)
    assert tree.path.is_relative_to(moved)
    assert (tree.path / "a.txt").read_text() == "unfinished\n"
    assert (tree.path / "temp").resolve() == (moved / "temp").resolve()
    assert find_root(tree.path) == new_root
    assert _files(_ensure(new_root, "task-02").path) == WHOLE


def test_a_copied_repository_never_touches_the_originals_trees(
    root: Root, tmp_path: Path, git: GitCommand
) -> None:
    tree = _ensure(root)
    (tree.path / "a.txt").write_text("of the original\n")
    shutil.copytree(root.path, tmp_path / "copy", symlinks=True)
    copy = find_root(tmp_path / "copy")
    with pytest.raises(TreeNotReady) as caught:
        _ensure(copy)
    assert caught.value.paths == (str(copy.trees_dir / "greeter" / "task-01"),)
    shutil.rmtree(copy.trees_dir)
    made = _ensure(copy)
    (made.path / "b.txt").write_text("of the copy\n")
    assert git(tree.path, "status", "--porcelain") == " M a.txt"
    assert git(made.path, "status", "--porcelain") == " M b.txt"


@pytest.mark.parametrize("stranger", ["file", "folder", "repository", "link", "dangling link"])
def test_something_else_in_the_place_is_named_and_left(
    root: Root, tmp_path: Path, git: GitCommand, stranger: str
) -> None:
    place = root.trees_dir / "greeter" / "task-01"
    place.parent.mkdir(parents=True)
    if stranger == "file":
        place.write_text("x")
    elif stranger == "folder":
        place.mkdir()
        (place / "precious").touch()
    elif stranger == "repository":
        git(root.path, "init", "-q", str(place))
    else:
        place.symlink_to(tmp_path if stranger == "link" else "/nowhere")
    with pytest.raises(TreeNotReady) as caught:
        _ensure(root)
    assert caught.value.paths == (str(place),)
    assert os.path.lexists(place)


def test_a_branch_checked_out_elsewhere_is_named(root: Root, tmp_path: Path, git: GitCommand) -> None:
    git(root.path, "worktree", "add", "-q", str(tmp_path / "mine"), "-b", "musician/greeter/task-01")
    with pytest.raises(TreeNotReady, match="checked out elsewhere") as caught:
        _ensure(root)
    assert caught.value.paths == (str(tmp_path / "mine"),)
    shutil.rmtree(tmp_path / "mine")
    assert _files(_ensure(root).path) == WHOLE


def test_a_branch_in_the_users_own_tree_is_named(root: Root, git: GitCommand) -> None:
    git(root.path, "checkout", "-q", "-b", "musician/greeter/task-01")
    with pytest.raises(TreeNotReady, match="checked out elsewhere"):
        _ensure(root)


@pytest.mark.parametrize("name", ["musician", "musician/greeter"])
def test_a_users_branch_in_the_way_of_the_name_is_named(root: Root, git: GitCommand, name: str) -> None:
    git(root.path, "branch", name)
    with pytest.raises(TreeNotReady, match=f"branch '{name}' is in the way") as caught:
        _ensure(root)
    assert f"git branch -m {name} " in caught.value.remedy


def test_a_branch_deleted_under_its_tree_is_made_again_and_the_files_stay(
    root: Root, git: GitCommand
) -> None:
    tree = _ensure(root)
    (tree.path / "work").touch()
    git(root.path, "update-ref", "-d", f"refs/heads/{tree.branch}")
    _ensure(root)
    assert git(tree.path, "rev-parse", "HEAD") == git(root.path, "rev-parse", "trunk")
    assert (tree.path / "work").exists()


def test_an_unknown_start_is_refused(root: Root) -> None:
    with pytest.raises(TreeNotReady, match="no commit"):
        _ensure(root, start="--nonsense")


@pytest.mark.parametrize("bad", ["../x", "", "a/b", "_integration", "x.lock", "task-00"])
def test_bad_ids_are_refused_before_anything_is_touched(root: Root, bad: str) -> None:
    for plan_id, task_id in (("greeter", bad), (bad, "task-01")):
        with pytest.raises(BadId):
            branch_of(plan_id, task_id)
    with pytest.raises(BadId):
        integration_branch(bad)
    with pytest.raises(BadId) as caught:
        ensure_worktree(root, bad, "task-01", "trunk")
    assert caught.value.kind == "plan"
    assert not root.musician_dir.exists()


def test_a_place_that_cannot_be_made_is_one_clear_error(root: Root) -> None:
    root.musician_dir.write_text("a file where a folder should be")
    with pytest.raises(TreeNotReady, match="cannot be set up"):
        _ensure(root)


def test_stale_locks_of_our_trees_are_removed(root: Root, git: GitCommand) -> None:
    tree = _ensure(root)
    git_dir = Path(git(tree.path, "rev-parse", "--absolute-git-dir"))
    partials = root.git_dir / "refs" / "musician" / "partial" / "greeter" / "task-01"
    partials.mkdir(parents=True)
    locks = [
        git_dir / "index.lock",
        git_dir / "HEAD.lock",
        root.git_dir / "refs" / "heads" / f"{tree.branch}.lock",
        partials / "3.lock",
    ]
    for lock in locks:
        lock.touch()
    _ensure(root)
    assert not any(lock.exists() for lock in locks)


def test_locks_of_other_trees_are_never_removed(root: Root, tmp_path: Path, git: GitCommand) -> None:
    git(root.path, "worktree", "add", "-q", "--detach", str(tmp_path / "of user"))
    for tree in (root.path, tmp_path / "of user", tmp_path):
        with pytest.raises(TreeNotReady, match="not one of the program's own"):
            clear_stale_locks(root, tree, "musician/greeter/task-01")


def test_only_entries_of_this_repository_can_be_dropped(root: Root, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no entry"):
        drop_entry(root, tmp_path)
    assert tmp_path.exists()
