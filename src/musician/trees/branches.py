"""The refs that belong to this program, and the only place where their names are made.

``musician/<plan>/<task>`` is a task's branch and ``musician/<plan>/_integration`` the one that tasks are merged
into. D24 calls the latter ``musician/<plan>``; git cannot hold both, because a ref is a file where the other needs
a folder. No task can be called ``_integration``: ids start with a letter or digit (D8).
"""

from musician.protocol.errors import BadId, GitFailed, TreeNotReady
from musician.protocol.names import check_task_id
from musician.trees.git import Git

__all__ = [
    "INTEGRATION",
    "NO_PLAN",
    "branch_of",
    "create_branch",
    "full_ref",
    "integration_branch",
    "partial_ref",
    "start_branch",
]

INTEGRATION = "_integration"

NO_PLAN = "tasks"
"""Stands for the plan in the names of a task that belongs to none."""


def branch_of(plan_id: str, task_id: str) -> str:
    """The branch of a task, without ``refs/heads/``; :class:`BadId` for what may not become a name."""
    return f"musician/{_checked(plan_id)}/{check_task_id(task_id)}"


def integration_branch(plan_id: str) -> str:
    """The branch that verified tasks of a plan are merged into."""
    return f"musician/{_checked(plan_id)}/{INTEGRATION}"


def start_branch(plan_id: str, task_id: str) -> str:
    """Where a task that no plan's branch speaks for has started; it moves no more."""
    return f"musician/{_checked(plan_id)}/_{check_task_id(task_id)}"


def full_ref(branch: str) -> str:
    return f"refs/heads/{branch}"


def partial_ref(branch: str, label: str) -> str:
    """Where work that no finished step covers is kept: one ref per claim epoch (D24)."""
    return f"refs/musician/partial/{branch.removeprefix('musician/')}/{label}"


def create_branch(git: Git, branch: str, start: str) -> str:
    """Make ``branch`` at ``start`` unless it is there already; the commit it is at.

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
        parts = branch.split("/")
        in_the_way = [
            name
            for name in ("/".join(parts[:depth]) for depth in range(1, len(parts)))
            if git.commit_id(full_ref(name))
        ]
        if not in_the_way:
            raise
        raise TreeNotReady(
            reason=f"branch {in_the_way[0]!r} is in the way of {branch!r}",
            paths=(),
            remedy=f"rename it: git branch -m {in_the_way[0]} {in_the_way[0]}-old",
        ) from None
    return commit


def _checked(plan_id: str) -> str:
    try:
        return check_task_id(plan_id)
    except BadId as error:
        raise BadId(kind="plan", value=plan_id, reason=error.reason) from None
