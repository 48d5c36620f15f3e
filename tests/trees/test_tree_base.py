"""What a run starts from, and the fast-forward of the user's branch at its end (D24)."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from musician.protocol.errors import TreeNotReady
from musician.trees.base import Move, check_base, fast_forward, untracked
from musician.trees.branches import integration_branch
from musician.trees.root import Root, find_root

GitCommand = Callable[..., str]
INTEGRATION = integration_branch("greeter")


def _integrate(git: GitCommand, repo: Path, name: str = "new.txt") -> str:
    """Give the plan's branch one commit on top of trunk, without touching the tree."""
    blob = git(repo, "hash-object", "-w", "a.txt")
    git(repo, "read-tree", "--index-output=.git/scratch", "HEAD")
    tree = git(repo, "write-tree")
    listing = git(repo, "ls-tree", tree) + f"\n100644 blob {blob}\t{name}\n"
    made = subprocess.run(
        ["git", "--git-dir=.git", "mktree"], cwd=repo, input=listing.encode(), capture_output=True
    )
    commit = git(repo, "commit-tree", made.stdout.decode().strip(), "-p", "HEAD", "-m", "integrated")
    git(repo, "update-ref", f"refs/heads/{INTEGRATION}", commit)
    return commit


def _begin_bisect(root: Root, git: GitCommand) -> None:
    (root.git_dir / "hooks" / "reference-transaction").unlink()  # bisect runs it whatever one configures
    git(root.path, "bisect", "start")


def test_a_clean_tree_gives_its_branch_and_commit(root: Root, git: GitCommand) -> None:
    base = check_base(root)
    assert (base.branch, base.commit) == ("trunk", git(root.path, "rev-parse", "HEAD"))


def test_a_detached_head_is_a_base_without_a_branch(root: Root, git: GitCommand) -> None:
    git(root.path, "checkout", "-q", "--detach")
    assert check_base(root).branch is None


def test_an_unborn_head_is_refused(tmp_path: Path, git: GitCommand, hostile: None) -> None:
    git(tmp_path, "init", "-q", "-b", "new", "fresh")
    with pytest.raises(TreeNotReady, match="'new' has no commit"):
        check_base(find_root(tmp_path / "fresh"))


def test_a_dirty_tree_is_refused_with_every_path(root: Root, git: GitCommand) -> None:
    (root.path / "a.txt").write_text("changed\n")
    (root.path / "b.txt").unlink()
    (root.path / "staged.txt").touch()
    git(root.path, "add", "staged.txt")
    with pytest.raises(TreeNotReady) as caught:
        check_base(root)
    assert set(caught.value.paths) == {"a.txt", "b.txt", "staged.txt"}
    assert "stash" in caught.value.remedy


def test_what_is_not_tracked_refuses_no_run_and_is_named(root: Root) -> None:
    """AUDIT-N14: only changes to what git tracks would be missed by the tasks and be in the way of the end."""
    (root.path / "dir" / "neu é.txt").touch()
    (root.path / "x.ignored").touch()
    assert check_base(root).branch == "trunk"
    assert untracked(root) == ("dir/neu é.txt",)


def test_the_programs_own_files_are_no_strangers_even_before_they_are_excluded(repo: Path) -> None:
    root = find_root(repo)
    for folder in (root.musician_dir, root.temp_dir, root.reports_dir, root.proposals_dir):
        folder.mkdir(parents=True)
        (folder / "x").touch()
    (root.path / "docs" / "mine.md").touch()
    assert untracked(root) == ("docs/mine.md",)


def test_a_lock_in_the_users_tree_is_reported_and_left(root: Root) -> None:
    lock = root.git_dir / "index.lock"
    lock.touch()
    with pytest.raises(TreeNotReady) as caught:
        check_base(root)
    assert caught.value.paths == (str(lock),)
    assert lock.exists()


def test_an_operation_under_way_is_refused(root: Root, git: GitCommand) -> None:
    _begin_bisect(root, git)
    with pytest.raises(TreeNotReady, match="bisect is under way"):
        check_base(root)


def test_the_users_clean_branch_moves_forward_with_its_tree(root: Root, git: GitCommand) -> None:
    commit = _integrate(git, root.path)
    (root.path / "note of the user.txt").touch()
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.MOVED
    assert git(root.path, "rev-parse", "trunk") == commit
    assert (root.path / "new.txt").exists()
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.ALREADY


def test_a_branch_checked_out_nowhere_moves_without_touching_the_tree(root: Root, git: GitCommand) -> None:
    commit = _integrate(git, root.path)
    git(root.path, "checkout", "-q", "-b", "elsewhere")
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.MOVED
    assert git(root.path, "rev-parse", "trunk") == commit
    assert not (root.path / "new.txt").exists()


def _refused(
    root: Root, branch: str | None, git: GitCommand, *, begun_at: str | None = None
) -> tuple[str, str]:
    before = git(root.path, "for-each-ref"), git(root.path, "status", "--porcelain", "-uall")
    outcome = fast_forward(root, branch, INTEGRATION, begun_at=begun_at)
    assert outcome.move is Move.NOT_POSSIBLE
    assert (git(root.path, "for-each-ref"), git(root.path, "status", "--porcelain", "-uall")) == before
    assert outcome.reason is not None
    assert outcome.command is not None
    return outcome.reason, outcome.command


def test_changes_in_the_users_tree_hold_the_move_and_the_command_works_once_they_are_gone(
    root: Root, git: GitCommand
) -> None:
    commit = _integrate(git, root.path)
    (root.path / "a.txt").write_text("mine\n")
    reason, command = _refused(root, "trunk", git)
    assert "a.txt" in reason
    git(root.path, "checkout", "-q", "a.txt")
    git(root.path, *shlex.split(command)[1:])
    assert git(root.path, "rev-parse", "trunk") == commit


def test_reports_of_an_earlier_plan_that_were_committed_hold_nothing_up(root: Root, git: GitCommand) -> None:
    """D24: the next plan's reports have the same names, and are written over them while it is played."""
    report = root.reports_dir / "task-01-completion.md"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("of the first plan\n")
    git(root.path, "add", "--force", str(report))
    git(root.path, "commit", "-qm", "reports")
    tip = _integrate(git, root.path)
    report.write_text("of the second\n")
    assert check_base(root).commit == git(root.path, "rev-parse", "HEAD")
    assert fast_forward(root, "trunk", INTEGRATION).move is Move.MOVED
    assert git(root.path, "rev-parse", "trunk") == tip
    assert report.read_text() == "of the second\n"


def test_a_report_that_the_plan_itself_has_changed_holds_the_move(root: Root, git: GitCommand) -> None:
    report = root.reports_dir / "task-01-completion.md"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("of the first plan\n")
    git(root.path, "add", "--force", str(report))
    git(root.path, "commit", "-qm", "reports")
    report.write_text("by the plan\n")
    git(root.path, "commit", "-qam", "by the plan")
    git(root.path, "update-ref", f"refs/heads/{INTEGRATION}", "HEAD")
    git(root.path, "reset", "-q", "--hard", "HEAD^")
    report.write_text("of the second\n")
    found = fast_forward(root, "trunk", INTEGRATION)
    assert found.move is Move.NOT_POSSIBLE
    assert "task-01-completion.md" in (found.reason or "")
    assert report.read_text() == "of the second\n"


def test_an_untracked_file_in_the_way_holds_the_move(root: Root, git: GitCommand) -> None:
    _integrate(git, root.path)
    (root.path / "new.txt").write_text("mine\n")
    reason, _ = _refused(root, "trunk", git)
    assert "overwritten" in reason
    assert (root.path / "new.txt").read_text() == "mine\n"


def test_a_locked_index_or_an_operation_holds_the_move(root: Root, git: GitCommand) -> None:
    _integrate(git, root.path)
    (root.git_dir / "index.lock").touch()
    outcome = fast_forward(root, "trunk", INTEGRATION)
    assert outcome.move is Move.FAILED  # not held back by the user: the next run has to try again
    assert "another git" in str(outcome.reason)
    (root.git_dir / "index.lock").unlink()
    _begin_bisect(root, git)
    assert "bisect" in _refused(root, "trunk", git)[0]


def test_a_branch_with_commits_of_its_own_is_never_forced(root: Root, git: GitCommand) -> None:
    _integrate(git, root.path)
    git(root.path, "commit", "-q", "--allow-empty", "-m", "own")
    reason, command = _refused(root, "trunk", git)
    assert "commits of its own" in reason
    assert command == f"git checkout trunk && git merge {INTEGRATION}"


@pytest.mark.parametrize("how", ["set back", "amended", "rebased"])
def test_a_branch_that_no_longer_has_what_the_plan_began_at_is_never_moved(
    root: Root, git: GitCommand, how: str
) -> None:
    """D31: one that was set back was moved forward again over it, without a word."""
    git(root.path, "commit", "-q", "--allow-empty", "-m", "second")
    begun_at = git(root.path, "rev-parse", "HEAD")
    _integrate(git, root.path)
    if how == "set back":
        git(root.path, "reset", "-q", "--hard", "HEAD^")
    elif how == "amended":
        git(root.path, "commit", "-q", "--amend", "--allow-empty", "-m", "said better")
    else:
        git(root.path, "reset", "-q", "--hard", "HEAD^")
        git(root.path, "commit", "-q", "--allow-empty", "-m", "before")
        git(root.path, "cherry-pick", "--allow-empty", begun_at)
    own = git(root.path, "rev-parse", "HEAD")
    reason, command = _refused(root, "trunk", git, begun_at=begun_at)
    assert begun_at[:12] in reason
    for part in command.split(" && "):
        git(root.path, *shlex.split(part)[1:])
    assert git(root.path, "merge-base", "--is-ancestor", own, "trunk") == ""
    assert (root.path / "new.txt").exists()


def test_a_branch_checked_out_in_another_tree_is_left_to_its_owner(
    root: Root, tmp_path: Path, git: GitCommand
) -> None:
    _integrate(git, root.path)
    git(root.path, "worktree", "add", "-q", str(tmp_path / "of user"), "-b", "users", "trunk")
    reason, command = _refused(root, "users", git)
    assert str(tmp_path / "of user") in reason
    git(root.path, *shlex.split(command)[1:])
    assert fast_forward(root, "users", INTEGRATION).move is Move.ALREADY


def test_a_run_begun_in_a_linked_tree_starts_from_its_branch_and_moves_that_one(
    root: Root, tmp_path: Path, git: GitCommand
) -> None:
    linked = tmp_path / "linked"
    git(root.path, "worktree", "add", "-q", str(linked), "-b", "users", "trunk")
    (root.path / "a.txt").write_text("what the main tree holds is not looked at\n")
    standing = find_root(linked)
    assert check_base(standing).branch == "users"
    (linked / "a.txt").write_text("but what this one holds is\n")
    with pytest.raises(TreeNotReady, match="has changes"):
        check_base(standing)
    git(linked, "checkout", "-q", "a.txt")
    commit = _integrate(git, root.path)
    assert fast_forward(standing, "users", INTEGRATION).move is Move.MOVED
    assert git(linked, "rev-parse", "HEAD") == commit
    assert (linked / "new.txt").exists()
    assert git(root.path, "rev-parse", "trunk") != commit


def test_a_tasks_own_tree_is_not_the_users(root: Root, git: GitCommand) -> None:
    of_task = root.trees_dir / "greeter" / "task-01"
    git(root.path, "worktree", "add", "-q", str(of_task), "-b", "musician/greeter/task-01", "trunk")
    assert check_base(find_root(of_task)).branch == "trunk"


def test_a_branch_that_is_gone_or_never_was_is_answered_with_a_command(root: Root, git: GitCommand) -> None:
    _integrate(git, root.path)
    assert _refused(root, "deleted", git)[1] == f"git branch deleted {INTEGRATION}"
    assert _refused(root, None, git)[1] == f"git merge {INTEGRATION}"


def test_without_a_plans_branch_there_is_nothing_to_move_to(root: Root) -> None:
    with pytest.raises(TreeNotReady, match="there is no branch"):
        fast_forward(root, "trunk", INTEGRATION)
