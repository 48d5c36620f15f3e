"""The library's driver, for a terminal that may go away at any moment: a window is closed, a line over ssh is cut.

The library writes to the terminal in a thread of its own. Where nothing can be written any more that thread dies, and
whoever has more to write waits for it for good: the program would be left behind, deaf to the very signal that tells
it. Here what cannot be written is lost, and the program is asked to end.
"""

import os
import signal
from io import TextIOWrapper
from typing import Any, cast

from textual.drivers.linux_driver import LinuxDriver


class Driver(LinuxDriver):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = cast("TextIOWrapper", _Surviving(cast("TextIOWrapper", self._file)))


class _Surviving:
    """A file whose reader may be gone."""

    def __init__(self, file: TextIOWrapper) -> None:
        self._file = file
        self.fileno = file.fileno

    def write(self, text: str) -> None:
        try:
            self._file.write(text)
        except OSError:
            _end()

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            _end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)  # which the program takes as a wish to end, as often as it comes
