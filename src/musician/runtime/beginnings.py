"""Notes for a person before a plan's first task is claimed: given once, and none of them holds the plan up.

Untracked files are not in the tasks' trees (D31); the program's own commits run none of the user's hooks
(D24); existing branches, left from a database that is gone, are continued (D20).
"""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from musician import service
from musician.plans.model import Isolation, Plan, Sandboxing
from musician.processes.sandbox import why_no_sandbox
from musician.runtime.in_force import since_the_file_was_locked
from musician.store.port import Store
from musician.trees.base import untracked
from musician.trees.branches import full_ref, integration_branch
from musician.trees.git import Git
from musician.trees.integrity import put_right
from musician.trees.provisioning import not_there
from musician.trees.root import Root

_NAMED_MAX = 10

_PASSED_BY = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-merge-commit",
    "post-merge",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
)
"""The hooks that git would run for what the program does."""


def notes_at_the_start(root: Root, store: Store, plan: Plan) -> tuple[str, ...]:
    """Return the notes as whole sentences. Those about trees come once, before a task is claimed; changed
    settings, a plan's branch that was moved and is brought back, and a wall that is missing, each time.
    """
    changed = (
        *since_the_file_was_locked(root, store, plan.plan_id),
        *_brought_back(root, plan.plan_id),
        *_without_wall(plan),
    )
    views = service.everything(store, plan.plan_id)
    is_apart = any(task.isolation is Isolation.WORKTREE for task in plan.tasks)
    if not is_apart or any(view.sessions for view in views):
        return changed
    found = (_found_branches(root, plan.plan_id), _left_behind(root), _not_given(root, plan))
    return (*changed, *chain.from_iterable(found), *_hooks_passed_by(root))


def _brought_back(root: Root, plan_id: str) -> tuple[str, ...]:
    """Say it here: the trees would be brought back without a word. A branch that is gone was cleaned away."""
    is_there = Git(root.path).commit_id(full_ref(integration_branch(plan_id))) is not None
    return put_right(root, plan_id, by_hand=True) if is_there else ()


def _without_wall(plan: Plan) -> Iterator[str]:
    why = why_no_sandbox() if any(task.sandbox is Sandboxing.AUTO for task in plan.tasks) else ""
    if why:
        yield (
            f"there is no sandbox: {why}. What agents and tests start may write wherever you may;"
            " `sandbox: required` in the plan refuses that"
        )


def _found_branches(root: Root, plan_id: str) -> Iterator[str]:
    git, ours = Git(root.path), full_ref(integration_branch(plan_id)).rpartition("/")[0]
    named = git.text("for-each-ref", "--format=%(refname:short) (%(objectname:short))", ours).splitlines()
    if named:
        yield (
            f"branches of {plan_id} are there already, though nothing of it is in the database: {_some(named)}."
            f" What is finished there is not done again. To begin anew instead, stop this and delete them:"
            f" git branch -D {' '.join(each.split(' ')[0] for each in named)}"
        )


def _left_behind(root: Root) -> Iterator[str]:
    names = untracked(root)
    if names:
        yield (
            f"git does not track these, so the tasks' trees do not have them: {_some(names)}."
            " Commit what a task needs, or name it under `copy:` or `share:` in the plan"
        )


def _not_given(root: Root, plan: Plan) -> Iterator[str]:
    missing = {each for task in plan.tasks for each in not_there(root, copy=task.copy, share=task.share)}
    if missing:
        yield f"the plan copies or shares what is not in your tree, or is tracked: {_some(sorted(missing))}"


def _hooks_passed_by(root: Root) -> Iterator[str]:
    git = Git(root.path)
    told = git.run("config", "--type=path", "--get-all", "-z", "core.hooksPath", accept=(0, 1)).stdout
    # The last value is ours: it switches hooks off for the program's own git.
    configured = [os.fsdecode(each) for each in told.split(b"\0") if each][:-1]
    folder = root.path / configured[-1] if configured else Path(root.git_dir, "hooks")
    found = [name for name in _PASSED_BY if os.access(folder / name, os.X_OK)]
    if found:
        yield (
            f"your git hooks are not run for the program's own commits and merges: {', '.join(found)}."
            " What must hold belongs into the plan's `test:`"
        )


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return ", ".join(names[:_NAMED_MAX]) + more
