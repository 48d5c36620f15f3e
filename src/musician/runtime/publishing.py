"""Publishes a task's work for a person: pushes its branch to a remote, and opens a pull request.

A musician publishes nothing (D21): its guard refuses the command, and what is called out of its session or
its tree is refused here. Git and the forge's program run as the person's own, with their hooks, settings
and questions: what is pushed goes out in the person's name. Nothing is forced.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping

from musician import service
from musician.processes.spawn import NOT_HANDED_ON
from musician.protocol.errors import BadField, GitFailed, NotConductor
from musician.protocol.names import NO_PLAN
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.store.port import Store
from musician.trees.branches import branch_of, full_ref
from musician.trees.git import Git
from musician.trees.root import Root

_FORGE_PROGRAM = "gh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishable:
    """A task's work: the commit, and the name of the branch it has here, even if that is gone by now."""

    branch: str
    commit: str


def check_is_person(root: Root, store: Store, env: Mapping[str, str]) -> None:
    """Raise :class:`NotConductor` if the caller is a musician's session, or stands in a musician's tree."""
    session_id = env.get("MUSICIAN_SESSION") or "of the tree"
    owns = "MUSICIAN_SESSION" in env and bool(service.claims_of(store, session_id))
    stands = root.standing is not None and root.standing.is_relative_to(root.trees_dir)
    if owns or stands or env.get("MUSICIAN_TASK"):
        raise NotConductor(session_id=session_id, act="publish its work")


def publishable(root: Root, view: TaskView) -> Publishable:
    """Return the work of a task that can be published; :class:`BadField` if there is none."""
    git, row = Git(root.path), view.row
    branch = branch_of(row.plan_id or NO_PLAN, row.task_id)
    submitted = [each.commit_id for each in view.this_time.submissions if each.commit_id is not None]
    commit = git.commit_id(full_ref(branch)) or (git.commit_id(submitted[-1]) if submitted else None)
    if commit is None:
        raise BadField(field="TASK", value=row.task_id, reason="it has no branch and has submitted nothing")
    return Publishable(branch=branch, commit=commit)


def push(root: Root, work: Publishable, *, remote: str, name: str) -> None:
    """Push the work to a branch called ``name``. :class:`GitFailed` if git says no; what it says, the
    person sees.
    """
    refspec = f"{work.commit}:{full_ref(name)}"
    argv = ("push", "--", remote, refspec)
    done = subprocess.run(["git", *argv], cwd=root.users_tree, env=_own_env(), stdout=2, check=False)
    if done.returncode != 0:
        raise GitFailed(argv=argv, returncode=done.returncode, stderr="see above")


def _own_env() -> dict[str, str]:
    """The person's environment, without what would aim git at the repository of a hook that we are called
    from.
    """
    return {name: value for name, value in os.environ.items() if name not in NOT_HANDED_ON}


def open_pull_request(root: Root, *, title: str, body: str, head: str, base: str | None) -> str:
    """Open it by the forge's program, and return what that prints: its address."""
    if shutil.which(_FORGE_PROGRAM) is None:
        raise BadField(
            field="--create",
            value=_FORGE_PROGRAM,
            reason="it is not installed; without --create the text is printed",
        )
    of_base = () if base is None else ("--base", base)
    argv = [_FORGE_PROGRAM, "pr", "create", "--title", title, "--body-file", "-", "--head", head, *of_base]
    done = subprocess.run(
        argv, cwd=root.users_tree, input=body.encode(), stdout=subprocess.PIPE, env=_own_env(), check=False
    )
    if done.returncode != 0:
        raise BadField(
            field="--create", value=_FORGE_PROGRAM, reason=f"it ended with exit code {done.returncode}"
        )
    return done.stdout.decode(errors="replace").strip()
