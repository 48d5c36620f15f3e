"""Finds the forbidden acts in writing or deleting a path (D21, D43).

Theory. A musician may write in its own tree and in temporary folders. In its own tree some files belong to everybody
(memory, the client's settings) or to the program (records, guards). Nothing outside of the tree is its own; a path that
cannot be determined is allowed. No file is opened here: the caller passes the function that resolves symlinks.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from posixpath import basename, dirname, join
from types import MappingProxyType

from musician.protocol.policy.forbidden import Act
from musician.protocol.policy.run import UNKNOWN
from musician.protocol.values import dataclass

_NO_GRANTS: frozenset[Act] = frozenset()
_NOTHING: Mapping[str, str] = MappingProxyType({})

_MEMORY = ("memory.md", "claude.md", "claude.local.md")
_SETTINGS = re.compile(r"/\.claude/settings(?:\.local)?\.json$")
_BOOKS = re.compile(r"/temp/[^/]*-(?:status|deviations|HANDOFF)$")
_REFS = re.compile(r"/\.git(?:/worktrees/[^/]+)?/(?:refs(?:/|$)|HEAD$|packed-refs$)")
_GUARDS = re.compile(r"/\.git/(?:hooks(?:/|$)|config(?:\.worktree)?$)")
_DATABASE_COMPANIONS = ("", "-wal", "-shm", "-journal", "-gate")
_NOBODYS = ("/dev", "/proc")
_PATTERN = re.compile(r"[*?\[]")


def _as_written(path: str) -> str:
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a tool call is made. Folders are absolute and real; ``tree`` is where the task is played, ``root`` the
    repository's main working tree. ``aliases``: git's configured ones; ``variables``: what is known of the environment.
    ``real`` resolves the symlinks of an absolute path."""

    cwd: str
    root: str
    tree: str
    database: str
    session: str = ""
    is_subagent: bool = False
    conducts: bool = False
    """It plays nothing, and is its user's own: only what is a musician's, and the database, is not its to write."""
    home: str = ""
    temporary: tuple[str, ...] = ("/tmp", "/var/tmp")  # noqa: S108  # nothing is made there
    grants: frozenset[Act] = _NO_GRANTS
    aliases: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    variables: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    real: Callable[[str], str] = _as_written


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def writing(path: str, where: Surroundings) -> Act | None:
    """Return the act that writing an absolute path would be."""
    if where.conducts:
        return _of_a_musicians(_real(path, where), where)
    return _writing(_real(path, where), (path, _real(path, where)), where)


def deleting(path: str, where: Surroundings) -> Act | None:
    """Return the act that deleting, moving or emptying a path would be, including everything inside it."""
    emptied = path.removesuffix("/*").removesuffix("/.*") or "/"
    # a link is deleted itself, not what it points at
    target = join(_real(dirname(emptied), where), basename(emptied))
    if where.conducts:
        return _of_a_musicians(target, where)
    if any(within(top, target) for top in (where.root, where.tree)):
        return Act.DISCARD
    if ("/.git/" in target + "/" and not target.endswith(".lock")) or _is_anothers(target, where):
        return Act.DISCARD
    if within(where.database, target):
        return Act.BOOKKEEPING
    return _writing(target, (target,), where)


def is_database(path: str, where: Surroundings) -> bool:
    """Whether an absolute path is the orchestration database, or what SQLite and the program keep beside it."""
    return _real(path, where) in {where.database + suffix for suffix in _DATABASE_COMPANIONS}


def is_outside(path: str, where: Surroundings) -> bool:
    """Whether an absolute path is known to be neither in the own tree nor where writing is free."""
    path = _real(path, where)
    if where.conducts:
        return _of_a_musicians(path, where) is not None
    own = (where.tree, join(where.root, "temp"))
    known = path.startswith("/") and not path.startswith("/" + UNKNOWN)
    return known and not any(within(path, top) for top in own) and not is_free(path, where)


def is_free(path: str, where: Surroundings) -> bool:
    """Whether an absolute path is nobody's.

    The closest folder around it that says anything is a temporary one, not the repository or the home.
    """
    free = (*_NOBODYS, *where.temporary, *([join(where.home, ".cache")] if where.home else []))
    held = (where.root, *([where.home] if where.home else []))
    closest = max((len(folder) for folder in free if within(path, folder)), default=0)
    return closest > max((len(folder) for folder in held if within(path, folder)), default=0)


def _of_a_musicians(path: str, where: Surroundings) -> Act | None:
    """Return the act that a conductor's write would be, by its real path, or by a path that holds what is theirs."""
    trees = join(where.root, ".musician", "trees")
    is_theirs = is_database(path, where) or within(path, trees) or within(trees, path)
    return Act.OUTSIDE if is_theirs and path.startswith(join(where.root, ".musician")) else None


def _writing(path: str, names: tuple[str, ...], where: Surroundings) -> Act | None:
    if is_database(path, where) or _is_private(path, where) or _BOOKS.search(path) or _SETTINGS.search(path):
        return Act.BOOKKEEPING
    if is_free(path, where) or ("/.git/" in path and path.endswith(".lock")):
        return None
    if any(_is_memory(basename(name)) for name in names):
        return Act.MEMORY
    if _REFS.search(path):
        return Act.BRANCH
    if _GUARDS.search(path):
        return Act.BOOKKEEPING
    return Act.OUTSIDE if is_outside(path, where) else None


def _is_memory(name: str) -> bool:
    """Also by a pattern that begins as such a name does; ``*.md`` is not meant so."""
    name = name.lower()
    if not _PATTERN.search(name):
        return name in _MEMORY
    pattern = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".")
    return not _PATTERN.match(name) and any(re.fullmatch(pattern, memory) for memory in _MEMORY)


def _is_private(path: str, where: Surroundings) -> bool:
    """In ``.musician/``, but not in one of the trees that lie there."""
    tops = (where.root, where.tree) if path.startswith("/") and UNKNOWN not in path else ()
    for private in (join(top, ".musician") for top in tops):
        if within(path, private) and not path.startswith(join(private, "trees") + "/"):
            return True
    return not tops and "/.musician/" in path and "/.musician/trees/" not in path


def _is_anothers(path: str, where: Surroundings) -> bool:
    return within(path, join(where.root, ".musician", "trees")) and not within(path, where.tree)


def _real(path: str, where: Surroundings) -> str:
    """Symlinks resolved, as far as the path is known."""
    known = path.startswith("/") and UNKNOWN not in path and "\0" not in path
    return where.real(path) if known and not _PATTERN.search(path) else path
