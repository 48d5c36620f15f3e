"""From the name of a database to an open store (D25: a wrong name is an error, never a new database)."""

import os
from collections.abc import Callable
from pathlib import Path

from musician.protocol.errors import DatabaseUnusable
from musician.store.naming import NoSuchName, file_named
from musician.store.port import Store
from musician.store.sqlite.store import DEFAULT_BUSY_TIMEOUT_S, SqliteStore


def database_path(name: str) -> Path:
    """The file that ``name``, a URL or a path, means; :class:`DatabaseUnusable` if it means none."""
    try:
        return Path(file_named(name, os.getcwd()))
    except NoSuchName as error:
        raise DatabaseUnusable(
            path=error.shown, kind="unopenable", detail=str(error), remedy="name a file, or sqlite:///PATH"
        ) from error


def open_store(
    name: str | Path,
    *,
    named: bool = False,
    busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S,
    on_long_wait: Callable[[int | None], None] | None = None,
) -> Store:
    """Open an existing database. ``named``: the user named it, so the remedy is another name.

    ``on_long_wait`` hears of a wait that grows long, with the id of the process in the way if that is known.
    """
    return SqliteStore.open(
        _path_of(name), named=named, busy_timeout_s=busy_timeout_s, on_long_wait=on_long_wait
    )


def create_store(name: str | Path) -> Store:
    """Make the database if it is not there, and open it. Its folder must exist."""
    return SqliteStore.create(_path_of(name))


def _path_of(name: str | Path) -> Path:
    return name if isinstance(name, Path) else database_path(name)
