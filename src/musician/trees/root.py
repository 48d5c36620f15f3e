"""The one root: the main working tree, from wherever in the repository a command is run (D25, B35).

Knows where the program keeps its own things. Refuses to guess: a bare repository on its own, or one whose main tree
cannot be found from a linked worktree, is an error and never a new place. Rule: everything that two processes must
agree on (database, settings, ``temp/``, reports) is derived from :attr:`Root.path` and nothing else.
"""

import os
import shlex
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Literal

from musician.protocol.errors import GitFailed, NoRepository, TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.finding import find_tree, git_dir, is_kept_from_cleaning
from musician.trees.git import Git, git_dir_of

_EXCLUDED = (b"/.musician/", b"/temp")
_PRIVATE_TO_GIT = frozenset({"umask", "false", "no", "off", "0", ""})
"""What ``core.sharedRepository`` says where the repository is one user's."""

_OPEN_TO_ALL = frozenset({"all", "world", "everybody", "2"})

_BOUNDS = frozenset({"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"})
"""Variables that say where git stops looking."""

_EXCLUDE_HEADING = b"# musician: what must not be committed\n"

# fmt: off
NETWORK_FILESYSTEMS = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs",
    "fuse.ceph-fuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2", "smb3",
    "smbfs", "vboxsf",
})
# fmt: on
"""File systems whose locks and shared memory SQLite's WAL cannot rely on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """``path`` is the real path of the main working tree, ``standing`` that of the tree of the current
    folder.

    A bare repository has no main tree. Where it lies in a folder whose ``.git`` names it, ``path`` is that folder.
    """

    path: Path
    standing: Path | None = field(default=None, compare=False)
    archived: str | None = field(default=None, compare=False)
    """The archived plan whose logs are looked at."""

    @property
    def users_tree(self) -> Path:
        """The tree whose branch a run starts from and moves at its end: the current one, if it is the user's
        own.
        """
        if self.standing is None or self.standing.is_relative_to(self.trees_dir):
            return self.path
        return self.standing

    @property
    def git_dir(self) -> Path:
        """Git's common dir: refs, objects and the exclude file of all working trees."""
        found = git_dir_of(self.path)
        if found is None:
            raise NoRepository(path=str(self.path), reason="no longer a git repository")
        return found

    @property
    def musician_dir(self) -> Path:
        return self.path / ".musician"

    @property
    def database(self) -> Path:
        return self.musician_dir / "comms.db"

    @property
    def config(self) -> Path:
        return self.musician_dir / "config.toml"

    @property
    def locks_dir(self) -> Path:
        return self.musician_dir / "locks"

    def archive_of(self, plan_id: str) -> Path:
        """What is kept of an archived plan: its rows, in a database of their own, and its logs."""
        return self.musician_dir / "archive" / plan_id

    @property
    def trees_dir(self) -> Path:
        return self.musician_dir / "trees"

    @property
    def logs_dir(self) -> Path:
        return (self.musician_dir if self.archived is None else self.archive_of(self.archived)) / "logs"

    def transcript(self, task_id: str, epoch: int, session_id: str) -> Path:
        """The transcript of what a task's session said and did under one claim."""
        return self.logs_dir / task_id / f"{epoch}.{session_id}.jsonl"

    def asked_transcript(self, task_id: str, what: Literal["review", "answer"], message_id: int) -> Path:
        """The transcript of an agent that was asked to review a submission, or to answer a message."""
        return self.logs_dir / task_id / f"{what}.{message_id}.jsonl"

    def asked_transcripts(self, task_id: str) -> list[Path]:
        """Those of all agents that were asked about a task."""
        folder = self.logs_dir / task_id
        return [*folder.glob("review.*.jsonl"), *folder.glob("answer.*.jsonl")]

    def transcripts(self, task_id: str) -> list[Path]:
        """Those of its sessions, and of all agents that were asked about it."""
        return list((self.logs_dir / task_id).glob("*.jsonl"))

    def checks_log(self, task_id: str) -> Path:
        """The log of what a task's tests and other checks print."""
        return self.logs_dir / task_id / "checks.log"

    @property
    def temp_dir(self) -> Path:
        """May be a symlink (B43). In our own folder where the project has one: :func:`choose_temp`."""
        own = self.musician_dir / "temp"
        return own if own.is_dir() else self.path / "temp"

    def status_file(self, task_id: str) -> Path:
        """The task's status log, which the sources' scripts and its successors read."""
        return self.temp_dir / f"{task_id}-status"

    @property
    def reports_dir(self) -> Path:
        return self.path / "docs" / "implementation" / "reports"

    @property
    def proposals_dir(self) -> Path:
        return self.path / "docs" / "implementation" / "proposals"


def find_root(start: Path) -> Root:
    """The root of the repository that ``start`` stands in.

    Works from the main tree, a subfolder, a symlinked path, inside ``.git`` and a linked worktree.
    :class:`NoRepository` without git, without a repository, for a bare one, and for one git refuses to open.
    """
    if not start.is_dir():
        raise NoRepository(path=str(start), reason="no such folder", remedy="name an existing one")
    return _told_by_files(start) or told_by_git(start)


def _told_by_files(start: Path) -> Root | None:
    """Find the root by files alone; None if git would also consider owners, file systems or its environment."""
    found = find_tree(str(start))
    if found is None or _BOUNDS & os.environ.keys():
        return None
    main, standing = found
    owners = {os.stat(each).st_uid for each in (main, standing, git_dir(main))}
    if owners != {os.geteuid()} or start.stat().st_dev != os.stat(standing).st_dev:
        return None
    return Root(path=Path(main), standing=Path(standing))


def told_by_git(start: Path) -> Root:
    """As :func:`find_root`, but always by asking git."""
    try:
        common = _answer(start, "--git-common-dir")
        own = _answer(start, "--absolute-git-dir")
    except GitFailed as error:
        raise _unusable(start, error) from error
    if is_kept_from_cleaning(str(common.parent)):
        return find_root(common.parent.parent)
    standing, configured = _toplevel(start), _configured_tree(common)
    candidates = [standing] if own == common else []
    for candidate in [*candidates, configured, common.parent]:
        top = _toplevel(candidate) if candidate is not None else None
        if top is not None and git_dir_of(top) == common:
            return Root(path=top, standing=standing)
    if configured is not None:
        raise NoRepository(
            path=str(start),
            reason=f"core.worktree says that its tree is {configured}, and nothing leads from there to {common}",
            remedy=f"put a link there and go there: echo 'gitdir: {common}' > {shlex.quote(str(configured))}/.git",
        )
    if Git(common, finds=True).text("rev-parse", "--is-bare-repository") != "true":
        raise NoRepository(
            path=str(start),
            reason=f"the main working tree of {common} cannot be found from here",
            remedy="go into the main working tree",
        )
    if git_dir_of(common.parent) == common:  # a bare repository in a folder of linked trees
        return Root(path=common.parent, standing=standing)
    if standing is None:
        raise NoRepository(
            path=str(start), reason="a bare repository has no working tree", remedy="go into a clone of it"
        )
    raise NoRepository(
        path=str(start),
        reason=f"a linked working tree of the bare repository {common}, which has no main one to keep things in",
        remedy="move that into a folder of its own whose .git names it (gitdir: ./NAME), run `git worktree repair`"
        " there, and come back",
    )


def _unusable(start: Path, error: GitFailed) -> NoRepository:
    """Return the error for a place that git does not open, with git's own remedy if it names one."""
    if "not a git repository" in error.stderr:
        return NoRepository(path=str(start), reason="not in a git repository")
    by_git = next((line.strip() for line in error.stderr.splitlines() if "safe.directory" in line), None)
    if by_git is None:
        return NoRepository(path=str(start), reason=error.message)
    reason = "the repository belongs to another user, and git does not open it for you"
    return NoRepository(path=str(start), reason=reason, remedy=f"if you trust it: {by_git}")


def choose_temp(root: Root) -> Path:
    """Return the place of ``temp``: elsewhere if the project has its own, because excluding that would hide
    its files.

    Once it is made there, it stays there.
    """
    is_taken = bool(Git(root.path).records("ls-files", "-z", "--", "temp"))
    return root.musician_dir / "temp" if is_taken else root.temp_dir


def share_as_git_does(root: Root, folder: Path, shared: str) -> None:
    """Give exactly those users access to our folder whom git lets work in the repository, as :func:`how_shared` says.

    Even read access to a lock is enough to hold it. If git shares the repository (``core.sharedRepository``),
    the folder and what is made in it belong to the group, and so does what an earlier version has made there.
    """
    if shared in _PRIVATE_TO_GIT:
        if folder == root.musician_dir:
            folder.chmod(folder.stat().st_mode & ~0o077)
        return
    everybody = 0o005 if shared in _OPEN_TO_ALL else 0
    with suppress(PermissionError):  # another member of the group has made it, and done this
        os.chown(folder, -1, root.git_dir.stat().st_gid)
        folder.chmod(folder.stat().st_mode | 0o2070 | everybody)
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(inside, name) != root.trees_dir]
        for name in (*folders, *files):
            _give_to_group(Path(inside, name))


def is_shared(root: Root) -> bool:
    """Whether git shares the repository with other users."""
    return how_shared(root) not in _PRIVATE_TO_GIT


def how_shared(root: Root) -> str:
    """Return git's ``core.sharedRepository``."""
    return Git(root.path).text("config", "--default", "umask", "core.sharedRepository").lower()


def _give_to_group(path: Path) -> None:
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode):
        with suppress(PermissionError):
            path.chmod(mode | (mode & 0o700) >> 3)


def keep_from_cleaning(root: Root) -> None:
    """Make our folder look like a repository of its own: `git clean -fdx` and `git stash --all` leave those alone."""
    git_dir = root.musician_dir / ".git"
    for folder in ("objects", "refs", "info"):
        (git_dir / folder).mkdir(parents=True, exist_ok=True)
    for name, text in (("info/exclude", "*\n"), ("HEAD", "ref: refs/heads/kept-from-cleaning\n")):
        if not (git_dir / name).exists():
            (git_dir / name).write_text(text, encoding="utf-8")


def exclude_private(root: Root, *more: bytes) -> None:
    """Keep ``.musician/``, ``temp`` and ``more`` out of every commit, by git's own exclude file; idempotent (D25).

    ``/temp`` has no trailing slash because it is a link in the worktrees. Where the project has its own it is no
    pattern of ours, and one that was written before is taken out. :class:`TreeNotReady` if the file cannot be written.
    """
    file = root.git_dir / "info" / "exclude"
    try:
        content = file.read_bytes() if file.exists() else b""
        is_ours = root.temp_dir == root.path / "temp"
        kept = content if is_ours else _without(content, b"/temp")
        present = {line.strip() for line in kept.splitlines()}
        wanted = [pattern for pattern in (*_EXCLUDED, *more) if is_ours or pattern != b"/temp"]
        missing = [pattern for pattern in wanted if pattern not in present]
        if missing:
            gap = b"" if not kept or kept.endswith(b"\n") else b"\n"
            kept += gap + _EXCLUDE_HEADING + b"".join(pattern + b"\n" for pattern in missing)
        if kept != content:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(kept)
    except OSError as error:
        raise TreeNotReady(
            reason=f"git's exclude file cannot be written: {error.strerror}",
            paths=(str(file),),
            remedy="make it writable",
        ) from error


def _without(content: bytes, pattern: bytes) -> bytes:
    """Return the file without a line of ours: one below our heading, before the next line that is not ours."""
    kept, is_below = [], False
    for line in content.splitlines(keepends=True):
        is_below = line == _EXCLUDE_HEADING or (is_below and line.strip().startswith(b"/"))
        if not (is_below and line.strip() == pattern):
            kept.append(line)
    return b"".join(kept)


def is_network_filesystem(path: Path, *, mounts: Iterable[tuple[str, str]] | None = None) -> str | None:
    """Return the type of the network file system that ``path`` (existing or not) is on; None if it is local
    (B35).

    ``mounts`` are (mount point, type), in the order they were mounted; by default this machine's.
    """
    if mounts is None:
        import psutil  # as long to import as all the rest of a short command

        mounts = [(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)]
    real = os.path.realpath(path)
    best, kind = "", ""
    for point, fstype in mounts:
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two mounts on one point the later hides the earlier
            best, kind = point, fstype
    return kind if kind in NETWORK_FILESYSTEMS else None


def _answer(folder: Path, question: str) -> Path:
    raw = Git(folder, finds=True).run("rev-parse", question).stdout.removesuffix(b"\n")
    return (folder.absolute() / os.fsdecode(raw)).resolve()


def _toplevel(folder: Path) -> Path | None:
    """Return the top of the working tree around ``folder``; None if there is none."""
    try:
        return _answer(folder, "--show-toplevel")
    except GitFailed:
        return None


def _configured_tree(common: Path) -> Path | None:
    """Return the working tree that the repository's configuration names, as in a submodule."""
    done = Git(common, finds=True).run(
        "config", "--file", str(common / "config"), "core.worktree", accept=(0, 1)
    )
    return (common / os.fsdecode(done.stdout.removesuffix(b"\n"))).resolve() if done.returncode == 0 else None
