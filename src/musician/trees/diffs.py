"""Reads the difference of two commits file by file, so that nothing large is read before somebody asks for it.

The list of files comes from git's raw format, which has neither quoted names nor colours and listens to no setting of
the user's; no program that a configuration names is run. A file is asked for by its place in that list and never by its
name, which may be any bytes. What two commits differ in never changes, so it is read once.
"""

from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from musician.protocol.errors import CommitGone, GitFailed
from musician.protocol.values import dataclass, replace
from musician.trees.git import Git, shown

MOST_PATCH_BYTES = 2 * 1024 * 1024
"""Of one file's difference. A larger one is shown by its size alone."""
MOST_BLOB_BYTES = 1024 * 1024
"""Of one version of a file, to be coloured or compared."""

_OPTIONS = (
    "-r",
    "--find-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file that differs. ``added`` and ``removed`` are lines; None for what is no text.

    ``status`` is git's letter: A added, D deleted, M modified, R renamed, T its type. The blobs are ids; that of a
    side without the file is all zeros.
    """

    number: int
    status: str
    raw_path: bytes
    raw_old_path: bytes
    old_blob: str
    new_blob: str
    added: int | None = None
    removed: int | None = None

    @property
    def path(self) -> str:
        return shown(self.raw_path)

    @property
    def old_path(self) -> str:
        return shown(self.raw_old_path)


@lru_cache(maxsize=16)
def files_between(folder: Path, old: str, new: str) -> tuple[FileDiff, ...]:
    """Return the files that differ between two commits, in git's order. :class:`CommitGone` if one is not there."""
    records = iter(_told(folder, "-z", "--raw", "--numstat", "--abbrev=64", old, new).split(b"\0")[:-1])
    found: dict[bytes, FileDiff] = {}
    for record in records:
        if record.startswith(b":"):
            _, _, old_blob, new_blob, status = record.decode("ascii").split(" ")
            old_path = next(records)
            path = next(records) if status[0] in "RC" else old_path
            found[path] = FileDiff(
                number=len(found),
                status=status[0],
                raw_path=path,
                raw_old_path=old_path,
                old_blob=old_blob,
                new_blob=new_blob,
            )
        else:
            added, removed, path = record.split(b"\t", 2)
            if not path:  # renamed: both names follow
                next(records)
                path = next(records)
            found[path] = replace(found[path], added=_number(added), removed=_number(removed))
    return tuple(found.values())


def _number(count: bytes) -> int | None:
    return int(count) if count.isdigit() else None


def difference(folder: Path, old: str, new: str, *, stat_columns: int = 0) -> str:
    """Return the whole change as git words it; ``stat_columns``: only its extent, in lines of so many columns."""
    return shown(_told(folder, f"--stat={stat_columns}" if stat_columns else "--patch", old, new))


def patch_of(folder: Path, old: str, new: str, file: FileDiff, *more: str) -> str | None:
    """Return the difference of one file in the unified format; None if it is larger than is worth reading.

    ``more`` options of git's: ``--ignore-all-space``, ``--unified=0``.
    """
    names = dict.fromkeys((file.raw_old_path, file.raw_path))
    paths = (name.decode("utf-8", "surrogateescape") for name in names)
    patch = _told(folder, "--patch", *more, old, new, "--", *paths)
    return None if len(patch) > MOST_PATCH_BYTES else patch.decode(errors="replace")


def _told(folder: Path, *arguments: str) -> bytes:
    """Ask git for a difference; :class:`CommitGone` if it fails because a commit is not there."""
    try:
        return Git(folder).run("--literal-pathspecs", "diff-tree", *_OPTIONS, *arguments).stdout
    except GitFailed:
        for each in takewhile(lambda argument: argument != "--", arguments):
            if not each.startswith("-") and Git(folder).commit_id(each) is None:
                raise CommitGone(commit=each) from None
        raise


def text_of_blob(folder: Path, blob: str) -> str | None:
    """Return the text of one version of a file; "" if there is none, None if it is too large, or a submodule."""
    if not blob.strip("0"):
        return ""
    git = Git(folder)
    size = git.run("cat-file", "-s", blob, accept=(0, 128)).stdout
    if not size or int(size) > MOST_BLOB_BYTES:
        return None
    done = git.run("cat-file", "blob", blob, accept=(0, 128))
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
