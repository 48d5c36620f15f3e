"""A task's own changes, before and after they are merged, and beside what came in from others."""

from collections.abc import Callable
from pathlib import Path

from musician.trees.merge import Merged, accept_merge, take_in, trial_merge
from musician.trees.root import Root
from musician.trees.steps import commit_step
from musician.trees.task_work import work_of
from musician.trees.worktree import Worktree, ensure_worktree

GitCommand = Callable[..., str]


def play(root: Root, task_id: str, files: dict[str, bytes], item: str = "step 1") -> Worktree:
    tree = ensure_worktree(root, "greeter", task_id, "trunk")
    for name, data in files.items():
        (tree.path / name).write_bytes(data)
    commit_step(tree, task_id=task_id, item=item, title="Write", session_id="s", epoch=1)
    return tree


def merge(root: Root, task_id: str) -> None:
    merged = trial_merge(root, plan_id="greeter", task_id=task_id, title="t", base="trunk")
    assert isinstance(merged, Merged)
    accept_merge(root, "greeter", merged.commit, merged.onto)


def files_of(root: Root, task_id: str) -> tuple[tuple[str, int | None, int | None], ...]:
    work = work_of(root, "greeter", task_id)
    assert work is not None
    return tuple((each.path, each.added, each.removed) for each in work.files)


def test_a_task_has_its_own_changes_and_nobody_elses(root: Root, git: GitCommand) -> None:
    """AUDIT-N3: what was merged before, taken in, or merged since is another's."""
    play(root, "task-01", {"one.txt": b"1\n"})
    mine = play(root, "task-02", {"two é\n.txt": b"1\n2\n", "blob": b"\0\1"})
    expected = (
        ("blob", None, None),
        ("two é\n.txt", 2, 0),
    )
    merge(root, "task-01")
    assert {added for _, added, _ in files_of(root, "task-02")} == {None, 2}
    take_in(mine, "greeter")
    assert files_of(root, "task-02") == expected
    merge(root, "task-02")
    assert files_of(root, "task-02") == expected
    assert files_of(root, "task-01") == (("one.txt", 1, 0),)


def test_a_task_of_no_plan_starts_where_it_was_claimed(root: Root, git: GitCommand, tmp_path: Path) -> None:
    assert work_of(root, None, "task-07") is None
    git(root.path, "update-ref", "refs/heads/musician/tasks/_task-07", "trunk")
    git(root.path, "update-ref", "refs/heads/musician/tasks/task-07", "trunk")
    work = work_of(root, None, "task-07")
    assert work is not None
    assert (work.files, work.tree) == ((), None)
    assert work.diff_command == f"git diff {work.start[:12]} {work.commit[:12]}"
