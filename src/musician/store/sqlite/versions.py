"""Which schema a database has, and whether this program can use it (D40). What makes one out of another: ``migrating``.

Theory. Two numbers. The schema's own version is a row, ``schema.version``. ``user_version``, in the file's header, is
the *least* version whose programs can still use it: programs of version 1 know no other number and refuse any that
is not theirs, so it stays 1 as long as a migration only adds. They then go on reading and writing, under the newer
guards. From version 2 on an older program only reads what a newer one has made: an absent column is no harm to a
reader, and a writer would leave out what the newer rules need.

Schema and guards have a fingerprint, kept as a row: a program that brings others makes its own, whatever the version
says; so whoever follows the program between two releases needs no command. It is compared at every opening, so it is
a constant here and never worked out then. Whether the objects are still what was made is for ``doctor`` to find.
"""

from pathlib import Path
from typing import cast

import apsw

from musician.protocol.errors import DatabaseUnusable
from musician.protocol.values import dataclass

APPLICATION_ID = 0x4D757369
"""Written into the file's header ("Musi"), so that a foreign database is recognised."""

SCHEMA_VERSION = 2
"""One more whenever a release adds to ``schema.sql``."""

LEAST_VERSION = 1
"""The oldest version whose programs can use what this one writes."""

GUARDS = "40e17f6ca542ddb3"
"""The fingerprint of this program's schema and guards; the test that holds it to them says what it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The version and guards that a database records of itself."""

    version: int
    guards: str

    @property
    def is_current(self) -> bool:
        return self.version == SCHEMA_VERSION and self.guards == GUARDS

    @property
    def is_newer(self) -> bool:
        """Whether a newer program has made it: it can be read, and not written."""
        return self.version > SCHEMA_VERSION


def check_ours(connection: apsw.Connection, path: Path) -> Standing:
    """:class:`DatabaseUnusable` where it is not Musician's, or not for programs as old as this one."""
    if connection.pragma("application_id") != APPLICATION_ID:
        raise DatabaseUnusable(
            path=str(path),
            kind="foreign",
            detail="this database is not Musician's",
            remedy="name another with --db",
        )
    least = cast("int", connection.pragma("user_version"))
    if least > SCHEMA_VERSION:
        raise DatabaseUnusable(
            path=str(path),
            kind="version",
            detail=f"its schema is version {least}, this program knows {SCHEMA_VERSION}",
            remedy="use the version of Musician that made it",
        )
    return standing_of(connection)


def standing_of(connection: apsw.Connection) -> Standing:
    """Of a database that is ours."""
    try:
        rows = connection.execute(
            "SELECT name, value FROM settings WHERE name >= 'schema.' AND name < 'schema/'"
        )
        found = {str(name): value for name, value in rows}
    except apsw.SQLError:
        if connection.table_exists(None, "settings"):
            raise
        return Standing(version=1, guards="")  # the only version without the table
    return Standing(version=cast("int", found["schema.version"]), guards=str(found["schema.guards"]))
