"""Checks that the plan's own branch is where the program left it (D24, D31).

Anyone who can write to the repository can move our branches. So the commit to which the program moved the
plan's branch is kept under a ref beside it, and both are moved in one transaction. Where they differ somebody
else has moved the branch: it is brought back, and what it was moved to is kept.
"""

from musician.trees.branches import branches_of, full_ref, integration_branch, partial_ref
from musician.trees.git import Git
from musician.trees.root import Root


def move_integration(git: Git, plan_id: str, commit: str, expected_old: str | None) -> None:
    """Move the plan's branch from ``expected_old`` (None: it does not exist, or is not recorded yet) to
    ``commit``.
    """
    branch = full_ref(integration_branch(plan_id))
    old = "0" * len(commit) if expected_old is None else expected_old
    lines = f"update {branch} {commit} {old}\nupdate {beside(plan_id)} {commit}\n"
    git.run("update-ref", "-m", "musician: accept", "--stdin", stdin=lines.encode())


def put_right(root: Root, plan_id: str, *, by_hand: bool = False) -> tuple[str, ...]:
    """Move the plan's branch back to where the program left it; return what was found, () if nothing was
    wrong.

    ``by_hand``: a person was asked to merge a task, so that a branch which has got nothing but merges of the plan's own
    tasks stays where it is.
    """
    git, branch = Git(root.path), full_ref(integration_branch(plan_id))
    while True:
        ours = git.commit_id(beside(plan_id))
        found = git.commit_id(branch)
        if ours == git.commit_id(beside(plan_id)):  # otherwise the program has just moved it
            break
    if ours is None and found is not None:
        git.run("update-ref", beside(plan_id), found)
    if ours is None or found == ours:
        return ()
    if by_hand and found is not None and _has_only_merges(git, plan_id, ours, found):
        git.run("update-ref", beside(plan_id), found, ours)
        return ()
    said = f"the plan's branch {integration_branch(plan_id)} was moved by somebody else; it is back at {ours:.12}"
    if found is None:
        git.run("update-ref", branch, ours, "0" * len(ours))
        return (said,)
    kept = partial_ref(integration_branch(plan_id), found)
    lines = f"verify {beside(plan_id)} {ours}\nupdate {kept} {found}\nupdate {branch} {ours} {found}\n"
    git.run("update-ref", "-m", "musician: bring back", "--stdin", stdin=lines.encode())
    return (f"{said}; what it was moved to is kept at {kept}",)


def begin_anew(root: Root, plan_id: str) -> None:
    """Forget where the branch of an earlier plan of this name was: a new one would begin there.

    What nothing else holds is kept under a ref. While a branch of that plan is there, nothing is forgotten.
    """
    git = Git(root.path)
    ours = git.commit_id(beside(plan_id))
    if ours is None or branches_of(git, plan_id):
        return
    lines = f"delete {beside(plan_id)} {ours}\n"
    if not git.text("for-each-ref", f"--contains={ours}", "refs/heads", "refs/tags"):
        lines += f"update {partial_ref(integration_branch(plan_id), ours)} {ours}\n"
    git.run("update-ref", "--stdin", stdin=lines.encode())


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
