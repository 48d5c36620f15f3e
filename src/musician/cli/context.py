"""What a command works on: the repository, its settings, its database; each opened when it is first asked for."""

from pathlib import Path
from types import TracebackType
from typing import Self

import click

from musician.config import load_settings
from musician.protocol.errors import NoRepository
from musician.protocol.settings import Settings
from musician.store.opening import database_path, open_store
from musician.store.port import Store
from musician.trees.root import Root, find_root
from musician.trees.sharing import follow


class App:
    """``db`` is what ``--db`` or MUSICIAN_DB named, None for the repository's own; ``json`` asks for a document."""

    def __init__(self) -> None:
        self.db: str | None = None
        self.json = False
        self._root: Root | None = None
        self._settings: Settings | None = None
        self._store: Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def root(self) -> Root:
        """:class:`NoRepository` outside of one."""
        if self._root is None:
            self._root = find_root(Path.cwd())
            follow(str(self._root.musician_dir))
        return self._root

    @property
    def settings(self) -> Settings:
        """The repository's; the defaults where a named database is used outside of any."""
        if self._settings is None:
            try:
                self._settings = load_settings(self.root.config)
            except NoRepository:
                if self.db is None:
                    raise
                self._settings = Settings()
        return self._settings

    @property
    def database(self) -> Path:
        """Where the database is or would be."""
        return self.root.database if self.db is None else database_path(self.db)

    @property
    def store(self) -> Store:
        """The open database; a wrong path is an error and never a new file (D25)."""
        if self._store is None:
            self._store = open_store(
                self.database,
                named=self.db is not None,
                busy_timeout_s=self.settings.time.busy_timeout_s,
                told=_tell_of_waiting,
            )
        return self._store


def _tell_of_waiting(pid: int | None) -> None:
    holder = "another program" if pid is None else f"pid {pid}"
    click.echo(f"musician: waiting for the database, held by {holder}", err=True)
