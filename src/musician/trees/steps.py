"""Commits at step boundaries, and reading from git which steps are done (D24).

The commit is the proof that an item was finished: a session that resumes asks git first, because the database may not
have heard of it. Rules: an item that changed nothing makes no commit (the history is for people too; playing such an
item again changes nothing either), and no commit is made on a HEAD that is not the task's branch.
"""

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.git import COMMITTER_EMAIL, Git, shown, tree_git_dir
from musician.trees.left_out import are_left_out, given_to
from musician.trees.obstacles import GITLINK, LINK, parsed_changes, place_in
from musician.trees.registrations import clear_stale_locks
from musician.trees.snapshot import stage_everything
from musician.trees.status import Status, operation_under_way, read_status
from musician.trees.submodules import check_no_edits, keep_commit
from musician.trees.worktree import Worktree

_SUBJECT_MAX = 200

_ITEM_FIELDS = "%x1f".join(
    [
        "%H",
        "%ce",
        "%(trailers:key=Musician-Task,valueonly,separator=%x2c)",
        "%(trailers:key=Musician-Item,valueonly,separator=%x2c)",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedItem:
    """``item`` as it was given to :func:`commit_step`, ``commit`` the full id."""

    item: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """``commit`` is the full id that HEAD is at now; ``left_out`` lies in the tree and is in no commit."""

    commit: str
    left_out: tuple[bytes, ...]


def commit_step(
    worktree: Worktree,
    *,
    task_id: str,
    item: str,
    title: str,
    session_id: str,
    epoch: int,
    after: str | None = None,
) -> Kept:
    """Commit everything in the tree as ``item`` ("step 2", "step 2 agent 1", "rework 1.2").

    Makes no commit when nothing changed. What an agent has committed itself is followed by an empty one,
    because only our commits say what is done. A merge that was resolved but not committed is concluded.
    ``after`` is the last commit known of the task: HEAD must contain it. :class:`TreeNotReady` when HEAD is
    elsewhere, a merge has conflicts left, another operation is under way, a repository is nested in the tree,
    or a submodule holds what no commit does. Links that lead out of the tree are not committed, staged or not
    (``left_out.py``). To be called only while no process runs in the tree.
    """
    clear_stale_locks(worktree.root, worktree.path, worktree.branch)
    git = Git(worktree.path)
    status = read_status(worktree.path)
    head = _checked_head(worktree, status, after)
    merging = _check_finished(worktree, status) == "merge"
    is_foreign = after is not None and head != after
    if not (status.is_dirty or merging or is_foreign):
        return Kept(commit=head, left_out=status.left_out)
    if status.is_dirty:
        stage_everything(git, status)
    has_some, taken_out = _settle_staged(worktree, after or head)
    left_out = tuple(sorted({*status.left_out, *taken_out}))
    if not (has_some or merging or is_foreign):
        return Kept(commit=head, left_out=left_out)  # status reported only what no commit can hold
    trailers = {"Task": task_id, "Item": item, "Session": session_id, "Epoch": str(epoch)}
    subject = f"{task_id}, {item}: {title}"
    message = f"{_line(subject)}\n\n" + "".join(
        f"Musician-{name}: {_line(value)}\n" for name, value in trailers.items()
    )
    command = ("commit", "--quiet", "--no-verify", "--allow-empty", "--cleanup=verbatim", "-F", "-")
    git.run(*command, stdin=message.encode("utf-8", "replace"))
    return Kept(commit=git.head(), left_out=left_out)


def _settle_staged(worktree: Worktree, before: str) -> tuple[bool, tuple[bytes, ...]]:
    """Unstage what no commit of ours may hold, and make sure the user's repository has the submodule commits
    it names.

    Looked at is all that is new since ``before``, by whomever it was staged or committed. Whether anything is left, and
    what was taken out.
    """
    git, tree = Git(worktree.path), worktree.path
    staged = git.records("diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", before)
    changes = parsed_changes(staged)
    links = [each for each in changes if each.new_mode == LINK and place_in(tree, each.path).is_symlink()]
    answers = are_left_out(tree, [each.path for each in links])
    out = [each for each, answer in zip(links, answers, strict=True) if answer]
    given = set(given_to(tree))
    out += [each for each in changes if each.path in given and each not in out]
    tracked = [shown(each.path) for each in out if not each.is_new]
    if tracked:
        raise TreeNotReady(
            reason="what the project tracks was replaced by a link that is not to be committed",
            paths=tuple(tracked),
            remedy="put back what was there",
        )
    if out:
        git.run(
            "update-index",
            "--force-remove",
            "-z",
            "--stdin",
            stdin=b"".join(each.path + b"\0" for each in out),
        )
    for each in changes:
        if each.new_mode == GITLINK:
            keep_commit(worktree.root, tree, each.path, each.new_id, branch=worktree.branch)
    return len(changes) > len(out), tuple(each.path for each in out)


def finished_items(worktree: Worktree, since: str, task_id: str) -> tuple[FinishedItem, ...]:
    """Return the items of the task committed by this program after ``since``, oldest first."""
    records = Git(worktree.path).records(
        "log", "-z", "--reverse", "--topo-order", f"--format={_ITEM_FIELDS}", f"{since}..HEAD"
    )
    fields = [shown(record).split("\x1f") for record in records]
    return tuple(
        FinishedItem(item=item, commit=commit)
        for commit, committer, task, item in fields
        if committer == COMMITTER_EMAIL and task == task_id and item
    )


def last_kept(git: Git, since: str, branch: str) -> str:
    """Return the program's newest commit on ``branch`` after ``since``, else ``since``. Later commits belong
    to no item.
    """
    if git.commit_id(branch) == since:
        return since
    options = ("--first-parent", "--max-count=1", "--format=%H", "--fixed-strings")
    found = git.text("log", *options, f"--committer=<{COMMITTER_EMAIL}>", f"{since}..{branch}")
    return found or since


def revert_item(worktree: Worktree, since: str, *, task_id: str, item: str) -> bool:
    """Revert in the tree the last commit of ``item`` and all commits between it and the item before.

    Nothing is committed yet; the history keeps what was done. False if no commit after ``since`` is the item's: it
    has changed nothing. :class:`TreeNotReady` when later work is in the way; the tree is as it was then.
    """
    finished = finished_items(worktree, since, task_id)
    places = [number for number, each in enumerate(finished) if each.item == item]
    if not places:
        return False
    before = finished[places[-1] - 1].commit if places[-1] else since
    check_clean(worktree)
    git = Git(worktree.path)
    command = ("revert", "--no-commit", f"{before}..{finished[places[-1]].commit}")
    done = git.run(*command, accept=(0, 1))
    if done.returncode == 0:
        git.run("revert", "--quit")
        return True
    paths = git.records("diff", "--name-only", "--diff-filter=U", "-z")
    git.run("revert", "--abort", accept=(0, 1, 128))
    if not paths:
        raise GitFailed(argv=command, returncode=1, stderr=done.stderr)
    raise TreeNotReady(
        reason=f"{item} cannot be reverted: later work has changed the same lines",
        paths=tuple(shown(path) for path in paths),
        remedy="revert the later steps too, the latest first, or say how to put it right",
    )


def check_clean(worktree: Worktree) -> None:
    """Raise :class:`TreeNotReady` if the tree has uncommitted work, or a merge or the like under way."""
    status = read_status(worktree.path)
    if status.is_dirty or operation_under_way(tree_git_dir(worktree.path)):
        raise TreeNotReady(
            reason=f"the working tree of {worktree.branch!r} has unfinished work",
            paths=tuple(shown(path) for path in status.unsaved + status.deleted),
            remedy="commit the step or set the work aside first",
        )


def _checked_head(worktree: Worktree, status: Status, after: str | None) -> str:
    if status.head is None or status.branch != worktree.branch:
        raise TreeNotReady(
            reason=f"HEAD is not on {worktree.branch!r} but on {status.branch or status.head}",
            paths=(str(worktree.path),),
            remedy="the work is set aside and the step played again",
        )
    if after is not None and not Git(worktree.path).holds(status.head, after):
        raise TreeNotReady(
            reason=f"branch {worktree.branch!r} no longer contains {after}, a step that was finished",
            paths=(str(worktree.path),),
            remedy="the work is set aside and the branch brought back to that commit",
        )
    return status.head


def _check_finished(worktree: Worktree, status: Status) -> str | None:
    under_way = operation_under_way(tree_git_dir(worktree.path))
    if status.unmerged:
        raise TreeNotReady(
            reason="a merge has conflicts left",
            paths=tuple(shown(path) for path in status.unmerged),
            remedy="resolve them and git add them",
        )
    if under_way not in (None, "merge"):
        raise TreeNotReady(
            reason=f"a {under_way} is under way", paths=(str(worktree.path),), remedy="finish it or abort it"
        )
    check_no_edits(status.submodules, status.stray)
    if status.nested:
        raise TreeNotReady(
            reason="a git repository of its own lies in the working tree; its files cannot be committed",
            paths=tuple(shown(path) for path in status.nested),
            remedy="remove its .git folder, or name it in .gitignore",
        )
    return under_way


def _line(text: str) -> str:
    return " ".join(text.split())[:_SUBJECT_MAX]
