"""From the name of a database to an open store (D25: a wrong name is an error, never a new database).

A name is a path, relative to the current folder, or a URL. This version keeps everything in SQLite files; a URL is
refused by its scheme alone, because the rest of it may hold a password.
"""

import re
from collections.abc import Callable
from pathlib import Path

from musician.protocol.errors import DatabaseUnusable
from musician.store.port import Store
from musician.store.sqlite.store import DEFAULT_BUSY_TIMEOUT_S, SqliteStore

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def database_path(name: str) -> Path:
    """The file that ``name`` means; :class:`DatabaseUnusable` if it means none."""
    url = _URL.match(name)
    if url is not None:
        raise DatabaseUnusable(
            path=f"{url[1]}://…",
            kind="unopenable",
            detail="this version opens SQLite files only",
            remedy="name a file",
        )
    if not name or "\0" in name:
        raise DatabaseUnusable(
            path=repr(name), kind="unopenable", detail="this is no path", remedy="name a file"
        )
    return Path(name).absolute()


def open_store(
    path: Path,
    *,
    named: bool = False,
    busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S,
    told: Callable[[int | None], None] | None = None,
) -> Store:
    """Open an existing database. ``named``: the user named this very path, so the remedy is another name.

    ``told`` hears of a wait that grows long, with the id of the process in the way if that is known.
    """
    return SqliteStore.open(path, named=named, busy_timeout_s=busy_timeout_s, told=told)


def create_store(path: Path, *, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S) -> Store:
    """Make the database if it is not there, and open it. Its folder must exist."""
    return SqliteStore.create(path, busy_timeout_s=busy_timeout_s)
