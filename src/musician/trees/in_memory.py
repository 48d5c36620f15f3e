"""Merges that no tree, index or ref sees and that leave no object behind: what a trial would give, found without it.

Theory. ``git merge-tree`` runs the same merge as ``git merge``. It gives the same answer if it reads the same settings,
attributes and sides, and if what follows a conflict is decided by the same code (``resolving``, ``conflicts``):

- Settings: those of the tree in which trials are made, which may have some of its own, and those of every call of ours.
- Attributes: ``git merge`` reads them from the files of the tree it merges into. Here the ``.gitattributes`` of that
  commit are written to a folder of their own, which is named as working tree.
- Merge drivers: ``git merge`` runs them in the tree it merges into, where they may find themselves, or a file to read.
  So where one is configured that folder gets all of the commit's files, and links to what git ignores in the tree in
  which trials are made, such as what its set-up left. Nothing else outlives the start of a trial there.
- What is new goes into an object store in the same folder, beside the repository's.

Git can do this since :data:`OLDEST`. A merge that takes longer than :data:`MERGE_LIMIT_S`, or is under way when
:meth:`InMemory.stop` is called, is killed with all that it has started, such as a merge driver.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.conflicts import named_in, real_paths
from musician.trees.git import Git
from musician.trees.obstacles import LINK
from musician.trees.resolving import is_written_by_hand
from musician.trees.root import Root
from musician.trees.starting import Ran, begun_anew

OLDEST = (2, 38)
"""The first git that merges without a tree."""

MERGE_LIMIT_S = 60.0
"""Of one git command here; what takes longer is not foretold."""

_NO_NETWORK = ("-c", "protocol.allow=never")
"""Blobs that a partial clone lacks are fetched by who works with them, not by a look ahead."""

_IGNORED = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
_ATTRIBUTES = b".gitattributes"
_STAGE = re.compile(rb"(\d{6}) ([0-9a-f]+) ([123])\t(.*)", re.DOTALL)

_Sides = dict[int, tuple[str, str]]
"""Mode and blob of a path on each side of a conflict: 1 is the base, 2 what is merged into, 3 what is merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """``tree`` is what the merge would leave; only the :class:`InMemory` that made it has it."""

    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """The paths in conflict, as :class:`~musician.trees.conflicts.Conflict` names them."""

    paths: tuple[bytes, ...]


class InMemory:
    """Merges in one repository, by one thread at a time."""

    def __init__(self, root: Root, tree: Path, folder: Path) -> None:
        """``tree`` is where trials are made, or would be. ``folder`` is empty, and for nothing else."""
        self._folder = folder
        self._files, self._objects = folder / "files", folder / "objects"
        self._running: subprocess.Popen[bytes] | None = None
        self._is_stopped = False
        self._attributes: dict[str, tuple[bytes, ...]] = {}
        """Where each commit has some, as git lists it."""
        self._laid: tuple[bytes, ...] | None = None
        self._tree = tree
        self._has_drivers: bool | None = None
        self._files.mkdir()
        (self._objects / "info").mkdir(parents=True)
        (self._objects / "info" / "alternates").write_bytes(bytes(root.git_dir / "objects") + b"\n")
        self._git = Git(
            tree if tree.exists() else root.path, top=self._files, objects=self._objects, runner=self._run
        )

    def stop(self) -> None:
        """End what runs, from another thread, and all that is begun later."""
        self._is_stopped = True
        self._kill()

    def merge(self, ours: str, theirs: str) -> Clean | Clash:
        """Merge commit ``theirs`` into ``ours``; :class:`GitFailed` if that cannot be told."""
        if self._runs_drivers():
            self._lay_files(ours)
        else:
            self._lay_attributes(ours)
        command = (*_NO_NETWORK, "merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
        done = self._git.run(*command, accept=(0, 1))
        listed, _, messages = done.stdout.partition(b"\0\0")
        said, *records = listed.rstrip(b"\0").split(b"\0")
        tree = said.decode("ascii")
        if done.returncode == 0:
            return Clean(tree=tree)
        unmerged = _sides(records)
        if not unmerged or any(not self._holds_both(sides) for sides in unmerged.values()):
            paths = tuple(unmerged)
            told = real_paths(self._git, ours, theirs, paths, told=lambda: named_in(messages))
            return Clash(paths=told or paths)
        return Clean(tree=self._with(tree, {path: sides[3] for path, sides in unmerged.items()}))

    def commit(self, merged: Clean, ours: str, theirs: str) -> str:
        """Return the commit that the merge would be, to be merged further."""
        return self._git.text("commit-tree", merged.tree, "-p", ours, "-p", theirs, "-m", "forecast")

    def _holds_both(self, sides: _Sides) -> bool:
        return is_written_by_hand(self._git, [sides[n][1] if n in sides else None for n in (1, 2, 3)])

    def _with(self, tree: str, taken: Mapping[bytes, tuple[str, str]]) -> str:
        """Return the tree with these files in the place of those with conflict markers."""
        index = self._folder / "index"
        git = Git(self._git.folder, index=index, top=self._files, objects=self._objects, runner=self._run)
        listed = [f"{mode} {blob}\t".encode() + path for path, (mode, blob) in taken.items()]
        git.run("read-tree", tree)
        git.run("update-index", "-z", "--index-info", stdin=b"\0".join(listed) + b"\0")
        return git.text("write-tree")

    def _runs_drivers(self) -> bool:
        """Whether a merge may run a program. One that is configured after the lock is not run (``trust.py``)."""
        if self._has_drivers is None:
            asked = ("config", "--name-only", "--get-regexp", r"^merge\..*\.driver$")
            self._has_drivers = bool(self._git.run(*asked, accept=(0, 1)).stdout)
        return self._has_drivers

    def _lay_files(self, commit: str) -> None:
        """Have in the working tree what a trial's has when it merges into ``commit``."""
        index = self._folder / "laid"
        git = Git(self._git.folder, index=index, top=self._files, objects=self._objects, runner=self._run)
        git.run(*_NO_NETWORK, "read-tree", "--reset", "-u", commit)
        if not self._tree.exists():
            return
        for path in Git(self._tree).records(*_IGNORED):
            name = os.fsdecode(path).rstrip("/")
            with suppress(OSError):  # there already, or where the commit has something else
                (self._files / name).parent.mkdir(parents=True, exist_ok=True)
                (self._files / name).symlink_to(self._tree / name)

    def _lay_attributes(self, commit: str) -> None:
        """Have the attributes of ``commit`` in the working tree, and nothing else."""
        if commit not in self._attributes:
            listed = self._git.records(*_NO_NETWORK, "ls-tree", "-r", "-z", "--full-tree", commit)
            self._attributes[commit] = tuple(record for record in listed if _is_attributes(record))
        found = self._attributes[commit]
        if found == self._laid:
            return
        self._laid = None
        shutil.rmtree(self._files)
        self._files.mkdir()
        for record in found:
            head, _, path = record.partition(b"\t")
            place = self._files / os.fsdecode(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            blob = head.split()[2].decode("ascii")
            place.write_bytes(self._git.run(*_NO_NETWORK, "cat-file", "blob", blob).stdout)
        self._laid = found

    def _run(self, argv: Sequence[str], stdin: bytes, env: Mapping[str, str]) -> Ran:
        return begun_anew(lambda: self._run_once(argv, stdin, env))

    def _run_once(self, argv: Sequence[str], stdin: bytes, env: Mapping[str, str]) -> Ran:
        pipe = subprocess.PIPE
        with subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", env=env, process_group=0
        ) as running:
            self._running = running
            if self._is_stopped:  # between the last look and the start
                self._kill()
            try:
                stdout, stderr = running.communicate(stdin, timeout=MERGE_LIMIT_S)
            finally:
                self._kill()  # nothing is left where it has ended
            return running.returncode, stdout, stderr

    def _kill(self) -> None:
        running = self._running
        if running is not None and running.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def _is_attributes(record: bytes) -> bool:
    head, _, path = record.partition(b"\t")
    return path.rpartition(b"/")[2] == _ATTRIBUTES and not head.startswith(LINK)  # git follows no such link


def _sides(records: Sequence[bytes]) -> dict[bytes, _Sides]:
    found: dict[bytes, _Sides] = {}
    for match in filter(None, map(_STAGE.fullmatch, records)):
        mode, blob, stage, path = match.groups()
        found.setdefault(path, {})[int(stage)] = mode.decode("ascii"), blob.decode("ascii")
    return found
