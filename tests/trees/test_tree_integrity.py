"""The plan's branch stays where the program has brought it, but for what a person was asked to do (D31)."""

from collections.abc import Callable

from musician.trees.branches import full_ref, integration_branch
from musician.trees.integrity import put_right
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
