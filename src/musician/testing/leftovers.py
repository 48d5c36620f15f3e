"""Ends everything a client started, even what outlived it, by a mark in the environment, which children
inherit.

A client that is killed leaves its tools' processes behind, in sessions of their own and with another parent; no tree
leads to them any more.
"""

import uuid
from contextlib import suppress

import psutil

from musician.testing.waiting import until

MARK = "TESTING_KIT_MARK"


def new_mark() -> str:
    """Return a unique mark."""
    return uuid.uuid4().hex


def marked(mark: str) -> list[psutil.Process]:
    """Return the living processes that carry a mark."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_marked(mark: str) -> None:
    """Send SIGKILL to all of them until there are none: one may start another during the search."""

    def none_left() -> bool:
        living = marked(mark)
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        return not living

    until(none_left, told=lambda: f"still there: {marked(mark)}")
