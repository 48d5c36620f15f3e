"""The refs that belong to this program, and the only place where their names are made.

``musician/<plan>/<task>`` is a task's branch and ``musician/<plan>/_integration`` the one that tasks are merged
into. D24 calls the latter ``musician/<plan>``; git cannot hold both, because a ref is a file where the other needs
a folder. No task can be called ``_integration``: ids start with a letter or digit (D8).
"""

from collections.abc import Iterable

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.protocol.names import NO_PLAN, check_plan_id, check_task_id
from musician.trees.git import Git

_INTEGRATION = "_integration"
BASELINE = "_base"
"""The folder of a plan's tree in which commits that tasks begin at are tested."""


def branch_of(plan_id: str, task_id: str) -> str:
    """The branch of a task, without ``refs/heads/``; :class:`BadId` for what may not become a name."""
    return f"musician/{_checked(plan_id)}/{check_task_id(task_id)}"


def integration_branch(plan_id: str) -> str:
    """The branch that verified tasks of a plan are merged into."""
    return f"musician/{_checked(plan_id)}/{_INTEGRATION}"


def trial_name(plan_id: str, number: int) -> str:
    """Return the name of a tree for trial merges, in the form of a branch name. The first is named as the
    plan's branch.
    """
    return integration_branch(plan_id) + ("" if number == 1 else f"-{number}")


def baseline_name(plan_id: str) -> str:
    """Return the name of the tree in which the tasks' base commits are tested. It looks like a branch name;
    no such branch exists.
    """
    return f"musician/{_checked(plan_id)}/{BASELINE}"


def start_branch(plan_id: str, task_id: str) -> str:
    """Return the ref of the commit at which a task without a plan's branch started. It never moves."""
    return f"musician/{_checked(plan_id)}/_{check_task_id(task_id)}"


def full_ref(branch: str) -> str:
    return f"refs/heads/{branch}"


PARTIAL = "partial"
"""The folder of refs that keep work which no finished step covers (D24)."""

REPLACED = "replaced"
"""The folder of refs that keep all the work of a task that was started over. Nothing of ours removes them."""

REMOVED = "removed"
"""The folder of refs that keep work of tasks that their plan went on without. Nothing of ours removes them."""

MOVED = "moved"
"""The folder of refs that keep what somebody else moved a plan's branch to. Nothing of ours removes them."""


def partial_ref(branch: str, label: str, *, folder: str = PARTIAL) -> str:
    """Return the ref that keeps work besides the branch: one ref per claim epoch."""
    return f"refs/musician/{folder}/{branch.removeprefix('musician/')}/{label}"


def move_refs(git: Git, *orders: str, why: str = "") -> None:
    """Move refs in one transaction, or none of them; ``orders`` as ``git update-ref --stdin`` takes them."""
    reason = ("-m", f"musician: {why}") if why else ()
    git.run("update-ref", *reason, "--stdin", stdin="".join(f"{each}\n" for each in orders).encode())


def create_branch(git: Git, branch: str, start: str) -> str:
    """Create ``branch`` at ``start`` unless it exists; return the commit it is at.

    :class:`TreeNotReady` if ``start`` names no commit, or a branch of the user is in the way of the name.
    """
    there = git.commit_id(full_ref(branch))
    if there is not None:
        return there
    commit = git.commit_id(start)
    if commit is None:
        raise TreeNotReady(
            reason=f"{start!r:.80} is no commit of this repository", paths=(), remedy="name an existing one"
        )
    try:
        git.run("update-ref", full_ref(branch), commit, "0" * len(commit))
    except GitFailed:
        # Two sessions that begin at the same moment both make the plan's branch; the other one was first.
        there = git.commit_id(full_ref(branch))
        if there is not None:
            return there
        check_names(git, [branch])
        raise
    return commit


def branches_of(git: Git, plan_id: str) -> tuple[str, ...]:
    """Return the branches of a plan and its tasks that there are."""
    ours = full_ref(integration_branch(plan_id)).rpartition("/")[0]
    return tuple(git.text("for-each-ref", "--format=%(refname:lstrip=2)", ours).splitlines())


def check_names(git: Git, branches: Iterable[str]) -> None:
    """:class:`TreeNotReady` if a branch of the user's is in the way of ours: git keeps each in a file of its name."""
    listed = git.text("for-each-ref", "--format=%(refname)", "refs/heads/musician", "refs/heads/musician/**")
    there = [ref.removeprefix("refs/heads/") for ref in listed.splitlines()]
    for branch in branches:
        for name in there:
            if branch.startswith(f"{name}/") or name.startswith(f"{branch}/"):
                raise TreeNotReady(
                    reason=f"branch {name!r} is in the way of {branch!r}",
                    paths=(),
                    remedy=f"rename it: git branch -m {name} {name.replace('musician', 'musician-old', 1)}",
                )


def _checked(plan_id: str) -> str:
    return plan_id if plan_id == NO_PLAN else check_plan_id(plan_id)
