"""What two sides of a merge disagree on: the paths in conflict, and the commits that touched them.

Of a folder that one side has renamed, or a file where the other has a folder, git leaves paths that neither side knows
(``x~theirs``). Since 2.38 it also tells, merging without a tree, which paths each conflict is about; from an older one
the name before the ``~`` has to do. A side that has not touched such a path itself has done something to a folder
around it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from musician.protocol.arguments import as_argument
from musician.protocol.values import dataclass
from musician.trees.git import Git, shown
from musician.trees.resolving import hunk_of

_COMMITS_NAMED_MAX = 10
_PATHS_ASKED_MAX = 200
_FILES_NAMED_MAX = 5
_COMMIT_FIELDS = "%h%x1f%(trailers:key=Musician-Task,valueonly,separator=%x2c)%x1f%s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """``ours`` and ``theirs`` name the commits that touched ``paths`` on either side, by task where one made them.

    ``hunk`` is what the side that was merged already has changed there; ``see`` are the commands that show the whole
    change of either side since they parted.
    """

    paths: tuple[str, ...]
    ours: str
    theirs: str
    hunk: str = ""
    see: tuple[str, str] = ("", "")


def find_conflict(git: Git, ours: str, theirs: str, unmerged: tuple[bytes, ...]) -> Conflict:
    """Explain the paths that a merge of two commits has left ``unmerged``."""
    paths = real_paths(git, ours, theirs, unmerged, told=partial(_told, git, ours, theirs)) or unmerged
    parted, names = git.text("merge-base", ours, theirs), tuple(shown(path) for path in paths)
    # From the top, wherever it is looked at: a path of the folder one stands in would show nothing.
    files = " ".join(as_argument(f":/{os.fsdecode(path)}") for path in paths)
    if len(paths) > _FILES_NAMED_MAX:
        files = ":/FILE"
    return Conflict(
        paths=names,
        ours=_touched(git, f"{theirs}..{ours}", paths),
        theirs=_touched(git, f"{ours}..{theirs}", paths),
        hunk=hunk_of(git, parted, ours, paths),
        see=(
            f"git diff {parted:.12} {ours:.12} -- {files}",
            f"git diff {parted:.12} {theirs:.12} -- {files}",
        ),
    )


def real_paths(
    git: Git,
    ours: str,
    theirs: str,
    unmerged: tuple[bytes, ...],
    *,
    told: Callable[[], Iterable[bytes]],
) -> tuple[bytes, ...]:
    """Return the paths that exist on one of the sides, each once, in the order in which they were found.

    ``told`` gives those that git's messages name, if they are needed.
    """
    asked = list(unmerged)
    if any(not _is_in(git, path, ours, theirs) for path in unmerged):
        asked += told()
        asked += [path.rpartition(b"~")[0] for path in unmerged if b"~" in path]
    known = [path for path in dict.fromkeys(asked) if path and _is_in(git, path, ours, theirs)]
    return tuple(known)


def _told(git: Git, ours: str, theirs: str) -> Iterator[bytes]:
    """Nothing from a git that prints no such messages."""
    tried = ("merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
    done = git.run(*tried, accept=(0, 1, 128, 129))
    if done.returncode == 1:
        yield from named_in(done.stdout.partition(b"\0\0")[2])


def named_in(messages: bytes) -> Iterator[bytes]:
    """Yield the paths that ``merge-tree``'s messages about conflicts name."""
    fields = iter(messages.split(b"\0"))
    for count in fields:
        if not count.isdigit():
            return
        about = [next(fields, b"") for _ in range(int(count))]
        kind, _ = next(fields, b""), next(fields, b"")
        if kind.startswith(b"CONFLICT"):
            yield from about


def _is_in(git: Git, path: bytes, *commits: str) -> bool:
    return any(
        git.run("cat-file", "-e", f"{commit}:{os.fsdecode(path)}", accept=(0, 1, 128)).returncode == 0
        for commit in commits
    )


def _touched(git: Git, commits: str, paths: tuple[bytes, ...]) -> str:
    """Return which commits changed these paths, newest first: ``task-01 (1a2b3c4 subject); …``.

    If none did, return those that changed the folders around them, from the innermost outwards.
    """
    asked = list(paths[:_PATHS_ASKED_MAX])
    while asked:
        named = [*_commits(git, commits, asked)]
        if named:
            return "; ".join(named)
        asked = [*dict.fromkeys(above for path in asked if (above := path.rpartition(b"/")[0]))]
    return "no commit of its own"


def _commits(git: Git, commits: str, paths: list[bytes]) -> Iterator[str]:
    options = ("--no-merges", f"--max-count={_COMMITS_NAMED_MAX}", f"--format={_COMMIT_FIELDS}")
    asked = [os.fsdecode(path) for path in paths]
    for record in git.records("--literal-pathspecs", "log", "-z", *options, commits, "--", *asked):
        commit, task, subject = shown(record).split("\x1f", 2)
        yield f"{task or 'no task'} ({commit} {subject})"
