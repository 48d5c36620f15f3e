"""Everything a user has, as it is now, so that two looks can be compared byte by byte.

What was there must be there unchanged; what is new must lie where ours lies. The one change that is promised, the
fast-forward, is read from git itself: the paths that differ between the branch's old and its new commit, the branch and
its log, and those paths' entries in the index.
"""

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Move", "Snapshot", "files_of", "look", "standing", "unlike"]

_OUR_FOLDERS = {".musician", "temp", "docs"}
"""Below the top of a working tree."""

_OUR_REFS = ("refs/heads/musician", "refs/musician")

_OUR_EXCLUDES = {b"# musician: what must not be committed", b"/.musician/", b"/temp"}

_PERSON = ("-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """``files`` is path to mode, owner and contents; ``indexes`` and ``logs`` also say what is in those files."""

    world: Path
    files: Mapping[Path, str]
    indexes: Mapping[Path, Mapping[bytes, bytes]]
    logs: Mapping[Path, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What became of the user's branch, which is checked out in ``tree``."""

    tree: Path
    branch: str
    old: str
    new: str


def look(world: Path) -> Snapshot:
    """Look at all below ``world``: files, folders and links, and git's own, but for the bodies of objects."""
    files, indexes, logs = {}, {}, {}
    for path in _all_below(world):
        files[path] = _described(path)
        if path.name == "index" and (path.parent / "HEAD").exists():
            indexes[path] = _entries(path)
        elif "logs" in path.parts and path.is_file():
            logs[path] = path.read_bytes()
    return Snapshot(world=world, files=files, indexes=indexes, logs=logs)


def standing(tree: Path) -> tuple[str, str]:
    """Branch and commit of a tree; "" for what it has not."""
    branch = _git(tree, "symbolic-ref", "-q", "HEAD").removeprefix("refs/heads/")
    return branch, _git(tree, "rev-parse", "-q", "--verify", "HEAD")


def files_of(move: Move) -> list[str]:
    """The paths that the commit at the end holds."""
    return _git(move.tree, "ls-tree", "-r", "--name-only", "-z", "--full-tree", move.new).split("\0")


def unlike(before: Snapshot, after: Snapshot, move: Move | None) -> list[str]:
    """What differs and may not, in words; empty if all is as it was."""
    promised = _Promise(move)
    lost = [
        f"{path.relative_to(before.world)}: {was} -> {after.files.get(path, 'gone')}"
        for path, was in before.files.items()
        if after.files.get(path) != was and not promised.covers_change(path, before, after)
    ]
    new = [
        f"{path.relative_to(before.world)}: new"
        for path in after.files.keys() - before.files.keys()
        if not _is_ours(path.relative_to(before.world)) and not promised.covers(path)
    ]
    return sorted(lost) + sorted(new)


class _Promise:
    """What the fast-forward may touch; nothing at all where the branch did not move."""

    def __init__(self, move: Move | None) -> None:
        self._paths: set[Path] = set()
        self._named: set[bytes] = set()
        if move is None:
            return
        differing = _git(move.tree, "diff", "--name-only", "--no-renames", "-z", move.old, move.new)
        names = [name for name in differing.split("\0") if name]
        common, own, top = (
            Path(_git(move.tree, "rev-parse", "--path-format=absolute", question))
            for question in ("--git-common-dir", "--git-dir", "--show-toplevel")
        )
        branch = Path("refs/heads", move.branch)
        self._named = {os.fsencode(name) for name in names}
        self._paths = {*(top / name for name in names), common / branch, own / "ORIG_HEAD"}
        self._logs = {common / "logs" / branch, own / "logs" / "HEAD"}
        self._paths |= {parent for path in self._paths | self._logs for parent in path.parents}
        self._index = own / "index"

    def covers(self, path: Path) -> bool:
        """Something new: a path of the plan's, a log, or a part of the index that is shared between writings."""
        return bool(self._paths) and (
            path in self._paths | self._logs or path.name.startswith("sharedindex.")
        )

    def covers_change(self, path: Path, before: Snapshot, after: Snapshot) -> bool:
        if path.parts[-2:] == ("info", "exclude"):
            return _users_excludes(before, path) == _users_excludes(after, path)
        if path.name == ".musician":
            return after.files.get(path, "").startswith("drwx------")  # ours, and closed to others (AUDIT-S6)
        if not self._paths:
            return False
        if path == self._index:
            return path in after.indexes and self._others(before, path) == self._others(after, path)
        if path in self._logs:
            return after.logs.get(path, b"").startswith(before.logs[path])
        return path in self._paths

    def _others(self, snapshot: Snapshot, path: Path) -> dict[bytes, bytes]:
        return {name: entry for name, entry in snapshot.indexes[path].items() if name not in self._named}


def _users_excludes(snapshot: Snapshot, path: Path) -> list[str]:
    """The description holds the lines of this file, for it is the one that both write to."""
    return [line for line in snapshot.files.get(path, "").split("\n") if line.encode() not in _OUR_EXCLUDES]


def _is_ours(path: Path) -> bool:
    parts = path.parts
    if _OUR_FOLDERS & set(parts):
        return True
    text = "/".join(parts)
    return "objects" in parts or "worktrees" in parts or any(ref in text for ref in _OUR_REFS)


def _all_below(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            yield path
            if entry.is_dir(follow_symlinks=False):
                yield from _all_below(path)


def _described(path: Path) -> str:
    status = path.lstat()
    kind = f"{stat.filemode(status.st_mode)} {status.st_uid}"
    if stat.S_ISLNK(status.st_mode):
        return f"{kind} -> {os.readlink(path)!r}"
    if not stat.S_ISREG(status.st_mode) or "objects" in path.parts:
        return kind
    body = path.read_bytes()
    if path.parts[-2:] == ("info", "exclude"):
        return f"{kind}\n{body.decode('latin-1')}"
    return f"{kind} {hashlib.sha256(body).hexdigest()[:12]} {body[:60]!r}"


def _entries(index: Path) -> dict[bytes, bytes]:
    """Path and stage to what the index says of it."""
    command = ["git", *_PERSON, f"--git-dir={index.parent}", "ls-files", "--stage", "-v", "-z"]
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    said = subprocess.run(command, env=environment, cwd="/", capture_output=True, check=True).stdout
    pairs = (record.split(b"\t", 1) for record in said.split(b"\0") if record)
    found: dict[bytes, bytes] = {}
    for entry, name in pairs:
        found[name] = found.get(name, b"") + entry
    return found


def _git(tree: Path, *arguments: str) -> str:
    said = subprocess.run(["git", *_PERSON, *arguments], cwd=tree, capture_output=True, check=False)
    return os.fsdecode(said.stdout).rstrip("\n")
