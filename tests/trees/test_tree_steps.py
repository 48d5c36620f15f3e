"""A commit per finished step, by our own identity, and reading them back (D24)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.root import Root
from musician.trees.snapshot import changed_files, tree_id
from musician.trees.steps import commit_step, finished_items, revert_item
from musician.trees.worktree import Worktree, ensure_worktree

GitCommand = Callable[..., str]


@pytest.fixture
def tree(root: Root) -> Worktree:
    return ensure_worktree(root, "greeter", "task-01", "trunk")


def _commit(
    tree: Worktree, item: str = "step 1", *, title: str = "Write it", after: str | None = None
) -> str:
    return commit_step(
        tree, task_id="task-01", item=item, title=title, session_id="abc", epoch=3, after=after
    )


def test_everything_but_ignored_files_and_temp_is_committed_by_us(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "a.txt").write_text("new\n")
    (tree.path / "b.txt").unlink()
    (tree.path / "dir" / "é\nnew line").touch()
    (tree.path / "x.ignored").touch()
    commit = _commit(tree, title="Write  the\nfunction")
    assert commit == git(tree.path, "rev-parse", tree.branch)
    assert git(tree.path, "log", "-1", "--format=%an <%ae> %cn <%ce> %G?") == " ".join(
        ["Musician <musician@localhost>"] * 2 + ["N"]
    )
    assert git(tree.path, "log", "-1", "--format=%B") == (
        "task-01, step 1: Write the function\n\n"
        "Musician-Task: task-01\nMusician-Item: step 1\nMusician-Session: abc\nMusician-Epoch: 3"
    )
    assert git(tree.path, "show", "--format=", "--name-status", "-z", "HEAD").split("\0") == [
        "M", "a.txt", "D", "b.txt", "A", "dir/é\nnew line", "",
    ]  # fmt: skip
    assert git(tree.path, "status", "--porcelain", "-uall") == ""


def test_an_item_that_changed_nothing_makes_no_commit(tree: Worktree, git: GitCommand) -> None:
    head = git(tree.path, "rev-parse", "HEAD")
    assert _commit(tree) == head
    (tree.path / "x.ignored").touch()
    assert _commit(tree) == head
    assert git(tree.path, "rev-parse", "HEAD") == head


def test_the_temp_link_is_never_committed_whatever_the_ignore_rules_say(
    tree: Worktree, git: GitCommand
) -> None:
    (tree.path / ".gitignore").write_text("!temp\n")
    _commit(tree)
    assert git(tree.path, "ls-files", "temp") == ""
    head = git(tree.path, "rev-parse", "HEAD")
    assert _commit(tree, "step 2") == head


def test_a_stale_lock_does_not_stop_a_commit(tree: Worktree, git: GitCommand) -> None:
    (Path(git(tree.path, "rev-parse", "--absolute-git-dir")) / "index.lock").touch()
    (tree.path / "new").touch()
    assert _commit(tree) == git(tree.path, "rev-parse", "HEAD")
    assert git(tree.path, "ls-files", "new") == "new"


@pytest.mark.parametrize("where", ["--detach", "--branch"])
def test_no_commit_on_a_head_that_is_elsewhere(tree: Worktree, git: GitCommand, where: str) -> None:
    git(tree.path, "checkout", "-q", *(["--detach"] if where == "--detach" else ["-b", "agents-own"]))
    (tree.path / "new").touch()
    with pytest.raises(TreeNotReady, match="HEAD is not on 'musician/greeter/task-01'"):
        _commit(tree)
    assert git(tree.path, "status", "--porcelain") == "?? new"


def test_a_branch_that_lost_a_finished_step_is_noticed(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "new").touch()
    done = _commit(tree)
    assert _commit(tree, "step 2", after=done) == done
    git(tree.path, "commit", "-q", "--allow-empty", "-m", "agent's own")
    assert _commit(tree, "step 2", after=done) == git(tree.path, "rev-parse", "HEAD")
    git(tree.path, "reset", "-q", "--hard", "trunk")
    with pytest.raises(TreeNotReady, match=f"no longer contains {done}"):
        _commit(tree, "step 2", after=done)


def test_conflicts_left_in_the_files_are_never_committed(tree: Worktree, git: GitCommand) -> None:
    _conflicting_merge(tree, git)
    with pytest.raises(TreeNotReady) as caught:
        _commit(tree)
    assert caught.value.paths == ("a.txt",)


def test_a_resolved_merge_is_concluded_with_both_parents(tree: Worktree, git: GitCommand) -> None:
    other = _conflicting_merge(tree, git)
    ours = git(tree.path, "rev-parse", "HEAD")
    (tree.path / "a.txt").write_text("both\n")
    git(tree.path, "add", "a.txt")
    commit = _commit(tree, "rework 1.1")
    assert git(tree.path, "log", "-1", "--format=%P", commit) == f"{ours} {other}"
    assert not (Path(git(tree.path, "rev-parse", "--absolute-git-dir")) / "MERGE_HEAD").exists()
    assert [found.item for found in finished_items(tree, "trunk", "task-01")] == ["step 0", "rework 1.1"]


def test_a_merge_that_keeps_our_side_is_concluded_too(tree: Worktree, git: GitCommand) -> None:
    _conflicting_merge(tree, git)
    git(tree.path, "checkout", "-q", "--ours", "a.txt")
    git(tree.path, "add", "a.txt")
    assert git(tree.path, "log", "-1", "--format=%p", _commit(tree)).count(" ") == 1


def _conflicting_merge(tree: Worktree, git: GitCommand) -> str:
    git(tree.root.path, "checkout", "-q", "-b", "side")
    (tree.root.path / "a.txt").write_text("side\n")
    git(tree.root.path, "commit", "-q", "-am", "side")
    git(tree.root.path, "checkout", "-q", "trunk")
    (tree.path / "a.txt").write_text("task\n")
    _commit(tree, "step 0")
    git(tree.path, "merge", "-q", "side", may_fail=True)
    return git(tree.path, "rev-parse", "side")


def test_an_operation_that_is_no_merge_is_refused(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "a.txt").write_text("x\n")
    done = _commit(tree)
    git(tree.path, "revert", "--no-commit", done)
    with pytest.raises(TreeNotReady, match="a revert is under way"):
        _commit(tree)


@pytest.mark.parametrize("empty", [True, False])
def test_a_nested_repository_is_named_because_git_would_drop_its_files(
    tree: Worktree, git: GitCommand, empty: bool
) -> None:
    git(tree.path, "init", "-q", "nested é")
    (tree.path / "nested é" / "f").touch()
    if not empty:
        git(tree.path / "nested é", "add", "f")
        git(tree.path / "nested é", "commit", "-q", "-m", "x")
    (tree.path / "new").touch()
    with pytest.raises(TreeNotReady) as caught:
        _commit(tree)
    assert caught.value.paths == ("nested é/",)


def test_changes_inside_a_submodule_are_no_commit_of_ours(
    root: Root, tmp_path: Path, git: GitCommand
) -> None:
    git(tmp_path, "clone", "-q", str(root.path), "library")
    git(
        root.path,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "library"),
        "sub",
    )
    git(root.path, "commit", "-q", "-m", "sub")
    tree = ensure_worktree(root, "greeter", "task-01", "trunk")
    git(tree.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    (tree.path / "sub" / "a.txt").write_text("inside\n")
    head = git(tree.path, "rev-parse", "HEAD")
    assert _commit(tree) == head


def test_a_commit_that_git_refuses_is_an_error(tree: Worktree, git: GitCommand) -> None:
    (tree.path / "new").touch()
    config = tree.root.git_dir / "config"
    config.write_text(config.read_text() + '[filter "bad"]\n clean = false\n required = true\n')
    (tree.path / ".gitattributes").write_text("new filter=bad\n")
    with pytest.raises(GitFailed, match="external filter 'false' failed"):
        _commit(tree)


def test_finished_items_are_read_oldest_first_and_only_ours(tree: Worktree, git: GitCommand) -> None:
    start = git(tree.path, "rev-parse", "HEAD")
    commits = []
    for item in ("step 1", "step 2 agent 1", "rework 1.2"):
        (tree.path / item).touch()
        commits.append(_commit(tree, item, title="Musician-Item: step 99"))
    (tree.path / "foreign").touch()
    git(tree.path, "add", "foreign")
    git(tree.path, "commit", "-q", "-m", "s\n\nMusician-Task: task-01\nMusician-Item: step 7\n")
    (tree.path / "other").touch()
    commit_step(tree, task_id="task-02", item="step 1", title="", session_id="s", epoch=1)
    found = finished_items(tree, start, "task-01")
    assert [item.item for item in found] == ["step 1", "step 2 agent 1", "rework 1.2"]
    assert [item.commit for item in found] == commits
    assert finished_items(tree, commits[-1], "task-01") == ()
    assert finished_items(tree, start, "task-0") == ()


def test_changed_files_are_told_apart_tracked_or_not(tree: Worktree, git: GitCommand) -> None:
    start = git(tree.path, "rev-parse", "HEAD")
    (tree.path / "a.txt").write_text("committed change\n")
    _commit(tree)
    (tree.path / "b.txt").unlink()
    (tree.path / "dir" / "ü ö.txt").rename(tree.path / "moved ü")
    (tree.path / "x.ignored").touch()
    Path(bytes(tree.path).decode(), "caf\udce9").touch()
    assert changed_files(tree.path, start) == (
        ("a.txt", "modified"),
        ("b.txt", "deleted"),
        ("caf\\xe9", "created"),
        ("dir/ü ö.txt", "deleted"),
        ("moved ü", "created"),
    )


def test_nothing_changed_is_an_empty_list(tree: Worktree) -> None:
    assert changed_files(tree.path, "HEAD") == ()


def test_the_tree_id_follows_the_content_and_leaves_index_and_head_alone(
    tree: Worktree, git: GitCommand
) -> None:
    clean = tree_id(tree.path)
    assert clean == git(tree.path, "rev-parse", "HEAD^{tree}")
    (tree.path / "staged").touch()
    git(tree.path, "add", "staged")
    (tree.path / "new").write_text("1")
    before = git(tree.path, "status", "--porcelain")
    dirty = tree_id(tree.path)
    assert dirty not in (clean, git(tree.path, "write-tree"))
    assert tree_id(tree.path) == dirty
    assert git(tree.path, "status", "--porcelain") == before == "A  staged\n?? new"
    commit = _commit(tree)
    assert git(tree.path, "rev-parse", f"{commit}^{{tree}}") == dirty == tree_id(tree.path)


def test_the_tree_id_works_in_the_users_tree_and_before_the_first_commit(
    tmp_path: Path, git: GitCommand
) -> None:
    git(tmp_path, "init", "-q", "fresh")
    empty = tree_id(tmp_path / "fresh")
    assert empty == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    (tmp_path / "fresh" / "f").touch()
    assert tree_id(tmp_path / "fresh") != empty


def test_a_missing_index_does_not_change_the_tree_id(tree: Worktree, git: GitCommand) -> None:
    clean = tree_id(tree.path)
    (Path(git(tree.path, "rev-parse", "--absolute-git-dir")) / "index").unlink()
    assert tree_id(tree.path) == clean


def test_a_file_changed_in_the_moment_of_a_commit_is_seen(tree: Worktree) -> None:
    for number in range(20):
        (tree.path / "a.txt").write_text(f"{number:03d}\n")
        _commit(tree, f"step {number}")
        clean = tree_id(tree.path)
        (tree.path / "a.txt").write_text(f"{number + 500:03d}\n")
        assert tree_id(tree.path) != clean


def test_a_folder_that_is_no_tree_is_refused(tree: Worktree, tmp_path: Path) -> None:
    with pytest.raises(TreeNotReady):
        tree_id(tmp_path)


def test_a_step_is_taken_back_whole_by_what_is_left_to_commit(tree: Worktree, git: GitCommand) -> None:
    """With the commits an agent made of its own within the step; what came before and after stays."""
    start = git(tree.path, "rev-parse", "HEAD")
    (tree.path / "before.txt").write_text("before\n")
    _commit(tree, "step 1")
    (tree.path / "one.txt").write_text("one\n")
    git(tree.path, "add", "-A")
    git(tree.path, "commit", "-qm", "the agent's own")
    (tree.path / "two.txt").write_text("two\n")
    _commit(tree, "step 2")
    (tree.path / "after.txt").write_text("after\n")
    last = _commit(tree, "step 3")
    assert revert_item(tree, start, task_id="task-01", item="step 2")
    _commit(tree, "correction 7.1", after=last)
    assert git(tree.path, "diff", "--name-status", last, "HEAD").split() == ["D", "one.txt", "D", "two.txt"]
    assert git(tree.path, "status", "--porcelain") == ""
    assert not revert_item(tree, start, task_id="task-01", item="step 9")


def test_a_step_that_cannot_be_taken_back_leaves_the_tree_as_it_was(tree: Worktree, git: GitCommand) -> None:
    start = git(tree.path, "rev-parse", "HEAD")
    (tree.path / "a.txt").write_text("one\n")
    _commit(tree, "step 1")
    (tree.path / "a.txt").write_text("two\n")
    last = _commit(tree, "step 2")
    with pytest.raises(TreeNotReady, match="later work") as refused:
        revert_item(tree, start, task_id="task-01", item="step 1")
    assert refused.value.paths == ("a.txt",)
    assert git(tree.path, "rev-parse", "HEAD") == last
    assert git(tree.path, "status", "--porcelain") == ""
    _commit(tree, "step 3")
    (tree.path / "half.txt").write_text("half\n")
    with pytest.raises(TreeNotReady, match="unfinished work"):
        revert_item(tree, start, task_id="task-01", item="step 2")
    assert (tree.path / "half.txt").exists()
