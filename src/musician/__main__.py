"""The command ``musician``. Kept light: what a hook needs must not wait for what only a command needs."""

import os
import sys
from collections.abc import Sequence

from musician.own_python import leave_users_path

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code (DESIGN 8)."""
    if argv is None:
        leave_users_path()
        _speak_utf8()
        argv = sys.argv[1:]
    try:
        if list(argv[:1]) == ["hook"] and not set(argv) & {"-h", "--help"}:
            from musician.hooks.entry import program

            program(argv[1:])
        from musician.cli.main import run

        return run(argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _speak_utf8() -> None:
    """Begin again in UTF-8 mode where the locale has something else.

    Plans, messages and file names are UTF-8 whatever the locale says; in the C locale Python would fail on the
    first of them, in arguments, file names and output alike (B36).
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
