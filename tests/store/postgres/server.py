"""A PostgreSQL of the test's own: in a temporary folder, with a socket there and no address, and nobody's otherwise."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from musician.testing.waiting import HANG_S
from tests.needs import need, refuse

_SERVER_OPTIONS = "-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"


@dataclass(frozen=True)
class Postgres:
    folder: Path
    user: str | None
    """It does not run as root: this is who it runs as, None for who runs the test."""

    def say(self, sql: str) -> str:
        """What psql prints of it; stops at the first error, and raises it."""
        options = ["-XqAt", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-U", "tester", "postgres"]
        return self.run([need("psql"), *options], sql)

    def run(self, command: list[str], given: str = "") -> str:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            user=self.user,
            cwd=self.folder,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def running() -> Iterator[Postgres]:
    need("psql")
    programs = _programs()
    with TemporaryDirectory(prefix="musician-postgres-") as place:
        user = None
        if os.geteuid() == 0:
            user = "nobody"
            shutil.chown(place, user)
        server = Postgres(folder=Path(place), user=user)
        data = f"{place}/data"
        options = _SERVER_OPTIONS.format(folder=place)
        server.run(
            [
                f"{programs}/initdb",
                "-D",
                data,
                "-U",
                "tester",
                "-E",
                "UTF8",
                "--locale=C",
                "-A",
                "trust",
                "-N",
            ]
        )
        server.run([f"{programs}/pg_ctl", "-D", data, "-o", options, "-l", f"{place}/log", "-w", "start"])
        try:
            yield server
        finally:
            server.run([f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"])


def _programs() -> Path:
    """Debian keeps the server's programs out of the way, by version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    by_name = shutil.which("initdb")
    if not found and by_name is None:
        refuse("psql")
    return (found[-1] if found else Path(str(by_name))).parent
