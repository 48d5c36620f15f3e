"""What a command works on, and how it answers."""

import os
from functools import cached_property
from types import TracebackType
from typing import Self

import click

from musician.project import Project
from musician.protocol.settings import Settings


class App(Project):
    """``named`` is what ``--db`` or MUSICIAN_DB named; ``json`` asks for a document."""

    def __init__(self) -> None:
        super().__init__(os.curdir)
        self.json = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def settings(self) -> Settings:
        """Once for a command."""
        return super().settings

    def wait_as_long_as_a_claim(self) -> None:
        """Of who plays or conducts: a database that somebody holds is nothing that work fails of.

        For as long nobody else can write that a session is gone either.
        """
        self.patience_s = max(self.settings.time.busy_timeout_s, self.settings.heartbeat.stale_after_s)

    def told(self, pid: int | None) -> None:
        holder = "another program" if pid is None else f"pid {pid}"
        click.echo(f"musician: waiting for the database, held by {holder}", err=True)
