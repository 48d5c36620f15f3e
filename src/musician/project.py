"""The repository around a folder, with its settings and its database. Each is looked up on first use.

Commands, hooks and tools share this. It imports little, because most hooks have nothing to do.
"""

import os

from musician.trees import sharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.protocol.settings import Settings
    from musician.store.port import Store
    from musician.trees.root import Root


class Project:
    """The project around ``folder``. ``named`` is a database given by the user, None for the repository's own.

    ``patience_s`` is how long to wait for a locked database, None for the value of the settings.
    """

    patience_s: "float | None" = None

    def __init__(self, folder: str, named: "str | None" = None) -> None:
        self.folder, self.named = folder, named
        self._root: Root | None = None
        self._store: Store | None = None

    @property
    def root(self) -> "Root":
        """The repository's root. Raises :class:`NoRepository` outside of one."""
        if self._root is None:
            from pathlib import Path

            from musician.trees.root import find_root

            self._root = find_root(Path(self.folder))
            sharing.follow(str(self._root.musician_dir))
        return self._root

    @property
    def root_if_any(self) -> "Root | None":
        """The same; None outside of a repository, where a named database can be read all the same."""
        from musician.protocol.errors import NoRepository

        try:
            return self.root
        except NoRepository:
            return None

    @property
    def settings(self) -> "Settings":
        """The repository's settings, read anew; the defaults if a named database is used outside of a repository."""
        from musician.config import load_settings
        from musician.protocol.settings import Settings

        root = self.root if self.named is None else self.root_if_any
        return Settings() if root is None else load_settings(root.config)

    @property
    def database(self) -> str:
        """The database's path, whether or not it exists."""
        if self.named is None:
            return str(self.root.database)
        from musician.store.opening import database_path

        return str(database_path(self.named))

    @property
    def is_set_up(self) -> bool:
        """Whether there is a database. Without one no session here is a musician."""
        from musician.protocol.errors import MusicianError

        try:
            return os.path.isfile(self.database)
        except (MusicianError, OSError):
            return False

    @property
    def store(self) -> "Store":
        """The open database. A wrong path is an error and never creates a file (D25)."""
        if self._store is None:
            from pathlib import Path

            from musician.store.opening import open_store

            patience_s = self.settings.time.busy_timeout_s if self.patience_s is None else self.patience_s
            self._store = open_store(
                Path(self.database),
                named=self.named is not None,
                busy_timeout_s=patience_s,
                on_long_wait=self.on_long_wait,
            )
        return self._store

    def on_long_wait(self, pid: "int | None") -> None:
        """Called when waiting for the database takes long. ``pid`` is the process that holds it, if that is known."""

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
