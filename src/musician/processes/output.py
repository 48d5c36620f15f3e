"""Handles the output of programs: a log that cannot fill the disk, and quotations on one line.

Output is bytes of a program nobody vouches for. It may be endless, binary, or made to look like something
else on a terminal. The log keeps the bytes as they came, up to a bound, and says where it stopped; a
quotation is one line of printable text.
"""

import re
from contextlib import AbstractContextManager
from pathlib import Path

MAX_LOG_BYTES = 64 * 1024 * 1024
"""What one opening of a log may add to it."""

_ODD = re.compile(r"[^\x20-\x7e\n\t]")
"""What is looked at one by one; nearly all output is none of it, and megabytes of it are passed at once."""

_CUT = b"\n[musician: the rest of this output is not kept]\n"


class OutputLog(AbstractContextManager["OutputLog"]):
    """Appends to ``path``, unbuffered; made with its folder if it is not there. OSError if that cannot be."""

    def __init__(self, path: Path, *, limit: int = MAX_LOG_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._left = limit
        self._at_line_start = True

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        """Append ``data`` as it is, or what still fits of it."""
        if not data or self._left <= 0:
            return
        whole = len(data) <= self._left
        kept = data[: self._left] if whole else data[: self._left] + _CUT
        self._left -= len(data)
        self._at_line_start = kept.endswith(b"\n")
        self._append(kept)

    def remark(self, text: str) -> None:
        """A line of our own; it starts on a line of its own, and is kept whatever the output has used up."""
        start = "" if self._at_line_start else "\n"
        self._at_line_start = True
        self._append(f"{start}{text}\n".encode(errors="replace"))

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:  # a raw write may take only a part
            rest = rest[self._file.write(rest) :]


def printable(text: str) -> str:
    """``text`` with a space for each character that is not printable; line ends and tabs stay."""
    return _ODD.sub(lambda found: found[0] if found[0].isprintable() else " ", text)


def visible(text: str) -> str:
    """``text`` with each character that is not printable shown as its escape, ``\\x1b``; line ends and tabs stay.

    For a reviewer, from whom nothing may be hidden; what only should not act on a terminal is :func:`printable`.
    """
    return _ODD.sub(lambda found: found[0] if found[0].isprintable() else ascii(found[0])[1:-1], text)


def headline(text: str) -> str:
    """The first line of ``text`` that says anything, all printable, with "…" where more follows."""
    lines = [" ".join(line.split()) for line in printable(text).splitlines() if line.strip()]
    return "".join(lines[:1]) + (" …" if len(lines) > 1 else "")


def one_line(text: str, limit: int) -> str:
    """``text`` as one line of at most ``limit`` characters, all printable; "…" where it was cut."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
