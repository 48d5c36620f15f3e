"""The command ``musician``. Kept light: what a hook needs must not wait for what only a command needs."""

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from musician import interruption
from musician.interruption import INTERRUPTED
from musician.own_python import leave_users_path

_GARBAGE_AFTER = 50_000
"""Objects made; what a start makes stays, and to look through it again and again is a twentieth of the time."""


def main() -> NoReturn:
    """Run the command that this process was started for, and end it.

    At once: everything is closed and written by then, and taking an interpreter down tidily takes as long as a quarter
    of a short command.
    """
    interruption.end_at_once()
    gc.set_threshold(_GARBAGE_AFTER)
    leave_users_path()
    _speak_utf8()
    os._exit(run_to_the_end(sys.argv[1:]))


def run_to_the_end(argv: Sequence[str]) -> int:
    """Run one command and leave nothing to be done but to end the process; the exit code."""
    interruption.end_at_once()
    try:
        code = run_command(argv)
        for stream in (sys.stdout, sys.stderr):  # who reads may stand still: this can be interrupted
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        interruption.end_at_once()
    except KeyboardInterrupt:
        interruption.end_at_once()
        code = INTERRUPTED
    atexit._run_exitfuncs()
    return code


def run_command(argv: Sequence[str]) -> int:
    """Run one command; its exit code (DESIGN 8)."""
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
    main()
