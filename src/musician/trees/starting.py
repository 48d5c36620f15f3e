"""Starts git out of reach of a Ctrl-C.

A Ctrl-C on a terminal goes to every process of its foreground group. It is for this program, which winds down; a git
cut off half-way helps nobody, so each git gets a group of its own. From its fork until it has that group a child can
still be hit: it then ends by SIGINT before git has begun, and a run that was only interrupted would say that git had
failed. Who ends so is begun again: nobody else sends that signal to a group of ours.
"""

import signal
from collections.abc import Callable, Mapping, Sequence

Ran = tuple[int, bytes, bytes]
"""Exit code, standard output, standard error."""

_MOST_STARTS = 5
"""A person who presses the keys again and again hits at most a few starts in a row."""


def begun_anew(play: Callable[[], Ran]) -> Ran:
    """Return what ``play`` does, done again while a SIGINT ends it."""
    for _ in range(_MOST_STARTS - 1):
        done = play()
        if done[0] != -signal.SIGINT:
            return done
    return play()


def played(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
    within_s: float,
) -> Ran:
    """Play a command line to its end; OSError if it cannot be started, TimeoutExpired if it takes longer.

    ``cwd``: our own folder may have been deleted, and git refuses to start in such a place.
    """
    import subprocess  # slow to import, and reading refs from files does without it

    def once() -> Ran:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            timeout=within_s,
            cwd=cwd,
            env=env,
            process_group=0,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return begun_anew(once)
