"""SQLite's own errors as errors that say who must act.

Code matches on apsw's exception types and extended result codes, never on text, with one exception: our triggers
can speak only through their message, which begins with ``musician:``.
"""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import apsw

from musician.protocol.errors import DatabaseUnusable
from musician.store.sqlite.gate import GateTimeout

_RESTORE = "restore it from a copy, or move it away and init anew"

_KINDS: tuple[tuple[type[apsw.Error], str, str, str], ...] = (
    (
        apsw.NotADBError,
        "corrupt",
        "this is not a readable database",
        _RESTORE,
    ),
    (
        apsw.CorruptError,
        "corrupt",
        "the database is damaged",
        _RESTORE,
    ),
    (apsw.BusyError, "locked", "another program holds the write lock", "end that program, or try again"),
    (apsw.LockedError, "locked", "another program holds the write lock", "end that program, or try again"),
    (
        apsw.ReadOnlyError,
        "readonly",
        "the database is read-only",
        "check the permissions of the file and its folder",
    ),
    (
        apsw.FullError,
        "full",
        "the disk is full; nothing of this write was kept",
        "free some space and try again",
    ),
    (apsw.CantOpenError, "unopenable", "it cannot be opened", "check the path and its permissions"),
    (
        apsw.PermissionsError,
        "readonly",
        "access is denied",
        "check the permissions of the file and its folder",
    ),
    (
        apsw.IOError,
        "io",
        "reading or writing the disk failed",
        "check the disk; nothing of this write was kept",
    ),
    (
        apsw.ConstraintError,
        "refused",
        "the database refused the write",
        "the state is as it was; look at `musician status`",
    ),
)


class FaultsOf:
    """Translates SQLite's errors in this block into ours. Never put it around a caller's code.

    A class, because several are entered for every verb and a generator would take three times as long.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, apsw.Error):
            raise as_unusable(error, self._path) from error


def damaged(path: Path, found: str) -> DatabaseUnusable:
    return DatabaseUnusable(
        path=str(path), kind="corrupt", detail=f"the database is damaged ({found})", remedy=_RESTORE
    )


def spent(path: Path, table: str) -> DatabaseUnusable:
    """SQLite says "full" of a table, too, whose last id is taken."""
    return DatabaseUnusable(
        path=str(path),
        kind="spent",
        detail=f"somebody has written the last id there can be into {table}, and none is left",
        remedy="run `musician init`, which gives the ids back",
    )


def as_unusable(error: apsw.Error, path: Path) -> DatabaseUnusable:
    """The error a caller sees; ``kind`` is one of corrupt, locked, readonly, full, unopenable, io, refused, other."""
    if isinstance(error, apsw.IOError | apsw.CantOpenError) and _has_no_room(path.parent):
        error = apsw.FullError()  # a full disk fails otherwise for the files beside the database
    for kind_of, kind, detail, remedy in _KINDS:
        if isinstance(error, kind_of):
            said = str(error)
            if kind == "refused" and "musician: " in said:
                detail = said.partition("musician: ")[2]
            return DatabaseUnusable(path=str(path), kind=kind, detail=detail, remedy=remedy)
    return DatabaseUnusable(path=str(path), kind="other", detail=str(error), remedy="run `musician doctor`")


def _has_no_room(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail == 0 and not found.f_flag & os.ST_RDONLY


def gate_fault(error: OSError | GateTimeout, path: Path) -> DatabaseUnusable:
    """Why the gate could not be passed; ``kind`` is locked or readonly."""
    if isinstance(error, GateTimeout):
        return DatabaseUnusable(
            path=str(path),
            kind="locked",
            detail=f"{held_by(error.holder)}, and lets nobody write",
            remedy=letting_go(error.holder),
        )
    return DatabaseUnusable(
        path=str(path),
        kind="readonly",
        detail=f"cannot be written here ({error.strerror})",
        remedy="check the permissions of its folder",
    )


def held_by(pid: int | None) -> str:
    """Return the process that holds the database."""
    return "another process holds it" if pid is None else f"process {pid} holds it"


def letting_go(pid: int | None) -> str:
    """Return the command that ends a process holding the database. A stopped process reacts only to two signals."""
    if pid is None:
        return "try again; if it stays so, end that process"
    stat = b""
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    if stat.rpartition(b") ")[2].startswith(b"T"):
        return f"it is stopped: `kill -CONT {pid}` lets it go on, `kill -KILL {pid}` ends it"
    return f"try again; if it stays so, end it: kill {pid}"


def unreachable(error: OSError, path: Path) -> DatabaseUnusable:
    """The system will not even say whether the file is there."""
    return DatabaseUnusable(
        path=str(path),
        kind="unopenable",
        detail=f"it cannot be looked at ({error.strerror})",
        remedy="check the path and its permissions",
    )
