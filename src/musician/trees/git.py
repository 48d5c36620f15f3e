"""Running git so that nothing of the caller's surroundings changes what it does.

Knows how to start git for one working tree and what its answers look like. Refuses to know what a task is. Rules:

- Every call names the git folder and the working tree, and the two are proved to belong together first: whatever a
  configuration says, and whatever became of a tree's ``.git``, no call reaches another tree (D31). Git finds the
  repository by itself only where that is the question (``finds``).
- The caller's ``GIT_*`` variables are dropped (a hook's ``GIT_DIR`` or ``GIT_INDEX_FILE`` would aim us at another
  repository), except those that say where git and its user configuration are.
- No user hook, signature, editor, prompt, background housekeeping or file-system monitor: a commit of ours neither
  waits for a person nor leaves a process behind.
- No filter and no merge driver that was configured since the plan was locked (``trust.py``).
- Commits are by "Musician <musician@localhost>", messages in UTF-8, output in English.
- Output with paths is asked for with ``-z`` and stays bytes until it is shown.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from musician.protocol.errors import GitFailed, NoRepository, TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.starting import Ran, played
from musician.trees.trust import common_dir_of, distrusted

OLDEST = (2, 25)
"""The first git that does what is asked of it here."""

COMMITTER_EMAIL = "musician@localhost"

GIT_TIMEOUT_S = 600.0
"""No single git command of ours may take longer; a checkout of a very large repository takes minutes."""

_KEPT_VARIABLES = frozenset(
    {
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)

_OWN_VARIABLES = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "true",
    "GIT_AUTHOR_NAME": "Musician",
    "GIT_AUTHOR_EMAIL": COMMITTER_EMAIL,
    "GIT_COMMITTER_NAME": "Musician",
    "GIT_COMMITTER_EMAIL": COMMITTER_EMAIL,
}

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "core.filesRefLockTimeout=10000",
    "core.packedRefsTimeout=10000",
    "commit.gpgSign=false",
    "merge.verifySignatures=false",
    "merge.autoStash=false",
    "rerere.enabled=false",
    # Some versions read it for one of `merge` and `merge-tree` alone; what is set here is what the strategy takes.
    "diff.algorithm=histogram",
    "gc.auto=0",
    "maintenance.auto=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
)

_IS_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch

_SETTING_ARGUMENTS = tuple(part for setting in _SETTINGS for part in ("-c", setting))


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The result of one git command."""

    returncode: int
    stdout: bytes
    stderr: str


Runner = Callable[[Sequence[str], bytes, Mapping[str, str]], Ran]
"""Plays a command line with a standard input and an environment to its end; TimeoutExpired if that takes too long."""


def run_to_end(argv: Sequence[str], stdin: bytes, env: Mapping[str, str]) -> Ran:
    return played(argv, stdin=stdin, env=env, within_s=GIT_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class Git:
    """Git for the working tree whose top is ``folder``; ``index`` replaces the tree's own index file.

    With ``finds`` git searches for the repository from ``folder`` by itself: to tell where we are, or to make
    one. ``top`` stands in the place of the working tree, and new objects go to ``objects``: what is tried there
    leaves no trace in the repository.
    """

    folder: Path
    index: Path | None = None
    finds: bool = False
    top: Path | None = None
    objects: Path | None = None
    runner: Runner = run_to_end

    def run(self, *arguments: str, stdin: bytes | None = None, accept: tuple[int, ...] = (0,)) -> Completed:
        """Run one command; :class:`GitFailed` for an exit code not in ``accept`` or past the time limit.

        :class:`NoRepository` if there is no git on this machine, :class:`TreeNotReady` if the folder is no working
        tree, or not the one that its git folder belongs to.
        """
        options = (*_SETTING_ARGUMENTS, *distrusted(self.folder, git_dir_of(self.folder)))
        argv = ["git", *self._where(), *options, *arguments]
        import subprocess

        try:
            code, stdout, said = self.runner(argv, stdin or b"", self._environment())
        except FileNotFoundError as error:
            raise NoRepository(
                path=str(self.folder),
                reason="git is not on PATH",
                remedy=f"install git {'.'.join(map(str, OLDEST))} or newer",
            ) from error
        except subprocess.TimeoutExpired as error:
            raise GitFailed(
                argv=arguments, returncode=-9, stderr=f"it did not end within {error.timeout:.0f} s"
            ) from error
        stderr = shown(said)
        if code not in accept:
            raise GitFailed(argv=arguments, returncode=code, stderr=stderr)
        return Completed(returncode=code, stdout=stdout, stderr=stderr)

    def text(self, *arguments: str, stdin: bytes | None = None) -> str:
        """Standard output without its last line end, for ids and names."""
        return shown(self.run(*arguments, stdin=stdin).stdout).rstrip("\n")

    def records(self, *arguments: str) -> list[bytes]:
        """Standard output of a ``-z`` command, split."""
        return [record for record in self.run(*arguments).stdout.split(b"\0") if record]

    def succeeds(self, *arguments: str) -> bool:
        """Whether a command that answers by exit code says yes (0) or no (1)."""
        return self.run(*arguments, accept=(0, 1)).returncode == 0

    def commit_id(self, revision: str) -> str | None:
        """Return the full id of the commit that ``revision`` names; None if it names none."""
        by_file = self._by_file(revision)
        if by_file is not None:
            return by_file
        done = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}", accept=(0, 1, 128)
        )
        # Before git 2.30 rev-parse prints the option itself.
        return done.stdout.split()[-1].decode("ascii") if done.returncode == 0 else None

    def commit_ids(self, branches: Collection[str]) -> dict[str, str]:
        """Return the commits of those branches (full refs) that exist, with one call at most."""
        found = {ref: self._by_file(ref) for ref in branches}
        if not all(found.values()):  # they are packed, or in a reftable, or not there
            listed = self.text("for-each-ref", "--format=%(refname) %(objectname)", *branches)
            found |= dict(line.rsplit(" ", 1) for line in listed.splitlines())
        return {ref: commit for ref, commit in found.items() if commit}

    def head(self) -> str:
        """Return the full id of HEAD's commit; :class:`GitFailed` if there is none."""
        return self._by_file("HEAD") or self.text("rev-parse", "--verify", "HEAD")

    def holds(self, newer: str, older: str) -> bool:
        """Whether commit ``older`` is ``newer`` or in its history; :class:`GitFailed` if one is not there."""
        return older == (self._by_file(newer) or newer) or self.succeeds(
            "merge-base", "--is-ancestor", older, newer
        )

    def _by_file(self, revision: str) -> str | None:
        return None if self.finds else _read_ref(tree_git_dir(self.folder), revision)

    def _where(self) -> tuple[str, ...]:
        folder = os.path.abspath(self.folder)
        if self.finds:
            return ("-C", folder)
        top = folder if self.top is None else os.path.abspath(self.top)
        return ("-C", top, f"--git-dir={tree_git_dir(self.folder)}", f"--work-tree={top}")

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _KEPT_VARIABLES
        }
        if self.index is not None:
            kept["GIT_INDEX_FILE"] = str(self.index)
        if self.objects is not None:
            kept["GIT_OBJECT_DIRECTORY"] = str(self.objects)
        return kept | _OWN_VARIABLES


def _read_ref(git_dir: Path, name: str) -> str | None:
    """Return the content of the loose file of HEAD, a branch or a ref of ours. It overrides all else that git
    keeps of the ref.

    None if there is no such file, or if the file alone is not the answer: refs can be packed, or in a
    reftable.
    """
    folder = git_dir if name == "HEAD" else common_dir_of(git_dir)
    if not (name == "HEAD" or name.startswith(("refs/heads/", "refs/musician/"))):
        return None
    try:
        said = (folder / name).read_text(encoding="ascii").removesuffix("\n")
    except (OSError, ValueError):
        return None
    if name == "HEAD" and said.startswith("ref: "):
        return _read_ref(git_dir, said.removeprefix("ref: "))
    return said if _IS_ID(said) else None


def git_version() -> tuple[int, int]:
    """Return the first two numbers of git's version; (0, 0) if it tells none."""
    import shutil  # slow to import, and seldom needed

    return _version_of(shutil.which("git"))


@lru_cache(maxsize=4)
def _version_of(_program: str | None) -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", Git(Path("/"), finds=True).text("--version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


@lru_cache(maxsize=64)
def tree_of(folder: Path, commit: str) -> str:
    """Return the id of a commit's tree. The commit is given by its full id, so the answer is cached."""
    return Git(folder).text("rev-parse", f"{commit}^{{tree}}")


def git_dir_of(tree: Path) -> Path | None:
    """Return the path that ``.git`` of a working tree points to, existing or not; None if there is no
    ``.git`` to follow.

    Reads the file instead of asking git, because broken links must be found too.
    """
    dot_git = tree / ".git"
    if dot_git.is_dir():
        return dot_git.resolve()
    try:
        content = os.fsdecode(dot_git.read_bytes()).removesuffix("\n")
    except OSError:
        return None
    if not content.startswith("gitdir: "):
        return None
    return (tree / content.removeprefix("gitdir: ")).resolve()


def tree_git_dir(tree: Path) -> Path:
    """Return the git folder of a working tree; :class:`TreeNotReady` if it has none, or one that belongs to
    another tree.
    """
    found = git_dir_of(tree)
    if found is None or not found.is_dir():
        raise TreeNotReady(
            reason="not a working tree of git",
            paths=(os.fspath(tree),),
            remedy="run it again to have it made anew",
        )
    owner = _owner_of(found)
    if owner != tree.resolve() and git_dir_of(owner) == found:
        raise TreeNotReady(
            reason=f"its .git leads to the git folder of another working tree, {owner}",
            paths=(os.fspath(tree),),
            remedy="move that .git away, and run it again to have the link made anew",
        )
    return found


def prove(tree: Path) -> None:
    """Raise :class:`TreeNotReady` unless any git command run in ``tree`` works on that tree and on no other.

    Our own calls name git folder and tree. An agent's do not, and a configuration may send them to another
    tree.
    """
    finding, own = Git(tree, finds=True), (tree.resolve(), tree_git_dir(tree))
    asked = ("--show-toplevel", "--absolute-git-dir")
    if finding.run("rev-parse", *asked).stdout == b"".join(bytes(each) + b"\n" for each in own):
        return
    answers = (finding.run("rev-parse", each).stdout for each in asked)  # a path may hold a line end
    top, git_dir = (Path(os.fsdecode(answer.removesuffix(b"\n"))).resolve() for answer in answers)
    if (top, git_dir) != own:
        raise TreeNotReady(
            reason=f"git that is called in this working tree works on {top} with {git_dir}",
            paths=(os.fspath(tree),),
            remedy="see where that is configured: git config --show-origin --get-all core.worktree",
        )


def _owner_of(git_dir: Path) -> Path:
    """Return the working tree that a git folder names, existing or not; the folder around it if it names
    none.
    """
    try:
        recorded = os.fsdecode((git_dir / "gitdir").read_bytes().removesuffix(b"\n"))
    except OSError:
        return git_dir.parent
    return (git_dir / recorded).parent.resolve()


def shown(raw: bytes) -> str:
    """Bytes of git as text that can be printed and stored: what is no UTF-8 appears as ``\\xNN``."""
    return raw.decode("utf-8", "backslashreplace")


def named(paths: Collection[bytes], most: int) -> str:
    """Return the first ``most`` paths, sorted, and how many more there are."""
    more = len(paths) - most
    return ", ".join(map(shown, sorted(paths)[:most])) + (f" and {more} more" if more > 0 else "")
