"""The application object of a command: its repository, settings, database and output format."""

import os
from contextlib import AbstractContextManager
from functools import cached_property

import click

from musician.project import Project
from musician.protocol.settings import Settings


class App(Project, AbstractContextManager["App"]):
    """``named`` is the database of ``--db`` or MUSICIAN_DB. ``json`` asks for one JSON document as output."""

    def __init__(self) -> None:
        super().__init__(os.curdir)
        self.json = False

    def __exit__(self, *_: object) -> None:
        self.close()

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
        click.echo(f"musician: waiting for the database, held by {holder}", err=True)
