"""Unfinished work is kept under a ref before it is taken out of the tree (D24)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import TreeNotReady
from musician.trees import partial
from musician.trees.partial import prune_partials, save_partial, set_aside_partial
from musician.trees.root import Root
from musician.trees.steps import commit_step
from musician.trees.worktree import Worktree, ensure_worktree

GitCommand = Callable[..., str]
REF = "refs/musician/partial/greeter/task-01/2"


@pytest.fixture
def tree(root: Root) -> Worktree:
    return ensure_worktree(root, "greeter", "task-01", "trunk")


def _mess(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "a.txt").write_text("half\n")
    (tree.path / "b.txt").unlink()
    (tree.path / "staged").write_text("staged\n")
    git(tree.path, "add", "staged")
    (tree.path / "deep" / "é").mkdir(parents=True)
    (tree.path / "deep" / "é" / "new").write_text("new\n")
    (tree.path / "cache.ignored").write_text("kept\n")


def _listing(tree: Worktree, git: GitCommand, ref: str) -> dict[str, str]:
    names = git(tree.path, "ls-tree", "-r", "-z", "--name-only", ref).removesuffix("\0").split("\0")
    return {name: git(tree.path, "show", f"{ref}:{name}") for name in names if name != ".gitignore"}


SAVED = {"a.txt": "half", "deep/é/new": "new", "dir/ü ö.txt": "u", "staged": "staged"}


def _restored(tree: Worktree, git: GitCommand) -> None:
    assert git(tree.path, "status", "--porcelain", "-uall") == ""
    assert git(tree.path, "symbolic-ref", "HEAD") == f"refs/heads/{tree.branch}"
    assert (tree.path / "a.txt").read_text() == "a\n"
    assert (tree.path / "temp").is_symlink()


def test_saving_keeps_everything_and_touches_nothing(tree: Worktree, git: GitCommand) -> None:
    _mess(tree, git)
    before = git(tree.path, "status", "--porcelain", "-uall"), git(tree.path, "rev-parse", "HEAD")
    assert save_partial(tree, task_id="task-01", epoch=2) == REF
    assert _listing(tree, git, REF) == SAVED
    assert git(tree.path, "rev-parse", f"{REF}^") == before[1]
    assert (git(tree.path, "status", "--porcelain", "-uall"), git(tree.path, "rev-parse", "HEAD")) == before


def test_a_clean_tree_saves_nothing(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "cache.ignored").touch()
    assert save_partial(tree, task_id="task-01", epoch=2) is None
    assert set_aside_partial(tree, task_id="task-01", epoch=2).ref is None
    assert git(tree.path, "for-each-ref", "refs/musician") == ""


def test_the_same_state_is_kept_once_and_another_beside_it(tree: Worktree, git: GitCommand) -> None:
    refs = []
    for content in ("1", "1", "2", "1", "3"):
        (tree.path / "new").write_text(content)
        refs.append(save_partial(tree, task_id="task-01", epoch=2))
    assert refs == [REF, REF, f"{REF}-2", REF, f"{REF}-3"]


def test_a_full_shelf_refuses_rather_than_loses(
    tree: Worktree, git: GitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial, "PARTIALS_MAX", 1)
    (tree.path / "new").write_text("1")
    set_aside_partial(tree, task_id="task-01", epoch=2)
    (tree.path / "new").write_text("2")
    with pytest.raises(TreeNotReady, match="kept already"):
        set_aside_partial(tree, task_id="task-01", epoch=2)
    assert (tree.path / "new").read_text() == "2"


def test_setting_aside_restores_the_last_commit_and_leaves_ignored_files(
    tree: Worktree, git: GitCommand
) -> None:
    _mess(tree, git)
    found = set_aside_partial(tree, task_id="task-01", epoch=2)
    assert (found.ref, found.left) == (REF, ())
    assert _listing(tree, git, REF) == SAVED
    _restored(tree, git)
    assert (tree.path / "cache.ignored").read_text() == "kept\n"
    assert not (tree.path / "deep").exists()


def test_a_nested_repository_stays_and_is_named(tree: Worktree, git: GitCommand) -> None:
    git(tree.path, "init", "-q", "nested")
    (tree.path / "nested" / "f").touch()
    (tree.path / "new").touch()
    found = set_aside_partial(tree, task_id="task-01", epoch=2)
    assert (found.ref, found.left) == (REF, ("nested/",))
    assert (tree.path / "nested" / "f").exists()
    assert not (tree.path / "new").exists()


def test_a_folder_where_a_file_was_is_brought_back(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "a.txt").unlink()
    (tree.path / "a.txt").mkdir()
    (tree.path / "a.txt" / "inner").write_text("x\n")
    set_aside_partial(tree, task_id="task-01", epoch=2)
    assert git(tree.path, "show", f"{REF}:a.txt/inner") == "x"
    _restored(tree, git)


def _side(tree: Worktree, git: GitCommand) -> None:
    """Commits on both sides that change the same line."""
    git(tree.root.path, "checkout", "-q", "-b", "side")
    (tree.root.path / "b.txt").write_text("side\n")
    git(tree.root.path, "commit", "-q", "-am", "side")
    git(tree.root.path, "checkout", "-q", "trunk")
    (tree.path / "b.txt").write_text("task\n")
    commit_step(tree, task_id="task-01", item="step 1", title="t", session_id="s", epoch=2)


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick", "revert", "am", "bisect"])
def test_a_half_done_operation_is_ended(
    tree: Worktree, git: GitCommand, tmp_path: Path, command: str
) -> None:
    _side(tree, git)
    tip = git(tree.path, "rev-parse", "HEAD")
    git_dir = Path(git(tree.path, "rev-parse", "--absolute-git-dir"))
    if command == "bisect":
        (tree.root.git_dir / "hooks" / "reference-transaction").unlink()
        git(tree.path, "bisect", "start", "HEAD", "HEAD~1")
        (tree.path / "b.txt").write_text("x\n")
    elif command == "am":
        (tmp_path / "patch").write_text(git(tree.path, "format-patch", "--stdout", "side", "-1") + "\n")
        git(tree.path, "am", "-q", str(tmp_path / "patch"), may_fail=True)
    elif command == "revert":
        git(tree.path, "commit", "-q", "--allow-empty", "-m", "x")
        (tree.path / "b.txt").write_text("later\n")
        git(tree.path, "commit", "-q", "-am", "later")
        tip = git(tree.path, "rev-parse", "HEAD")
        git(tree.path, "revert", "HEAD~2", "HEAD~1", may_fail=True)
    elif command == "cherry-pick":
        git(tree.path, "cherry-pick", "side", "side~1", may_fail=True)
    else:
        git(tree.path, command, "-q", "side", may_fail=True)
    assert bool(git(tree.path, "status", "--porcelain")) is (command != "am")
    set_aside_partial(tree, task_id="task-01", epoch=2)
    assert git(tree.path, "rev-parse", "HEAD") == tip == git(tree.path, "rev-parse", tree.branch)
    _restored(tree, git)
    left = {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"}
    assert not any((git_dir / name).exists() for name in left | {"BISECT_LOG"})
    assert git(tree.path, "for-each-ref", "refs/bisect") == ""
    (tree.path / "b.txt").write_text("again\n")
    assert (
        commit_step(tree, task_id="task-01", item="step 2", title="t", session_id="s", epoch=3).commit != tip
    )


@pytest.mark.parametrize("own_branch", [True, False])
def test_a_head_led_astray_is_brought_home_and_its_commits_kept(
    tree: Worktree, git: GitCommand, own_branch: bool
) -> None:
    git(tree.path, "checkout", "-q", *(["-b", "astray"] if own_branch else ["--detach"]))
    git(tree.path, "commit", "-q", "--allow-empty", "-m", "astray")
    astray = git(tree.path, "rev-parse", "HEAD")
    found = set_aside_partial(tree, task_id="task-01", epoch=2)
    assert found.ref == REF
    assert git(tree.path, "rev-parse", f"{REF}^") == astray
    _restored(tree, git)


def test_the_branch_goes_back_to_a_named_commit_and_what_was_beyond_is_kept(
    tree: Worktree, git: GitCommand
) -> None:
    start = git(tree.path, "rev-parse", "HEAD")
    git(tree.path, "commit", "-q", "--allow-empty", "-m", "not by us")
    beyond = git(tree.path, "rev-parse", "HEAD")
    set_aside_partial(tree, task_id="task-01", epoch=2, to=start)
    assert git(tree.path, "rev-parse", tree.branch) == start
    assert git(tree.path, "rev-parse", f"{REF}^") == beyond
    _restored(tree, git)


def test_going_back_to_no_commit_is_refused(tree: Worktree) -> None:
    with pytest.raises(TreeNotReady, match="is no commit"):
        set_aside_partial(tree, task_id="task-01", epoch=2, to="nonsense")


def test_a_call_killed_between_saving_and_restoring_saves_once(tree: Worktree, git: GitCommand) -> None:
    _mess(tree, git)
    saved = save_partial(tree, task_id="task-01", epoch=2)
    git(tree.path, "read-tree", "--reset", str(saved))
    assert set_aside_partial(tree, task_id="task-01", epoch=2).ref == REF
    assert git(tree.path, "for-each-ref", "--format=%(refname)", "refs/musician") == REF
    _restored(tree, git)


def test_of_a_complete_plan_each_task_keeps_its_newest(
    root: Root, tree: Worktree, git: GitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial, "PARTIALS_KEPT", 2)
    other = ensure_worktree(root, "greeter", "task-02", "trunk")
    stranger = ensure_worktree(root, "greeter2", "task-01", "trunk")
    for number in (9, 10, 11):
        (tree.path / "a.txt").write_text(f"{number}\n")
        save_partial(tree, task_id="task-01", epoch=number)
        if number < 11:
            (other.path / "a.txt").write_text(f"{number}\n")
            save_partial(other, task_id="task-02", epoch=1)
            (stranger.path / "a.txt").write_text(f"{number}\n")
            save_partial(stranger, task_id="task-01", epoch=number)
    folder = "refs/musician/partial"
    assert prune_partials(root, "greeter") == (f"{folder}/greeter/task-01/9",)
    assert prune_partials(root, "greeter") == ()
    assert git(root.path, "for-each-ref", "--format=%(refname)", folder).split() == [
        f"{folder}/greeter/task-01/10",
        f"{folder}/greeter/task-01/11",
        f"{folder}/greeter/task-02/1",
        f"{folder}/greeter/task-02/1-2",
        f"{folder}/greeter2/task-01/10",
        f"{folder}/greeter2/task-01/9",
    ]
