"""Checks that the plan's own branch is where the program left it (D24, D31).

Anyone who can write to the repository can move our branches. So the commit to which the program moved the
plan's branch is kept under a ref beside it, and both are moved in one transaction. Where they differ somebody
else has moved the branch. Its commits are his, and are kept under a ref for good; the branch is ours, and holds what
was verified, so it is brought back, and everybody is told. Where he has it checked out it is left, and no merge is
begun.
"""

from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.branches import (
    MOVED,
    REPLACED,
    branches_of,
    full_ref,
    integration_branch,
    move_refs,
    partial_ref,
)
from musician.trees.git import Git
from musician.trees.registrations import checked_out_at
from musician.trees.root import Root


def move_integration(git: Git, plan_id: str, commit: str, expected_old: str | None) -> None:
    """Move the plan's branch from ``expected_old`` (None: it does not exist, or is not recorded yet) to
    ``commit``.
    """
    branch = full_ref(integration_branch(plan_id))
    old = "0" * len(commit) if expected_old is None else expected_old
    move_refs(git, f"update {branch} {commit} {old}", f"update {beside(plan_id)} {commit}", why="accept")


def put_right(root: Root, plan_id: str, *, by_hand: bool = False) -> tuple[str, ...]:
    """Move the plan's branch back to where the program left it; return what was found, () if nothing was
    wrong.

    What it was moved to is kept (:func:`strangers`). Where the branch is checked out it stays: nobody's files are
    changed under his hands, and :func:`merged_tip` says what counts. ``by_hand``: a person was asked to merge a task,
    so that a branch which has got nothing but merges of the plan's own tasks stays where it is.
    """
    git, refs = Git(root.path), [full_ref(integration_branch(plan_id)), beside(plan_id)]
    while True:
        at = git.commit_ids(refs)
        found, ours = (at.get(ref) for ref in refs)
        if found == ours:
            return ()
        if ours != git.commit_id(refs[1]):
            continue  # the program has just moved it
        try:
            return _put_right(root, git, plan_id, found, ours, by_hand=by_hand)
        except GitFailed:
            # Or is just moving it: both refs in one transaction, but one after the other for who reads.
            if git.commit_ids(refs) == at:
                raise


def _put_right(
    root: Root, git: Git, plan_id: str, found: str | None, ours: str | None, *, by_hand: bool
) -> tuple[str, ...]:
    """Where the branch is at ``found``. GitFailed, and nothing done, if the two are not there any more."""
    branch, own = full_ref(integration_branch(plan_id)), beside(plan_id)
    none = "0" * len(found or ours or "")
    if ours is None:
        move_refs(git, f"verify {branch} {found}", f"update {own} {found} {none}")
        return ()
    if found is None:
        move_refs(git, f"verify {own} {ours}", f"update {branch} {ours} {none}")
        return (
            f"the plan's branch {integration_branch(plan_id)} was deleted by somebody else; it is there again",
        )
    if by_hand and _has_only_merges(git, plan_id, ours, found):
        move_refs(git, f"verify {branch} {found}", f"update {own} {found} {ours}")
        return ()
    kept = partial_ref(integration_branch(plan_id), found, folder=MOVED)
    tree = checked_out_at(root, integration_branch(plan_id))
    back = found if tree is not None else ours
    orders = (f"verify {own} {ours}", f"update {kept} {found}", f"update {branch} {back} {found}")
    move_refs(git, *orders, why="bring back")
    return (_said(plan_id, kept), *(() if tree is None else (_checked_out(plan_id, tree),)))


def merged_tip(root: Root, plan_id: str) -> str | None:
    """Return the commit of all that the program has merged, or a person it asked; None if nothing was ever begun."""
    put_right(root, plan_id, by_hand=True)
    return Git(root.path).commit_id(beside(plan_id))


def strangers(root: Root, plan_id: str) -> tuple[str, ...]:
    """Return a sentence for each commit that the plan's branch was moved to by somebody else, as :func:`put_right`."""
    folder = partial_ref(integration_branch(plan_id), "", folder=MOVED)
    listed = Git(root.path).text("for-each-ref", "--format=%(refname)", folder).splitlines()
    return tuple(_said(plan_id, kept) for kept in listed)


def check_not_held(root: Root, plan_id: str) -> None:
    """:class:`TreeNotReady` if somebody has the plan's branch checked out, so that the program cannot move it."""
    tree = checked_out_at(root, integration_branch(plan_id))
    if tree is not None:
        raise TreeNotReady(
            reason=f"branch {integration_branch(plan_id)!r} is checked out",
            paths=(str(tree),),
            remedy="check out another branch there",
        )


def _said(plan_id: str, kept: str) -> str:
    branch = integration_branch(plan_id)
    return (
        f"the plan's branch {branch} was moved by somebody else; it stays where the program left it, because nobody has"
        f" verified the rest. That is kept: `git log {kept} ^{branch}`, and to have it in a branch of yours"
        f" `git merge {kept}`"
    )


def _checked_out(plan_id: str, tree: Path) -> str:
    return (
        f"the plan's branch {integration_branch(plan_id)} is checked out in {tree}, so nothing can be merged: check out"
        " another branch there"
    )


def begin_anew(root: Root, plan_id: str) -> None:
    """Forget where the branch of an earlier plan of this name was: a new one would begin there.

    What nothing else holds is kept under a ref. While a branch of that plan is there, nothing is forgotten.
    """
    git = Git(root.path)
    ours = git.commit_id(beside(plan_id))
    if ours is None or branches_of(git, plan_id):
        return
    orders = [f"delete {beside(plan_id)} {ours}"]
    moved = partial_ref(integration_branch(plan_id), "", folder=MOVED)
    for line in git.text("for-each-ref", "--format=%(refname) %(objectname)", moved).splitlines():
        ref, commit = line.split(" ")
        kept = partial_ref(integration_branch(plan_id), commit, folder=REPLACED)
        orders += [f"update {kept} {commit}", f"delete {ref} {commit}"]
    if not git.text("for-each-ref", f"--contains={ours}", "refs/heads", "refs/tags"):
        orders.append(f"update {partial_ref(integration_branch(plan_id), ours)} {ours}")
    move_refs(git, *orders)


def _has_only_merges(git: Git, plan_id: str, old: str, new: str) -> bool:
    """Whether every commit in between is on a task's branch or is a merge."""
    tasks = full_ref(integration_branch(plan_id)).rpartition("/")[0]
    named = git.text("for-each-ref", "--format=%(refname)", tasks).splitlines()
    known = [f"^{name}" for name in named if name != full_ref(integration_branch(plan_id))]
    strangers = git.text("rev-list", "--no-merges", "--max-count=1", new, f"^{old}", *known)
    return git.holds(new, old) and not strangers


def beside(plan_id: str) -> str:
    """Return the ref at which the program left the plan's branch, which stays when that is cleaned away."""
    return f"refs/musician/merged/{plan_id}"
