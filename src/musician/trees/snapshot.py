"""A working tree as it is now, as a git tree object, without touching HEAD or the index a person may have prepared.

Everything that is not ignored is in it, tracked or not, so that evidence can be bound to exactly what was tested
(D16) and unfinished work can be kept (D24). Not in it: what never is in a commit (``left_out.py``), and repositories
nested in the tree, whose files git cannot hold.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from musician.trees.git import Git, shown, tree_git_dir, tree_of
from musician.trees.obstacles import changed_between
from musician.trees.status import Status, read_status

Change = Literal["created", "modified", "deleted"]


def tree_id(tree: Path) -> str:
    """Return the id of the tree object that equals the working tree now; HEAD's own tree if nothing differs."""
    return snapshot(tree, read_status(tree))


def changed_files(tree: Path, since: str, now: str | None = None) -> tuple[tuple[str, Change], ...]:
    """Return what differs between commit ``since`` and ``now``, by default the working tree, sorted by path.

    A renamed file is one deleted and one created. A path that is no UTF-8 is given with ``\\xNN`` for its bytes.
    """
    return tuple(
        (shown(each.path), "created" if each.is_new else "deleted" if each.is_gone else "modified")
        for each in changed_between(Git(tree), since, now or _tree_ish(tree))
    )


def changed_lines(tree: Path, since: str) -> dict[str, int]:
    """Return how many lines were added and removed in each file since commit ``since``; 0 for a file that is
    not text.
    """
    command = ("diff-tree", "-r", "-z", "--no-renames", "--numstat", since, _tree_ish(tree))
    counts = (record.split(b"\t", 2) for record in Git(tree).records(*command))
    return {shown(path): sum(int(each) for each in both if each.isdigit()) for *both, path in counts}


def snapshot(tree: Path, status: Status) -> str:
    """As :func:`tree_id`, from a status that was just read."""
    if status.head is not None and not status.is_dirty:
        return tree_of(tree, status.head)
    with _scratch_index(tree, status) as git:
        stage_everything(git, status)
        return git.text("write-tree")


def _tree_ish(tree: Path) -> str:
    """Return an id of the working tree's content for git to compare: a commit's id will do as well as its
    tree's.
    """
    status = read_status(tree)
    return status.head if status.head is not None and not status.is_dirty else snapshot(tree, status)


def stage_everything(git: Git, status: Status) -> None:
    """Bring the index of ``git`` up to the working tree."""
    specs = [b".", *(b":(exclude,literal)" + path for path in status.nested + status.left_out)]
    git.run("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=b"\0".join(specs))


@contextmanager
def _scratch_index(tree: Path, status: Status) -> Iterator[Git]:
    index = tree_git_dir(tree) / "index"
    with TemporaryDirectory(prefix="musician-index-") as folder:
        git = Git(tree, Path(folder) / "index")
        if index.exists():
            # With its time: by that git knows which files may have changed in the moment it was written.
            shutil.copy2(index, Path(folder) / "index")
        elif status.head is not None:
            git.run("read-tree", status.head)
        yield git
