"""Trial merges move no branch; accepting one does, from a known value (D24)."""

import multiprocessing
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.testing.waiting import HANG_S
from musician.trees.branches import integration_branch
from musician.trees.conflicts import Conflict
from musician.trees.merge import (
    AlreadyMerged,
    Merged,
    Trial,
    accept_merge,
    drop_further_trials,
    drop_trial,
    ensure_integration,
    take_in,
    trial_merge,
)
from musician.trees.partial import set_aside_partial
from musician.trees.root import Root
from musician.trees.steps import commit_step, finished_items
from musician.trees.worktree import Worktree, ensure_worktree

GitCommand = Callable[..., str]
BRANCH = integration_branch("greeter")


def _task(root: Root, task_id: str, name: str, content: str, item: str = "step 1") -> Worktree:
    """A task that wrote one file and committed it."""
    tree = ensure_worktree(root, "greeter", task_id, "trunk")
    (tree.path / name).write_text(content)
    commit_step(tree, task_id=task_id, item=item, title=f"Write {name}", session_id="s", epoch=1)
    return tree


def _trial(root: Root, task_id: str) -> Trial:
    return trial_merge(root, plan_id="greeter", task_id=task_id, title="Add the\ngreeting", base="trunk")


def _accepted(root: Root, task_id: str) -> str:
    merged = _trial(root, task_id)
    assert isinstance(merged, Merged)
    accept_merge(root, "greeter", merged.commit, merged.onto)
    return merged.commit


def test_a_trial_is_checked_out_and_moves_no_branch(root: Root, git: GitCommand) -> None:
    task = _task(root, "task-01", "neu é.txt", "1\n")
    base, tip = git(root.path, "rev-parse", "trunk"), git(task.path, "rev-parse", "HEAD")
    merged = _trial(root, "task-01")
    assert isinstance(merged, Merged)
    assert merged.onto == base == git(root.path, "rev-parse", BRANCH)
    assert merged.tree_path == root.trees_dir / "greeter" / "_integration"
    assert git(merged.tree_path, "rev-parse", "HEAD", "HEAD^1", "HEAD^2").split() == [
        merged.commit,
        base,
        tip,
    ]
    assert git(merged.tree_path, "log", "-1", "--format=%B%an") == (
        "Merge task-01: Add the greeting\n\nMusician-Task: task-01\nMusician"
    )
    assert (merged.tree_path / "neu é.txt").read_text() == "1\n"
    assert (merged.tree_path / "temp").resolve() == root.temp_dir.resolve()


def test_what_was_submitted_is_merged_wherever_the_branch_has_gone(root: Root, git: GitCommand) -> None:
    """AUDIT-V6, D28.3."""
    task = _task(root, "task-01", "one", "1\n")
    submitted = git(task.path, "rev-parse", "HEAD").strip()
    _task(root, "task-01", "more", "2\n", item="step 2")
    merged = trial_merge(
        root, plan_id="greeter", task_id="task-01", title="Add it", base="trunk", commit=submitted
    )
    assert isinstance(merged, Merged)
    assert (merged.tree_path / "one").exists()
    assert not (merged.tree_path / "more").exists()


def test_an_accepted_trial_is_what_the_branch_is_at(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "one", "1\n")
    commit = _accepted(root, "task-01")
    assert git(root.path, "rev-parse", BRANCH) == commit
    accept_merge(root, "greeter", commit, git(root.path, "rev-parse", "trunk"))
    again = _trial(root, "task-01")
    assert isinstance(again, AlreadyMerged)
    assert again.commit == commit == git(again.tree_path, "rev-parse", "HEAD")


def test_a_task_that_changed_nothing_is_merged_already(root: Root) -> None:
    ensure_worktree(root, "greeter", "task-01", "trunk")
    assert isinstance(_trial(root, "task-01"), AlreadyMerged)


def test_a_dropped_trial_leaves_the_tree_at_the_tip_and_can_be_tried_again(
    root: Root, git: GitCommand
) -> None:
    drop_trial(root, "greeter")
    assert not root.trees_dir.exists()
    _task(root, "task-01", "one", "1\n")
    merged = _trial(root, "task-01")
    assert isinstance(merged, Merged)
    drop_trial(root, "greeter")
    assert git(merged.tree_path, "rev-parse", "HEAD") == git(root.path, "rev-parse", "trunk")
    assert not (merged.tree_path / "one").exists()
    assert isinstance(_trial(root, "task-01"), Merged)


def test_two_tasks_that_touch_different_files_both_arrive(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "one", "1\n")
    _task(root, "task-02", "two", "2\n")
    _accepted(root, "task-01")
    _accepted(root, "task-02")
    assert {"one", "two"} <= set(git(root.path, "ls-tree", "--name-only", BRANCH).splitlines())


def test_a_conflict_names_both_sides_and_leaves_the_tree_clean(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "b.txt", "from one\n")
    _task(root, "task-02", "b.txt", "from two\n")
    before = _accepted(root, "task-01")
    conflict = _trial(root, "task-02")
    assert isinstance(conflict, Conflict)
    assert conflict.paths == ("b.txt",)
    assert conflict.ours.startswith("task-01 (")
    assert "task-01, step 1: Write b.txt" in conflict.ours
    assert conflict.theirs.startswith("task-02 (")
    assert git(root.path, "rev-parse", BRANCH) == before
    tree = root.trees_dir / "greeter" / "_integration"
    assert git(tree, "status", "--porcelain", "-uall") == ""
    assert git(tree, "rev-parse", "HEAD") == before


def test_a_conflict_with_a_commit_of_no_task_says_so(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "b.txt", "from one\n")
    (root.path / "b.txt").write_text("by hand\n")
    git(root.path, "commit", "-q", "-am", "by hand")
    conflict = _trial(root, "task-01")
    assert isinstance(conflict, Conflict)
    assert conflict.ours.startswith("no task (")
    assert conflict.ours.endswith(" by hand)")


def test_a_task_can_take_in_the_plans_branch_resolve_and_merge(root: Root, git: GitCommand) -> None:
    task = _task(root, "task-02", "b.txt", "from two\n")
    assert isinstance(take_in(task, "greeter"), AlreadyMerged)
    _task(root, "task-01", "b.txt", "from one\n")
    _accepted(root, "task-01")
    conflict = take_in(task, "greeter")
    assert isinstance(conflict, Conflict)
    assert (conflict.paths, conflict.theirs.split(" ")[0]) == (("b.txt",), "task-01")
    assert "<<<<<<<" in (task.path / "b.txt").read_text()
    with pytest.raises(TreeNotReady, match="unfinished work"):
        take_in(task, "greeter")
    (task.path / "b.txt").write_text("from both\n")
    git(task.path, "add", "b.txt")
    commit_step(task, task_id="task-02", item="rework 1.1", title="", session_id="s", epoch=1)
    _accepted(root, "task-02")
    assert git(root.path, "show", f"{BRANCH}:b.txt") == "from both"
    assert [found.item for found in finished_items(task, "trunk", "task-02")] == ["step 1", "rework 1.1"]


def test_taking_in_without_a_conflict_is_a_commit(root: Root, git: GitCommand) -> None:
    task = _task(root, "task-02", "two", "2\n")
    _task(root, "task-01", "one", "1\n")
    _accepted(root, "task-01")
    merged = take_in(task, "greeter")
    assert isinstance(merged, Merged)
    assert (merged.commit, merged.tree_path) == (git(task.path, "rev-parse", task.branch), task.path)
    assert (task.path / "one").exists()
    assert isinstance(take_in(task, "greeter"), AlreadyMerged)


def test_what_a_verification_left_in_the_tree_is_kept_under_a_ref(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "one", "1\n")
    merged = _trial(root, "task-01")
    assert isinstance(merged, Merged)
    (merged.tree_path / "one").write_text("resolved by a person\n")
    (merged.tree_path / "junit.xml").touch()
    assert isinstance(_trial(root, "task-01"), Merged)
    assert git(merged.tree_path, "status", "--porcelain", "-uall") == ""
    assert (
        git(root.path, "show", "refs/musician/partial/greeter/_integration/0:one") == "resolved by a person"
    )


def test_a_half_done_merge_of_a_killed_conductor_is_ended(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "b.txt", "from one\n")
    _task(root, "task-02", "b.txt", "from two\n")
    _accepted(root, "task-01")
    tree = root.trees_dir / "greeter" / "_integration"
    git(tree, "merge", "-q", "musician/greeter/task-02", may_fail=True)
    git_dir = Path(git(tree, "rev-parse", "--absolute-git-dir"))
    assert (git_dir / "MERGE_HEAD").exists()
    (git_dir / "index.lock").touch()
    assert isinstance(_trial(root, "task-02"), Conflict)
    assert not (git_dir / "MERGE_HEAD").exists()


def test_the_trees_folder_deleted_by_hand_does_not_stop_a_trial(root: Root) -> None:
    _task(root, "task-01", "one", "1\n")
    assert isinstance(_trial(root, "task-01"), Merged)
    shutil.rmtree(root.trees_dir)
    assert isinstance(_trial(root, "task-01"), Merged)


def test_a_branch_that_moved_since_the_trial_is_not_overwritten(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "one", "1\n")
    _task(root, "task-02", "two", "2\n")
    late = _trial(root, "task-01")
    assert isinstance(late, Merged)
    current = _accepted(root, "task-02")
    assert not accept_merge(root, "greeter", late.commit, late.onto), "it is to be tried once more"
    with pytest.raises(TreeNotReady, match="does not go on from"):
        accept_merge(root, "greeter", late.commit, current)
    assert git(root.path, "rev-parse", BRANCH) == current


@pytest.mark.parametrize("stays", [False, True], ids=["somebody moves it just then", "git cannot"])
def test_a_branch_that_is_moved_at_the_very_moment_of_accepting_is_put_right_and_moved(
    root: Root, git: GitCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, stays: bool
) -> None:
    """Between the look and the move: what git refused for it was an error of the run."""
    _task(root, "task-01", "one", "1\n")
    merged = _trial(root, "task-01")
    assert isinstance(merged, Merged)
    his = git(root.path, "commit-tree", "-m", "his", "-p", merged.onto, f"{merged.onto}^{{tree}}")
    real, once = shutil.which("git"), tmp_path / "once"
    moves = f"{real} -c core.hooksPath=/dev/null -C '{root.path}' update-ref refs/heads/{BRANCH} {his}"
    moving = f"[ -e '{once}' ] || {{ touch '{once}'; {moves}; }}"
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in *"musician: accept"*) {"exit 128" if stays else moving};; esac\nexec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
        if stays:
            with pytest.raises(GitFailed):
                accept_merge(root, "greeter", merged.commit, merged.onto)
        else:
            assert accept_merge(root, "greeter", merged.commit, merged.onto)
            assert once.exists()
    assert git(root.path, "rev-parse", BRANCH) == (merged.onto if stays else merged.commit)
    kept = git(root.path, "for-each-ref", "--format=%(objectname)", "refs/musician").split()
    assert (his in kept) is not stays, "his commit is kept"


def test_a_branch_somebody_has_checked_out_is_not_moved_under_them(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "one", "1\n")
    merged = _trial(root, "task-01")
    assert isinstance(merged, Merged)
    git(root.path, "checkout", "-q", BRANCH)
    with pytest.raises(TreeNotReady, match="is checked out") as caught:
        accept_merge(root, "greeter", merged.commit, merged.onto)
    assert caught.value.paths == (str(root.path),)


def test_a_task_without_a_branch_cannot_be_merged(root: Root) -> None:
    with pytest.raises(TreeNotReady, match="no branch 'musician/greeter/task-09'"):
        _trial(root, "task-09")


def _story(root: Root) -> None:
    """All of a task's life in git; every call of it may be a repetition."""
    base = ensure_integration(root, "greeter", "trunk")
    tree = ensure_worktree(root, "greeter", "task-01", base)
    set_aside_partial(tree, task_id="task-01", epoch=1)
    done = {found.item for found in finished_items(tree, "trunk", "task-01")}
    for item in ("step 1", "step 2"):
        if item not in done:
            with (tree.path / "log").open("a") as log:
                log.write(item + "\n")
            (tree.path / item).touch()
            commit_step(tree, task_id="task-01", item=item, title="t", session_id="s", epoch=1)
    trial = trial_merge(root, plan_id="greeter", task_id="task-01", title="t", base="trunk")
    if isinstance(trial, Merged):
        accept_merge(root, "greeter", trial.commit, trial.onto)
    drop_trial(root, "greeter")


@pytest.mark.deep
def test_a_kill_after_any_git_command_is_recovered_from_and_each_step_done_once(
    root: Root, tmp_path: Path, git: GitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, real = tmp_path / "count", shutil.which("git")
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/bash\n"{real}" "$@"; rc=$?\nread -r left < "{count}"\necho $((left - 1)) > "{count}"\n'
        '[ "$left" -eq 0 ] && kill -KILL $PPID\nexit $rc\n'
    )
    wrapper.chmod(0o755)
    start = git(root.path, "rev-parse", "trunk")
    context = multiprocessing.get_context("fork")
    kills = 0
    while True:
        count.write_text(f"{kills}\n")
        with monkeypatch.context() as patched:
            patched.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
            child = context.Process(target=_story, args=(root,))
            child.start()
            child.join(HANG_S)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        _story(root)
        assert git(root.path, "show", f"{BRANCH}:log") == "step 1\nstep 2"
        assert git(root.path, "worktree", "list", "--porcelain").count("worktree ") == 3
        git(root.path, "worktree", "remove", "--force", str(root.trees_dir / "greeter" / "task-01"))
        for ref in git(root.path, "for-each-ref", "--format=%(refname)", "refs/heads/musician").splitlines():
            git(root.path, "update-ref", ref, start)  # a fresh story; the integration tree is detached
        kills += 1
    assert kills > 20, "the story is made of more commands than this"


def test_a_merge_that_git_cannot_try_is_an_error_and_no_conflict(root: Root, git: GitCommand) -> None:
    _task(root, "task-01", "one", "1\n")
    git(root.path, "checkout", "-q", "--orphan", "unrelated")
    git(root.path, "commit", "-q", "-m", "unrelated")
    ensure_integration(root, "greeter", "unrelated")
    with pytest.raises(GitFailed, match="unrelated histories"):
        _trial(root, "task-01")


def test_a_conflict_comes_with_what_the_other_side_changed(root: Root) -> None:
    """AUDIT-K8: who is to resolve it sees it."""
    _task(root, "task-01", "b.txt", "from one\n")
    _task(root, "task-02", "b.txt", "from two\n")
    _accepted(root, "task-01")
    conflict = _trial(root, "task-02")
    assert isinstance(conflict, Conflict)
    assert "+from one" in conflict.hunk
    assert "from two" not in conflict.hunk


def test_what_a_conflict_says_to_look_at_is_there_from_any_folder(root: Root, git: GitCommand) -> None:
    """A path of the top showed nothing from a folder below it, and a line end in a name made two lines of it."""
    name = "it's\n\udcff.txt"
    for task_id in ("task-01", "task-02"):
        _task(root, task_id, name, f"from {task_id}\n")
    _accepted(root, "task-01")
    conflict = _trial(root, "task-02")
    assert isinstance(conflict, Conflict)
    for task_id, command in zip(("task-01", "task-02"), conflict.see, strict=True):
        env = {"PATH": os.environ["PATH"]}
        done = subprocess.run(
            ["bash", "-c", command], cwd=root.path / "dir", env=env, capture_output=True, check=True
        )
        assert f"+from {task_id}".encode() in done.stdout, command
        assert command.isprintable()


@pytest.mark.parametrize(
    ("contents", "counts"),
    [
        ("from one\nfrom two\n", True),
        ("  from one\nand more\n", True),
        ("from two\n", False),
        ("from two, from one\n", False),
        ("b\nfrom one\n", False),
    ],
)
def test_contents_that_hold_both_sides_are_no_conflict(root: Root, contents: str, *, counts: bool) -> None:
    """AUDIT-K8: written by hand, they count as if they had been merged; what the other side took away stays away."""
    _task(root, "task-01", "b.txt", "from one\n")
    _task(root, "task-02", "b.txt", contents)
    _accepted(root, "task-01")
    found = _trial(root, "task-02")
    assert isinstance(found, Merged) is counts
    if isinstance(found, Merged):
        assert (found.tree_path / "b.txt").read_text() == contents
        assert _accepted(root, "task-02")


def _sides(root: Root, git: GitCommand) -> tuple[Worktree, Worktree]:
    """task-01 renames a folder and makes a folder of a file; task-02 adds to the one and changes the other."""
    one, two = (ensure_worktree(root, "greeter", name, "trunk") for name in ("task-01", "task-02"))
    git(one.path, "mv", "dir", "moved")
    git(one.path, "rm", "-q", "b.txt")
    (one.path / "b.txt").mkdir()
    (one.path / "b.txt" / "inside").touch()
    (two.path / "dir" / "new.txt").write_text("new\n")
    (two.path / "b.txt").write_text("changed\n")
    for tree, name in ((one, "task-01"), (two, "task-02")):
        commit_step(tree, task_id=name, item="step 1", title="Do it", session_id="s", epoch=1)
    return one, two


@pytest.mark.parametrize("is_old", [False, True], ids=["git tells", "an older git"])
def test_a_conflict_of_folders_names_paths_that_somebody_has_and_both_sides(
    root: Root, git: GitCommand, is_old: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """AUDIT-G6: it named `b.txt~…` and paths in a folder that nobody has, and "no commit of its own" twice."""
    _sides(root, git)
    if is_old:  # before 2.38 merge-tree knows no such option
        real = shutil.which("git")
        old = tmp_path / "bin" / "git"
        old.parent.mkdir()
        old.write_text(f'#!/bin/sh\ncase " $* " in *" merge-tree "*) exit 129;; esac\nexec {real} "$@"\n')
        old.chmod(0o755)
        monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    first = trial_merge(root, plan_id="greeter", task_id="task-01", title="t", base="trunk")
    assert isinstance(first, Merged)
    accept_merge(root, "greeter", first.commit, first.onto)
    found = trial_merge(root, plan_id="greeter", task_id="task-02", title="t", base="trunk")
    assert isinstance(found, Conflict)
    assert set(found.paths) == ({"b.txt"} if is_old else {"b.txt", "dir/new.txt"})
    assert found.ours.startswith("task-01 (")
    assert found.theirs.startswith("task-02 (")


def test_trees_of_further_trials_go_and_nothing_else(root: Root, git: GitCommand) -> None:
    """One that a killed conductor has left, and a folder of somebody's that is named alike."""
    base = git(root.path, "rev-parse", "trunk")
    _task(root, "task-01", "one.txt", "1\n")
    again = trial_merge(root, plan_id="greeter", task_id="task-01", title="", base=base, number=2)
    assert isinstance(again, Merged)
    foreign = again.tree_path.with_name("_integration-notes")
    foreign.mkdir()
    drop_further_trials(root, "greeter")
    assert (foreign.is_dir(), again.tree_path.exists()) == (True, False)
    drop_further_trials(root, "greeter")
