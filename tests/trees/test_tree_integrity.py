"""The plan's branch stays where the program has brought it, but for what a person was asked to do (D31)."""

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.branches import full_ref, integration_branch
from musician.trees.git import Git
from musician.trees.integrity import (
    _put_right,
    begin_anew,
    beside,
    merged_tip,
    move_integration,
    put_right,
    strangers,
)
from musician.trees.merge import Merged, accept_merge, ensure_integration, trial_merge
from musician.trees.root import Root
from musician.trees.steps import commit_step
from musician.trees.worktree import ensure_worktree

GitCommand = Callable[..., str]
BRANCH = integration_branch("greeter")


def _task(root: Root, name: str) -> None:
    tree = ensure_worktree(root, "greeter", name, "trunk")
    (tree.path / f"{name}.txt").touch()
    commit_step(tree, task_id=name, item="step 1", title="x", session_id="s", epoch=1)


def test_what_the_program_does_to_it_is_all_right(root: Root, git: GitCommand) -> None:
    _task(root, "task-01")
    ensure_integration(root, "greeter", "trunk")
    found = trial_merge(root, plan_id="greeter", task_id="task-01", title="t", base="trunk")
    assert isinstance(found, Merged)
    accept_merge(root, "greeter", found.commit, found.onto)
    assert put_right(root, "greeter") == ()
    assert git(root.path, "rev-parse", BRANCH) == found.commit


def test_who_looks_while_the_program_moves_it_finds_nothing_wrong(root: Root, git: GitCommand) -> None:
    """Two refs of one transaction change one after the other."""
    _task(root, "task-01")
    places = [ensure_integration(root, "greeter", "trunk")]
    for number in range(30):  # it never comes back to where it was
        places.append(git(root.path, "commit-tree", "-m", str(number), "-p", places[-1], "trunk^{tree}"))

    def move() -> None:
        for old, new in pairwise(places):
            move_integration(Git(root.path), "greeter", new, old)

    mover = threading.Thread(target=move)
    mover.start()
    found = []
    while mover.is_alive():
        found.append(put_right(root, "greeter"))
    mover.join()
    assert set(found) == {()}
    assert strangers(root, "greeter") == ()
    assert git(root.path, "rev-parse", BRANCH) == places[-1]


@pytest.mark.parametrize("kind", ["unknown", "deleted", "by hand"])
def test_what_was_seen_is_put_right_only_while_it_is_so(root: Root, git: GitCommand, kind: str) -> None:
    """The program may have moved both refs since they were read."""
    start = ensure_integration(root, "greeter", "trunk")
    old, new = git(root.path, "commit-tree", "-m", "x", "-p", start, "trunk^{tree}"), start
    for _ in range(2):
        new = git(root.path, "commit-tree", "-m", "y", "-p", new, "trunk^{tree}")
    move_integration(Git(root.path), "greeter", new, start)
    found, ours = {"unknown": (old, None), "deleted": (None, old), "by hand": (start, start)}[kind]
    with pytest.raises(GitFailed):
        _put_right(root, Git(root.path), "greeter", found, ours, by_hand=True)
    assert {git(root.path, "rev-parse", ref) for ref in (BRANCH, beside("greeter"))} == {new}


def test_a_task_that_a_person_was_asked_to_merge_may_be_merged_by_hand_and_nothing_else(
    root: Root, git: GitCommand
) -> None:
    """AUDIT-U8: the way out that a conflict names is a merge on the plan's own branch."""
    _task(root, "task-01")
    start = ensure_integration(root, "greeter", "trunk")
    git(root.path, "checkout", "-q", BRANCH)
    git(root.path, "merge", "-q", "--no-ff", "-m", "by hand", "musician/greeter/task-01")
    git(root.path, "checkout", "-q", "trunk")
    merged = git(root.path, "rev-parse", BRANCH)
    assert put_right(root, "greeter", by_hand=True) == ()
    assert ensure_integration(root, "greeter", "trunk") == merged
    foreign = git(root.path, "commit-tree", "-m", "foreign", "-p", merged, f"{start}^{{tree}}")
    git(root.path, "update-ref", full_ref(BRANCH), foreign)
    (said,) = put_right(root, "greeter", by_hand=True)
    assert foreign in said
    assert git(root.path, "rev-parse", BRANCH) == merged


def _trial(root: Root, name: str) -> Merged:
    found = trial_merge(root, plan_id="greeter", task_id=name, title="t", base="trunk")
    assert isinstance(found, Merged)
    return found


def _commit_on(git: GitCommand, folder: Path, parent: str, name: str) -> str:
    return git(folder, "commit-tree", "-m", name, "-p", parent, f"{parent}^{{tree}}")


MOVES: dict[str, Callable[[GitCommand, Path, str], str | None]] = {
    "a commit on top": lambda git, top, at: _commit_on(git, top, at, "on top"),
    "set back": lambda git, top, at: git(top, "rev-parse", f"{at}^"),
    "amended": lambda git, top, at: _commit_on(git, top, f"{at}^", "amended"),
    "rebased": lambda git, top, at: _commit_on(git, top, _commit_on(git, top, "trunk", "other"), "rebased"),
    "deleted": lambda git, top, at: None,
}


@pytest.mark.parametrize("how", MOVES)
def test_however_somebody_moves_it_no_commit_is_lost_and_all_are_told(
    root: Root, git: GitCommand, how: str
) -> None:
    """D31: it was brought back without a word by the next trial, and its commits were pruned with the plan's end."""
    _task(root, "task-01")
    _task(root, "task-02")
    ensure_integration(root, "greeter", "trunk")
    first = _trial(root, "task-01")
    accept_merge(root, "greeter", first.commit, first.onto)
    moved = MOVES[how](git, root.path, first.commit)
    if moved is None:
        git(root.path, "branch", "-D", "-q", BRANCH)
    else:
        git(root.path, "update-ref", full_ref(BRANCH), moved)
    (said,) = put_right(root, "greeter", by_hand=True)
    assert BRANCH in said
    assert git(root.path, "rev-parse", BRANCH) == first.commit == merged_tip(root, "greeter")
    if moved is not None:
        assert strangers(root, "greeter") == (said,), "as long as it is there, whoever died before telling it"
        command = said.rsplit("`", 2)[1].split()[1:]
        assert command[0] == "merge"
        git(root.path, "checkout", "-q", "-b", "his", "trunk")
        git(root.path, *command)
        git(root.path, "merge-base", "--is-ancestor", moved, "his")
        git(root.path, "checkout", "-q", "trunk")
    second = _trial(root, "task-02")
    accept_merge(root, "greeter", second.commit, second.onto)
    assert git(root.path, "log", "--format=%s", "--first-parent", BRANCH).count("Merge task") == 2
    assert put_right(root, "greeter", by_hand=True) == ()


def test_one_that_is_moved_while_a_merge_is_verified_holds_nothing_up(root: Root, git: GitCommand) -> None:
    _task(root, "task-01")
    ensure_integration(root, "greeter", "trunk")
    trial = _trial(root, "task-01")
    git(root.path, "update-ref", full_ref(BRANCH), _commit_on(git, root.path, trial.onto, "meanwhile"))
    accept_merge(root, "greeter", trial.commit, trial.onto)
    assert git(root.path, "rev-parse", BRANCH) == trial.commit
    assert len(strangers(root, "greeter")) == 1


def test_where_somebody_has_it_checked_out_his_files_stay_and_nothing_is_merged(
    root: Root, git: GitCommand
) -> None:
    _task(root, "task-01")
    start = ensure_integration(root, "greeter", "trunk")
    git(root.path, "checkout", "-q", BRANCH)
    (root.path / "his.txt").write_text("his\n")
    git(root.path, "add", "his.txt")
    git(root.path, "commit", "-qm", "his")
    own = git(root.path, "rev-parse", "HEAD")
    said = put_right(root, "greeter", by_hand=True)
    assert any("is checked out in" in each for each in said)
    assert (git(root.path, "rev-parse", "HEAD"), git(root.path, "status", "--porcelain", "-uno")) == (own, "")
    assert merged_tip(root, "greeter") == start == ensure_integration(root, "greeter", "trunk")
    with pytest.raises(TreeNotReady, match="is checked out"):
        _trial(root, "task-01")
    git(root.path, "checkout", "-q", "trunk")
    trial = _trial(root, "task-01")
    accept_merge(root, "greeter", trial.commit, trial.onto)
    assert git(root.path, "rev-parse", BRANCH) == trial.commit
    assert strangers(root, "greeter") == said[:1]


def test_a_plan_of_the_same_name_does_not_hear_of_it_again_and_the_commit_stays(
    root: Root, git: GitCommand
) -> None:
    start = ensure_integration(root, "greeter", "trunk")
    his = _commit_on(git, root.path, start, "his")
    git(root.path, "update-ref", full_ref(BRANCH), his)
    put_right(root, "greeter")
    git(root.path, "branch", "-D", "-q", BRANCH)
    begin_anew(root, "greeter")
    assert strangers(root, "greeter") == ()
    assert git(root.path, "for-each-ref", "--format=%(refname)", f"--contains={his}") == (
        f"refs/musician/replaced/greeter/_integration/{his}"
    )
    assert git(root.path, "for-each-ref", beside("greeter")) == ""
