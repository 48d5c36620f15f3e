"""The application object of a command: its repository, settings, database and output format."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

import click

from musician import service
from musician.project import Project
from musician.protocol.settings import Settings
from musician.protocol.values import replace

if TYPE_CHECKING:
    from musician.store.port import Store
    from musician.trees.root import Root


class App(Project, AbstractContextManager["App"]):
    """``named`` is the database of ``--db`` or MUSICIAN_DB. ``json`` asks for one JSON document as output.

    ``plan_id`` is the plan that a command looks at, if one was named.
    """

    def __init__(self) -> None:
        super().__init__(os.curdir)
        self.json = False
        self.plan_id: str | None = None
        self._archive: Store | None = None
        self.tell_wait: Callable[[str], object] = lambda text: click.echo(f"musician: {text}", err=True)
        """What tells of a long wait; from any thread."""

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def shown(self) -> "Store":
        """The database that a command which only looks reads: the named plan's archive, if it has one."""
        if self.plan_id is None or service.plan_row(self.store, self.plan_id) is not None:
            return self.store
        if self._archive is None:
            from musician.runtime.archiving import archived_database
            from musician.store.opening import open_store

            self._archive = open_store(archived_database(self.root, self.store, self.plan_id), named=True)
        return self._archive

    @property
    def is_archived(self) -> bool:
        """Whether the plan that is looked at has been put away."""
        return self.shown is not self.store

    @property
    def shown_root(self) -> "Root":
        """The repository, with the logs of the plan that is looked at."""
        return replace(self.root, archived=self.plan_id) if self.is_archived else self.root

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()
        super().close()

    @cached_property
    def settings(self) -> Settings:
        """The settings, read once for each command."""
        return super().settings

    def wait_as_long_as_a_claim(self) -> None:
        """Wait for a locked database as long as a claim stays valid without a heartbeat.

        Playing and conducting should not fail because another program holds the database. While it does, nobody else
        can take over a session either.
        """
        self.patience_s = max(self.settings.time.busy_timeout_s, self.settings.heartbeat.stale_after_s)

    def on_long_wait(self, pid: int | None) -> None:
        holder = "another program" if pid is None else f"pid {pid}"
        self.tell_wait(f"waiting for the database, held by {holder}")
