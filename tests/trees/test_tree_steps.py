"""A commit per finished step, by our own identity, and reading them back (D24)."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.cleaning import held_by_tree, remove_tree
from musician.trees.git import Git
from musician.trees.partial import set_aside_partial
from musician.trees.root import Root
from musician.trees.snapshot import changed_files, tree_id
from musician.trees.status import read_status
from musician.trees.steps import commit_step, finished_items, last_kept, revert_item
from musician.trees.submodules import bring_back
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
    ).commit


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
    assert _commit(tree, "step 2", after=done) == git(tree.path, "rev-parse", "HEAD") != done
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


@pytest.fixture
def library(root: Root, tmp_path: Path, git: GitCommand) -> Path:
    """The project has a submodule ``sub``; this is where it was cloned from."""
    git(tmp_path, "clone", "-q", str(root.path), "library")
    allow = ("-c", "protocol.file.allow=always")
    git(root.path, *allow, "submodule", "--quiet", "add", str(tmp_path / "library"), "sub")
    git(root.path, "commit", "-q", "-m", "sub")
    return tmp_path / "library"


def _with_submodule(root: Root, git: GitCommand) -> Worktree:
    tree = ensure_worktree(root, "greeter", "task-01", "trunk")
    git(tree.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    return tree


@pytest.mark.parametrize("name", ["a.txt", "new.txt"])
def test_changes_inside_a_submodule_are_in_no_commit_so_the_step_is_not_done(
    root: Root, library: Path, git: GitCommand, name: str
) -> None:
    """AUDIT-U5: the step counted as done, and its work was nowhere."""
    tree = _with_submodule(root, git)
    git(tree.path / "sub", "config", "status.showUntrackedFiles", "normal")  # the user's own says no
    (tree.path / "sub" / name).write_text("inside\n")
    (tree.path / "a.txt").write_text("outside\n")
    with pytest.raises(TreeNotReady, match="inside a submodule") as caught:
        _commit(tree)
    assert caught.value.paths == ("sub",)
    (tree.path / "sub" / ".gitignore").write_text(name)
    git(tree.path / "sub", "add", ".")
    git(tree.path / "sub", "commit", "-q", "-a", "-m", "inside")
    assert _commit(tree) == git(tree.path, "rev-parse", "HEAD")


def test_files_where_a_submodule_is_not_checked_out_are_in_no_commit_so_the_step_is_not_done(
    root: Root, library: Path, git: GitCommand
) -> None:
    """D31: git status does not look there, so the step was done, and its files went with the tree."""
    tree = ensure_worktree(root, "greeter", "task-01", "trunk")
    (tree.path / "sub" / "deep").mkdir()
    (tree.path / "a.txt").write_text("outside\n")
    (tree.path / "sub" / "deep" / "new.txt").write_text("inside\n")
    assert git(tree.path, "status", "--porcelain", "--untracked-files=all", "--", "sub") == ""
    with pytest.raises(TreeNotReady, match="not checked out here") as caught:
        _commit(tree)
    assert caught.value.paths == ("sub",)
    assert any("sub" in each for each in held_by_tree(root, tree.path, tree.branch))
    (tree.path / "sub" / "deep" / "new.txt").unlink()
    assert _commit(tree) == git(tree.path, "rev-parse", "HEAD"), "empty folders are nobody's work"


def _commit_inside(tree: Worktree, git: GitCommand) -> str:
    (tree.path / "sub" / "a.txt").write_text("inside\n")
    git(tree.path / "sub", "commit", "-q", "-a", "-m", "inside")
    return git(tree.path / "sub", "rev-parse", "HEAD")


def test_a_commit_inside_a_submodule_can_be_checked_out_by_the_user(
    root: Root, library: Path, git: GitCommand
) -> None:
    """AUDIT-U5: it existed in the task's tree alone, and the user's branch was moved to it."""
    tree = _with_submodule(root, git)
    inside = _commit_inside(tree, git)
    commit = _commit(tree)
    git(root.path, "merge", "-q", "--ff-only", commit)
    git(root.path, "submodule", "--quiet", "update", "--no-fetch")
    assert git(root.path / "sub", "rev-parse", "HEAD") == inside
    assert (root.path / "sub" / "a.txt").read_text() == "inside\n"
    assert git(root.path / "sub", "for-each-ref", "--contains", inside), "no housekeeping takes it away"


def test_a_tree_goes_with_its_submodules_once_all_in_them_is_elsewhere(
    root: Root, library: Path, git: GitCommand
) -> None:
    """As it was cloned, and with a commit that the user's repository was given."""
    tree = _with_submodule(root, git)
    assert list(held_by_tree(root, tree.path, tree.branch)) == []
    _commit_inside(tree, git)
    _commit(tree)
    assert list(held_by_tree(root, tree.path, tree.branch)) == []
    assert remove_tree(root, tree.path, tree.branch) == ()
    assert not tree.path.exists()


@pytest.mark.parametrize("act", ["stash", "drop", "ignore"])
def test_a_tree_stays_while_a_submodule_has_what_is_nowhere_else(
    root: Root, library: Path, git: GitCommand, act: str
) -> None:
    """A stash, a commit that no branch names any more, a file that git does not look at."""
    tree = _with_submodule(root, git)
    inside = tree.path / "sub"
    match act:
        case "stash":
            (inside / "a.txt").write_text("mine\n")
            git(inside, "stash", "-q")
        case "drop":
            _commit_inside(tree, git)
            git(inside, "reset", "-q", "--hard", "HEAD^")
        case _:
            exclude = Path(git(inside, "rev-parse", "--git-path", "info/exclude"))
            exclude.parent.mkdir(exist_ok=True)
            exclude.write_text("*.out\n")
            (inside / "a.out").write_text("mine\n")
    held = list(held_by_tree(root, tree.path, tree.branch))
    assert "its submodules have commits in a store of its own" in held
    assert "repositories of their own: sub" in held


def test_a_tree_that_is_brought_back_is_given_no_submodule(
    root: Root, library: Path, git: GitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git would clone each that the user's own tree has, from wherever it comes."""
    (tmp_path / ".gitconfig").write_text("[protocol.file]\n\tallow = always\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    tree = ensure_worktree(root, "greeter", "task-01", "trunk")
    bring_back(tree.path)
    assert list((tree.path / "sub").iterdir()) == []
    tree = _with_submodule(root, git)
    before = git(tree.path / "sub", "rev-parse", "HEAD")
    git(tree.path / "sub", "checkout", "-q", "--detach", "HEAD")
    git(tree.path / "sub", "commit", "-q", "--allow-empty", "-m", "later")
    bring_back(tree.path)
    assert git(tree.path / "sub", "rev-parse", "HEAD") == before


def test_a_commit_inside_a_submodule_that_the_user_has_no_place_for_is_refused(
    root: Root, library: Path, git: GitCommand
) -> None:
    """AUDIT-U5."""
    tree = _with_submodule(root, git)
    git(root.path, "submodule", "--quiet", "deinit", "-f", "sub")
    shutil.rmtree(root.git_dir / "modules" / "sub")
    inside = _commit_inside(tree, git)
    with pytest.raises(TreeNotReady, match="in the task's own tree alone"):
        _commit(tree)
    git(tree.path / "sub", "update-ref", "refs/remotes/origin/published", inside)  # as after a push
    assert _commit(tree) == git(tree.path, "rev-parse", "HEAD")


def test_a_repository_that_was_added_is_no_submodule(tree: Worktree, git: GitCommand) -> None:
    """AUDIT-U5: what git takes up of it is a commit that nobody has."""
    git(tree.path, "init", "-q", "own")
    git(tree.path / "own", "commit", "-q", "--allow-empty", "-m", "x")
    git(tree.path, "-c", "advice.addEmbeddedRepo=false", "add", "own")
    with pytest.raises(TreeNotReady, match="repository of its own"):
        _commit(tree)


def _share(tree: Worktree, how: str, git: GitCommand) -> None:
    """A link of a set-up's, as an agent leaves it: there, staged, or committed."""
    (tree.path / "node_modules").symlink_to(tree.root.path / "node_modules")
    if how != "there":
        git(tree.path, "add", "-f", "node_modules")
    if how == "committed":
        git(tree.path, "commit", "-q", "-m", "agent's own")


@pytest.mark.parametrize("how", ["there", "staged", "committed"])
def test_a_link_that_leads_out_of_the_tree_is_never_committed(
    tree: Worktree, git: GitCommand, how: str
) -> None:
    """AUDIT-U3: an ignore rule for folders matches no link; the merge put it in the place of the user's folder."""
    before = git(tree.path, "rev-parse", "HEAD")
    (tree.root.path / "node_modules").mkdir()
    _share(tree, how, git)
    (tree.path / "new.txt").touch()
    commit = _commit(tree, after=before)
    assert git(tree.path, "diff", "--name-only", before, commit) == "new.txt"
    assert read_status(tree.path).left_out == (b"node_modules",)
    assert (tree.path / "node_modules").is_symlink(), "the task goes on using it"
    assert _commit(tree, "step 2", after=commit) == commit, "and it is no change"
    assert set_aside_partial(tree, task_id="task-01", epoch=3).ref is None


def test_a_link_where_an_ignore_rule_means_a_folder_is_not_committed(tree: Worktree, git: GitCommand) -> None:
    """AUDIT-U3: also one that stays in the tree."""
    (tree.path / ".gitignore").write_text("node_modules/\n")
    (tree.path / "node_modules").symlink_to("dir")
    (tree.path / "dir" / "node_modules").symlink_to("../dir")
    (tree.path / "to dir").symlink_to("dir")
    commit = _commit(tree)
    assert git(tree.path, "ls-tree", "-r", "--name-only", commit).splitlines()[-1] == "to dir"
    assert read_status(tree.path).left_out == (b"dir/node_modules", b"node_modules")


def test_what_the_project_tracks_is_not_replaced_by_a_link_out_of_the_tree(
    tree: Worktree, git: GitCommand
) -> None:
    """AUDIT-U3: it could neither be committed nor left out without losing what was there."""
    (tree.path / "a.txt").unlink()
    (tree.path / "a.txt").symlink_to("/etc/hostname")
    with pytest.raises(TreeNotReady) as caught:
        _commit(tree)
    assert caught.value.paths == ("a.txt",)


def test_what_an_agent_committed_itself_is_followed_by_our_word_that_it_is_done(
    tree: Worktree, git: GitCommand
) -> None:
    """AUDIT-U8: without that a crash could not tell its commits from those of a step that is not done."""
    start = git(tree.path, "rev-parse", "HEAD")
    git(tree.path, "commit", "-q", "--allow-empty", "-m", "agent's own")
    assert last_kept(Git(tree.path), start, tree.branch) == start
    commit = _commit(tree, after=start)
    assert last_kept(Git(tree.path), start, tree.branch) == commit == git(tree.path, "rev-parse", "HEAD")
    assert [found.item for found in finished_items(tree, start, "task-01")] == ["step 1"]


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
