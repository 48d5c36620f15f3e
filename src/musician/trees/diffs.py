"""Reads the difference of two commits file by file, so that nothing large is read before somebody asks for it.

The list of files comes from git's raw format, which has neither quoted names nor colours and listens to no setting of
the user's. A file is asked for by its place in that list and never by its name, which may be any bytes.
"""

from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.git import Git, shown

MOST_PATCH_BYTES = 2 * 1024 * 1024
"""Of one file's difference. A larger one is shown by its size alone."""
MOST_BLOB_BYTES = 1024 * 1024
"""Of one version of a file, to be coloured or compared."""

_OPTIONS = ("-r", "-M", "--no-ext-diff", "--no-textconv")


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
    added: int | None
    removed: int | None

    @property
    def path(self) -> str:
        return shown(self.raw_path)

    @property
    def old_path(self) -> str:
        return shown(self.raw_old_path)


def files_between(folder: Path, old: str, new: str) -> tuple[FileDiff, ...]:
    """Return the files that differ between two commits, in git's order."""
    git = Git(folder)
    counts = _counts(git, old, new)
    records = iter(git.records("diff-tree", "-z", "--raw", "--abbrev=64", *_OPTIONS, old, new))
    found: list[FileDiff] = []
    for record in records:
        _, _, old_blob, new_blob, status = record.decode("ascii").split(" ")
        old_path = next(records)
        path = next(records) if status[0] in "RC" else old_path
        added, removed = counts.get(path, (None, None))
        found.append(
            FileDiff(
                number=len(found),
                status=status[0],
                raw_path=path,
                raw_old_path=old_path,
                old_blob=old_blob,
                new_blob=new_blob,
                added=added,
                removed=removed,
            )
        )
    return tuple(found)


def _counts(git: Git, old: str, new: str) -> dict[bytes, tuple[int | None, int | None]]:
    records = iter(git.records("diff-tree", "-z", "--numstat", *_OPTIONS, old, new))
    counts: dict[bytes, tuple[int | None, int | None]] = {}
    for record in records:
        added, removed, path = record.split(b"\t", 2)
        if not path:  # renamed: both names follow
            next(records)
            path = next(records)
        counts[path] = (_number(added), _number(removed))
    return counts


def _number(count: bytes) -> int | None:
    return int(count) if count.isdigit() else None


def patch_of(
    folder: Path, old: str, new: str, file: FileDiff, *, ignores_space: bool = False, context_lines: int = 3
) -> str | None:
    """Return the difference of one file in the unified format; None if it is larger than is worth reading."""
    options = (f"-U{context_lines}", *(("--ignore-all-space",) if ignores_space else ()))
    patch = (
        Git(folder)
        .run("--literal-pathspecs", "diff-tree", "-p", *_OPTIONS, *options, old, new, "--", *_paths(file))
        .stdout
    )
    return None if len(patch) > MOST_PATCH_BYTES else patch.decode(errors="replace")


def _paths(file: FileDiff) -> tuple[str, ...]:
    names = dict.fromkeys((file.raw_old_path, file.raw_path))
    return tuple(name.decode("utf-8", "surrogateescape") for name in names)


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
