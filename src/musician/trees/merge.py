"""Trial merges of finished tasks into the plan's own branch (D24).

A trial is a merge commit that no branch holds, checked out in a tree of its own so that it can be verified there.
Only :func:`accept_merge` moves the branch, from the value the trial started at. Rules: the integration tree belongs to
the program alone, so a merge that a kill left half done is ended; still, what lies there unsaved is kept under a ref;
everything can be called again after a kill at any point.
"""

from contextlib import suppress
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.branches import (
    baseline_name,
    branch_of,
    create_branch,
    full_ref,
    integration_branch,
    trial_name,
)
from musician.trees.cleaning import remove_trial_tree
from musician.trees.conflicts import Conflict, find_conflict
from musician.trees.git import Git, git_version
from musician.trees.integrity import check_not_held, merged_tip, move_integration
from musician.trees.obstacles import changed_between
from musician.trees.partial import discard_to, save_partial
from musician.trees.registrations import clear_stale_locks
from musician.trees.resolving import settle_written_by_hand
from musician.trees.root import Root
from musician.trees.steps import check_clean
from musician.trees.worktree import Worktree, ensure_detached_tree, place_of, remove_detached_tree

_TITLE_MAX = 150
_FIRST_WITH_ORT = (2, 34)
"""It is named, so that a user's ``pull.twohead`` chooses no other than what a forecast takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """``commit`` is checked out in ``tree_path``; ``onto`` is what the branch was at, for :func:`accept_merge`."""

    commit: str
    onto: str
    tree_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyMerged:
    """The other side is contained in ``commit``, which is checked out in ``tree_path``."""

    commit: str
    tree_path: Path


Trial = Merged | AlreadyMerged | Conflict


def ensure_integration(root: Root, plan_id: str, base: str) -> str:
    """Return the tip of the plan's branch, which is created at commit ``base`` if it does not exist."""
    create_branch(Git(root.path), integration_branch(plan_id), base)
    return str(merged_tip(root, plan_id))


def trial_merge(
    root: Root,
    *,
    plan_id: str,
    task_id: str,
    title: str,
    base: str,
    commit: str | None = None,
    onto: str | None = None,
    number: int = 1,
) -> Trial:
    """Merge the task's ``commit`` onto the tip of the plan's branch, in an integration tree, moving no branch.

    Without ``commit`` the tip of the task's branch is merged (a raw writer's submission names none). ``onto``
    is another trial's commit, where this one goes on from there; each that is undecided has the tree of
    another ``number``. After a :class:`Conflict` the tree is back where it began. :class:`TreeNotReady` if
    the task has no branch.
    """
    branch = branch_of(plan_id, task_id)
    tip = ensure_integration(root, plan_id, base)
    check_not_held(root, plan_id)
    onto = onto or tip
    tree = _clean(root, trial_name(plan_id, number), onto)
    git = Git(tree.path)
    theirs = git.commit_id(commit or full_ref(branch))
    if theirs is None:
        what = f"branch {branch!r}" if commit is None else f"commit {commit}"
        raise TreeNotReady(reason=f"there is no {what}", paths=(), remedy="play the task first")
    message = f"Merge {task_id}: {' '.join(title.split()):.{_TITLE_MAX}}\n\nMusician-Task: {task_id}\n"
    conflicts = _merge(git, theirs, message, "--no-ff")
    if conflicts and settle_written_by_hand(git, conflicts):
        found = find_conflict(git, onto, theirs, conflicts)
        discard_to(tree, onto, saved=None, detached=True)
        return found
    if conflicts:
        git.run("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "-m", message)
    commit = git.head()
    if commit == onto:
        return AlreadyMerged(commit=onto, tree_path=tree.path)
    return Merged(commit=commit, onto=onto, tree_path=tree.path)


def accept_merge(root: Root, plan_id: str, commit: str, expected_old: str) -> bool:
    """Move the plan's branch from ``expected_old`` to ``commit``; nothing to do if it is there already.

    False, and nothing is moved, if it has gone on from ``expected_old``, as after a person's own merge: what was
    verified is not what the branch would get, and is to be tried once more. :class:`TreeNotReady` if ``commit`` does
    not contain ``expected_old``, or if somebody has the branch checked out.
    """
    git = Git(root.path)
    while True:
        at = merged_tip(root, plan_id)
        if at == commit:
            return True
        if not git.holds(commit, expected_old):
            raise TreeNotReady(
                reason=f"the trial {commit} does not go on from {expected_old}",
                paths=(),
                remedy="merge on trial again",
            )
        check_not_held(root, plan_id)
        if at != expected_old:
            return False
        try:
            move_integration(git, plan_id, commit, expected_old)
            return True
        except GitFailed:
            if git.commit_id(full_ref(integration_branch(plan_id))) == expected_old:
                raise
            # Else somebody moved the branch just now. That is put right, and told, as at any other moment.


def take_up_plan_files(root: Root, plan_id: str, branch: str, files: frozenset[bytes]) -> None:
    """Merge the user's ``branch`` into the plan's branch if only the plan's own files are new on it.

    A user who commits an amended plan could no longer have the branch moved by fast-forward. Nothing that is
    verified changes by that; whatever else the branch has got is for its owner to merge.
    """
    git = Git(root.path)
    tip, theirs = merged_tip(root, plan_id), git.commit_id(full_ref(branch))
    if tip is None or theirs is None or git.holds(tip, theirs):
        return
    common = git.run("merge-base", tip, theirs, accept=(0, 1)).stdout.decode("ascii").strip()
    if not common or not {each.path for each in changed_between(git, common, theirs)} <= files:
        return
    tree = _clean(root, trial_name(plan_id, 1), tip)
    if _merge(Git(tree.path), theirs, f"Merge {branch}: the plan as it was amended\n", "--no-ff"):
        discard_to(tree, tip, saved=None, detached=True)
        return
    accept_merge(root, plan_id, Git(tree.path).head(), tip)


def drop_trial(root: Root, plan_id: str, number: int = 1) -> None:
    """Bring an integration tree back to the tip of the plan's branch; nothing to do without one."""
    tip = merged_tip(root, plan_id)
    if tip is not None:
        _clean(root, trial_name(plan_id, number), tip)


def drop_further_trials(root: Root, plan_id: str) -> None:
    """Remove the trees in which trials stood beside the first, if they hold nothing."""
    first = place_of(root, trial_name(plan_id, 1))
    for place in first.parent.glob(f"{first.name}-*"):
        number = place.name.rpartition("-")[2]
        if number.isdecimal():
            with suppress(TreeNotReady, GitFailed):  # `musician doctor` names what could not be removed
                remove_trial_tree(root, trial_name(plan_id, int(number)))


def take_in(worktree: Worktree, plan_id: str) -> Trial:
    """Merge the plan's branch into a task's tree, for the rework of a conflict or a red merge.

    Conflicts are left in the files for the musician; the next step's commit concludes the merge. :class:`TreeNotReady`
    if the tree has uncommitted work or a merge under way.
    """
    clear_stale_locks(worktree.root, worktree.path, worktree.branch)
    git, branch = Git(worktree.path), integration_branch(plan_id)
    check_clean(worktree)
    before, theirs = git.head(), merged_tip(worktree.root, plan_id)
    if theirs is None:
        return AlreadyMerged(commit=before, tree_path=worktree.path)
    conflicts = _merge(git, theirs, f"Merge {branch} into {worktree.branch}\n", "--ff")
    if conflicts:
        return find_conflict(git, before, theirs, conflicts)
    commit = git.head()
    if commit == before:
        return AlreadyMerged(commit=commit, tree_path=worktree.path)
    return Merged(commit=commit, onto=before, tree_path=worktree.path)


def baseline_tree(root: Root, plan_id: str, commit: str) -> Path:
    """Return a tree of the plan's with ``commit`` checked out, to run tests in. One caller at a time may use
    it.
    """
    return _clean(root, baseline_name(plan_id), commit).path


def drop_baseline(root: Root, plan_id: str) -> None:
    """Remove that tree; nothing to do if there is none."""
    remove_detached_tree(root, baseline_name(plan_id))


def _clean(root: Root, branch: str, commit: str) -> Worktree:
    """Return a tree of the program's own, clean and detached at ``commit``. Unsaved work found in it is kept
    under a ref.
    """
    tree = ensure_detached_tree(root, branch, commit)
    saved = save_partial(tree, task_id=branch.rpartition("/")[2], epoch=0)
    discard_to(tree, commit, saved=saved, detached=True)
    return tree


def _merge(git: Git, theirs: str, message: str, mode: str) -> tuple[bytes, ...]:
    """Merge; return the paths in conflict, none if it succeeded. :class:`GitFailed` if it could not be tried."""
    strategy = "ort" if git_version() >= _FIRST_WITH_ORT else "recursive"
    options = ("--quiet", "--no-stat", "--no-edit", "--no-verify")
    command = ("merge", f"--strategy={strategy}", mode, *options, "-m", message, theirs)
    done = git.run(*command, accept=(0, 1))
    if done.returncode == 0:
        return ()
    unmerged = git.records("diff", "--name-only", "--diff-filter=U", "-z")
    if not unmerged:
        raise GitFailed(argv=command, returncode=1, stderr=done.stderr)
    return tuple(dict.fromkeys(unmerged))
