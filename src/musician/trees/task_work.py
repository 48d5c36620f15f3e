"""A task's work as a person looks at it: which branch and tree it is in, what it changed, and the command for the rest.

Reads refs and commits only, so it can be asked of any task at any time, also while a session plays it. What is not
committed yet is not in it.
"""

from pathlib import Path

from musician.protocol.names import NO_PLAN
from musician.protocol.rules.evidence import Grounds
from musician.protocol.values import dataclass
from musician.trees.branches import branch_of, full_ref, integration_branch, start_branch
from musician.trees.diffs import FileDiff, files_between
from musician.trees.git import Git
from musician.trees.integrity import beside
from musician.trees.root import Root
from musician.trees.worktree import place_of

_SHORT = 12
"""Hex digits of a commit's id in a command that is to be read and typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """``start`` and ``commit`` are what to compare; ``tree`` is None where there is no working tree any more.

    ``has_branch`` says whether ``branch`` is there still: it goes when it is merged.
    """

    folder: Path
    branch: str
    has_branch: bool
    tree: Path | None
    start: str
    commit: str

    @property
    def files(self) -> tuple[FileDiff, ...]:
        return files_between(self.folder, self.start, self.commit)

    @property
    def diff_command(self) -> str:
        """The command that shows the whole change, from anywhere in the repository."""
        return f"git diff {self.start[:_SHORT]} {self.commit[:_SHORT]}"


def work_of(root: Root, plan_id: str | None, task_id: str, *, submitted: str | None = None) -> Work | None:
    """Return what a task's branch holds, or the commit it ``submitted`` if that is cleaned away; None if it has none.

    It has none before it is begun, if it is played by raw SQL, and if it is played in the user's own tree.
    """
    git = Git(root.path)
    branch = branch_of(plan_id or NO_PLAN, task_id)
    of_branch = git.commit_id(full_ref(branch))
    commit = of_branch or (submitted and git.commit_id(submitted))
    if not commit:
        return None
    start = _start_of(git, plan_id, task_id, commit)
    tree = place_of(root, branch)
    return Work(
        folder=root.path,
        branch=branch,
        has_branch=of_branch is not None,
        tree=tree if tree.is_dir() else None,
        start=start,
        commit=commit,
    )


def grounds_of(root: Root, plan_id: str | None, task_id: str) -> Grounds:
    """Return what a task's branch stands on now, for who judges by evidence of it."""
    git = Git(root.path)
    work = git.commit_id(full_ref(branch_of(plan_id or NO_PLAN, task_id)))
    if work is None:
        return Grounds()
    onto = None if plan_id is None else git.commit_id(full_ref(integration_branch(plan_id)))
    behind = 0 if onto is None else int(git.text("rev-list", "--count", f"{work}..{onto}"))
    return Grounds(tree_id=git.text("rev-parse", f"{work}^{{tree}}").strip(), behind=behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Of a change: how many files, and lines of text."""

    files: int
    added: int
    removed: int


def size_of(root: Root, plan_id: str | None, task_id: str, commit: str) -> Size | None:
    """Return the size of a task's work up to a commit that it submitted, also when its branch is gone by now.

    None if the commit is gone, too, or there is nothing any more that it can be compared with.
    """
    git = Git(root.path)
    if git.commit_id(commit) is None:
        return None
    start = _start_of(git, plan_id, task_id, commit)
    files = files_between(root.path, start, commit)
    if not files:
        return None
    return Size(
        files=len(files),
        added=sum(each.added or 0 for each in files),
        removed=sum(each.removed or 0 for each in files),
    )


def _start_of(git: Git, plan_id: str | None, task_id: str, commit: str) -> str:
    """Return the commit at which the task's own work begins: what came in from the plan's branch is not its
    own.
    """
    onto = start_branch(NO_PLAN, task_id) if plan_id is None else integration_branch(plan_id)
    other = git.commit_id(full_ref(onto))
    if other is None and plan_id is not None:
        other = git.commit_id(beside(plan_id))
    if other is None:
        return commit
    merges = git.text("rev-list", "--merges", "--ancestry-path", "--reverse", f"{commit}..{other}").split()
    if merges:  # merged already: compare with what stood before that merge
        other = f"{merges[0]}^1"
    return git.text("merge-base", other, commit)
