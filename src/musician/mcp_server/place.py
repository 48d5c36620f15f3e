"""Where the server was started: the repository, its settings, its database. Light: nothing of the runtime is here."""

import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from musician.config import load_settings
from musician.protocol.errors import MusicianError
from musician.protocol.settings import Settings
from musician.store.opening import database_path, open_store
from musician.store.port import Store
from musician.trees.root import Root, find_root
from musician.trees.sharing import follow


class Place:
    """Opened when it is first needed, and tried again where that failed.

    The client's project outranks ``folder``; ``named`` is a database that somebody named, None for the repository's.
    """

    def __init__(self, environ: Mapping[str, str], folder: Path, *, named: str | None = None) -> None:
        self._folder = Path(environ.get("CLAUDE_PROJECT_DIR") or folder)
        self._named = named
        self._opening = threading.Lock()
        self._store: Store | None = None

    @property
    def is_set_up(self) -> bool:
        """Whether there is a database; without one nobody here is a musician."""
        try:
            return self.database.is_file()
        except (MusicianError, OSError):
            return False

    @cached_property
    def root(self) -> Root:
        """:class:`NoRepository` outside of one."""
        root = find_root(self._folder)
        follow(str(root.musician_dir))
        return root

    @property
    def database(self) -> Path:
        return self.root.database if self._named is None else database_path(self._named)

    @property
    def settings(self) -> Settings:
        return load_settings(self.root.config)

    @property
    def store(self) -> Store:
        """A wrong path is an error and never a new file (D25)."""
        with self._opening:
            if self._store is None:
                named = self._named is not None
                limit_s = self.settings.time.busy_timeout_s
                self._store = open_store(self.database, named=named, busy_timeout_s=limit_s)
            return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
