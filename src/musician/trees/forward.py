"""Moving a branch forward together with the tree it is checked out in: all of it, or nothing (D24, D31).

Files, index and branch are three writes, and a full disk or a kill may come between any two. So:

- Git's own lock of the index is held meanwhile, with our words in it: no git changes the tree, and after a kill it says
  what was under way. The kernel's lock on that file says whether its writer lives.
- Git brings the files forward, with an index of its own beside the real one, and moves the branch last. Before that
  everything can be taken back, after it only the index is left to be put in its place.
- Taking back touches only files that hold exactly what one of the two commits has, or the beginning
  of that where a write was cut off. Anything else is somebody's, and stays.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.branches import full_ref
from musician.trees.git import Git, tree_git_dir
from musician.trees.obstacles import GITLINK, LINK, NOTHING, Content, changed_between, contents, place_in

_SIGNATURE = "musician is moving"
_INDEX = "musician-move-index"
_LOCK_TRIES = 10
_LOCK_PAUSE_S = 0.1
"""An editor's git looks at the tree now and then, and has the lock for a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """From ``old`` to ``new``, full ids; ``branch`` without ``refs/heads/``."""

    branch: str
    old: str
    new: str

    def render(self) -> str:
        return f"{_SIGNATURE} {self.old} {self.new} {self.branch}\n"

    @classmethod
    def parse(cls, text: str) -> "_Move | None":
        if not text.startswith(_SIGNATURE + " "):
            return None
        old, new, branch = text.removeprefix(_SIGNATURE + " ").removesuffix("\n").split(" ", 2)
        return cls(branch=branch, old=old, new=new)


def move_tree(tree: Path, branch: str, old: str, new: str) -> None:
    """Move ``branch``, checked out without changes in ``tree``, from ``old`` to ``new``, which contains it.

    After an error all is as it was, or :func:`settle` has still to be called: then the error says so.
    """
    move = _Move(branch=branch, old=old, new=new)
    with _locked(tree, move):
        index = tree_git_dir(tree) / _INDEX
        shutil.copy2(tree_git_dir(tree) / "index", index)
        try:
            # To the commit, not to a name that may move.
            Git(tree, index).run("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", new)
            os.replace(index, tree_git_dir(tree) / "index")
            _give_back(tree_git_dir(tree))
        except (GitFailed, OSError):
            _put_right(tree, move)
            raise


def settle(tree: Path) -> bool:
    """Finish or take back a move that was cut off in ``tree``; False if there was none.

    :class:`TreeNotReady` while its process lives, or if it still cannot be done.
    """
    lock = _lock_of(tree)
    try:
        with lock.open("r", errors="replace") as file:
            move = _Move.parse(file.readline())
            if move is None:
                return False
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                check_lock(tree)
            _put_right(tree, move)
    except FileNotFoundError:
        return False
    return True


def check_lock(tree: Path) -> None:
    """Raise if the user's tree is locked. The lock is never removed: another git may be at work."""
    lock = _lock_of(tree)
    if lock.exists():
        raise TreeNotReady(
            reason="another git command is at work in the working tree, or one was killed",
            paths=(str(lock),),
            remedy="wait for it; if none runs, remove that file",
        )


def holds_nothing_else(tree: Path, new: str) -> bool:
    """Whether index and files already equal ``new``, so that only the end of the move is missing."""
    git = Git(tree)
    return git.succeeds("diff-index", "--cached", "--quiet", new) and git.succeeds(
        "diff", "--quiet", "--no-ext-diff", "--no-textconv"
    )


@contextmanager
def _locked(tree: Path, move: _Move) -> Iterator[None]:
    """Hold git's lock of the index. The lock file appears together with its text, so that no kill leaves it
    empty.
    """
    lock = _lock_of(tree)
    own = lock.with_name(_INDEX + ".text")
    with own.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            file.write(move.render())
            file.flush()
            for _ in range(_LOCK_TRIES):
                with suppress(FileExistsError):
                    os.link(own, lock)
                    break
                time.sleep(_LOCK_PAUSE_S)
            else:
                check_lock(tree)
                raise TreeNotReady(
                    reason="other git commands are at work in the working tree",
                    paths=(str(tree),),
                    remedy="wait for them",
                )
        finally:
            own.unlink(missing_ok=True)
        yield


def _put_right(tree: Path, move: _Move) -> None:
    """Make files, index and branch agree on one of the two commits, and release the lock."""
    git, git_dir = Git(tree), tree_git_dir(tree)
    index = git_dir / _INDEX
    at = git.commit_id(full_ref(move.branch))
    try:
        if at == move.old:
            _restore(git, move, target=move.old)
        elif at == move.new:
            beside = Git(tree, index)
            beside.run("read-tree", move.new)
            _restore(beside, move, target=move.new)
            beside.run("update-index", "-q", "--refresh", accept=(0, 1))
            os.replace(index, git_dir / "index")
        _give_back(git_dir)
    except (OSError, GitFailed) as error:
        raise TreeNotReady(
            reason=f"a move of branch {move.branch!r} was cut off, and cannot be finished or taken back: {error}",
            paths=(str(tree),),
            remedy="mend that, then run the plan again: it does the rest; until then git is kept out of the tree",
        ) from error


def _give_back(git_dir: Path) -> None:
    for name in (_INDEX, _INDEX + ".lock", _INDEX + ".text", "index.lock"):
        (git_dir / name).unlink(missing_ok=True)


def _restore(git: Git, move: _Move, *, target: str) -> None:
    """Restore every file that the move has touched to its content in ``target``, which the index of ``git``
    holds.
    """
    changes = [
        each
        for each in changed_between(git, move.old, move.new)
        if GITLINK not in (each.old_mode, each.new_mode)
    ]
    found = contents(git, [each.path for each in changes])
    sides = {
        each.path: (_side(each.old_mode, each.old_id), _side(each.new_mode, each.new_id)) for each in changes
    }
    side = 0 if target == move.old else 1
    own = [
        path
        for path, both in sides.items()
        if (found[path] != both[side] or both[0] == both[1])  # only its mode changes, which no content shows
        and (found[path] in (*both, NOTHING) or _is_cut_off(git, move, path))
    ]
    elsewhere = _not_checked_out(git) if own else frozenset()
    for path in own:
        place = place_in(git.folder, path)
        if os.path.lexists(place):
            place.unlink()
            _drop_empty_folders(git.folder, place.parent)
    arriving = [path for path in own if sides[path][side] != NOTHING and path not in elsewhere]
    if arriving:
        git.run("checkout-index", "--force", "-z", "--stdin", stdin=b"\0".join(arriving) + b"\0")


def _is_cut_off(git: Git, move: _Move, path: bytes) -> bool:
    """Whether a file holds only the beginning of its content in one of the two commits."""
    place = place_in(git.folder, path)
    if place.is_symlink() or not place.is_file():
        return False
    content = place.read_bytes()
    for commit in (move.old, move.new):
        whole = git.run("cat-file", "--filters", f"{commit}:{os.fsdecode(path)}", accept=(0, 128))
        if whole.returncode == 0 and whole.stdout.startswith(content):
            return True
    return False


def _side(mode: bytes, blob: str) -> Content:
    return NOTHING if mode == b"000000" else (mode == LINK, blob)


def _not_checked_out(git: Git) -> frozenset[bytes]:
    """Return the paths that a sparse checkout leaves out."""
    return frozenset(record[2:] for record in git.records("ls-files", "-t", "-z") if record.startswith(b"S "))


def _drop_empty_folders(top: Path, folder: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _lock_of(tree: Path) -> Path:
    return tree_git_dir(tree) / "index.lock"
