"""What the terminal can do, as its description says; of one that this machine has no description of, everything.

Over ssh a terminal is often newer than the machine it is used on, and has no description there.
"""

import os
import sys

_NONE = ("", "dumb", "unknown")


def has_screen() -> bool:
    """Whether text can be put anywhere on it."""
    return os.environ.get("TERM", "") not in _NONE and _described("cup")


def has_colours() -> bool:
    """Whether it has any, and they are wanted (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and _described("setaf")


def _described(capability: str) -> bool:
    """Whether the terminal's description has it."""
    try:
        import curses

        curses.setupterm(fd=-1 if sys.__stderr__ is None else sys.__stderr__.fileno())
        return bool(curses.tigetstr(capability))
    except (ImportError, curses.error):
        return True
