"""What one works on: the repository around a folder, its settings, its database; each looked for when it is asked for.

Commands, hooks and tools all stand on this. Light: a hook may have nothing to do.
"""

import os

from musician.trees import sharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.protocol.settings import Settings
    from musician.store.port import Store
    from musician.trees.root import Root


class Project:
    """``folder`` is where one stands; ``named`` the database that somebody named, None for the repository's own.

    ``patience_s`` is how long the database is waited for, None for what the settings say.
    """

    patience_s: "float | None" = None

    def __init__(self, folder: str, named: "str | None" = None) -> None:
        self.folder, self.named = folder, named
        self._root: Root | None = None
        self._store: Store | None = None

    @property
    def root(self) -> "Root":
        """:class:`NoRepository` outside of one."""
        if self._root is None:
            from pathlib import Path

            from musician.trees.root import find_root

            self._root = find_root(Path(self.folder))
            sharing.follow(str(self._root.musician_dir))
        return self._root

    @property
    def settings(self) -> "Settings":
        """The repository's, as the file says now; the defaults where a named database is used outside of any."""
        from musician.config import load_settings
        from musician.protocol.errors import NoRepository
        from musician.protocol.settings import Settings

        try:
            return load_settings(self.root.config)
        except NoRepository:
            if self.named is None:
                raise
            return Settings()

    @property
    def database(self) -> str:
        """Where the database is or would be."""
        if self.named is None:
            return str(self.root.database)
        from musician.store.opening import database_path

        return str(database_path(self.named))

    @property
    def is_set_up(self) -> bool:
        """Whether there is a database; without one nobody here is a musician."""
        from musician.protocol.errors import MusicianError

        try:
            return os.path.isfile(self.database)
        except (MusicianError, OSError):
            return False

    @property
    def store(self) -> "Store":
        """The open database; a wrong path is an error and never a new file (D25)."""
        if self._store is None:
            from pathlib import Path

            from musician.store.opening import open_store

            patience_s = self.settings.time.busy_timeout_s if self.patience_s is None else self.patience_s
            self._store = open_store(
                Path(self.database), named=self.named is not None, busy_timeout_s=patience_s, told=self.told
            )
        return self._store

    def told(self, pid: "int | None") -> None:
        """Hears of a wait for the database that grows long, with the process in the way if that is known."""

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
