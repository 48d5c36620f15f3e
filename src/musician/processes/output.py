"""Handles the output of programs: a log that cannot fill the disk, and quotations on one line.

Output is bytes of a program nobody vouches for. It may be endless, binary, or made to look like something
else on a terminal. The log keeps the bytes as they came, up to a bound, and says where it stopped; a
quotation is one line of printable text.
"""

import json
import re
from contextlib import AbstractContextManager
from pathlib import Path

MAX_LOG_BYTES = 64 * 1024 * 1024
"""What one opening of a log may add to it."""

_ODD = re.compile(r"[^\x20-\x7e\n\t]")
"""What is looked at one by one; nearly all output is none of it, and megabytes of it are passed at once."""
_BLANK = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
"""What Unicode calls printable and nobody sees. The two selectors that say how an emoji looks are none of it."""
_JOINED = r"[\u0620-\u06d3\u06fa-\u06ff\u0900-\u0dff\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]"
JOINER = re.compile(rf"(?<={_JOINED})[\u200c\u200d](?={_JOINED})")
"""What says how the letters of Persian or Hindi, or the parts of an emoji, stand together: they are spelt with it."""
_DELETE, _LAST_CONTROL = "\x7f", "\x9f"
_PICTURES = 0x2400
"""Where Unicode's pictures of control characters begin, in their order; delete comes after space."""

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
    """``text`` with what does not print made visible, so that it neither acts on who shows it nor hides anything.

    A control character is shown by its picture, ``␛``, anything else (directions, what has no width, bytes that are no
    text) by its number, ``\\u202e``. Line ends and tabs stay, an unusual space is a space, and
    what joins letters stays between those that are spelt with it.
    """
    plain = text.replace("\r\n", "\n")
    return _ODD.sub(_plainly, plain)


def _plainly(found: re.Match[str]) -> str:
    if _is_space(found[0]):
        return " "
    return found[0] if JOINER.match(found.string, found.start()) else _shown(found[0])


def visible(text: str) -> str:
    """:func:`printable` for a reviewer, who is shown unusual spaces and the ends of lines, too."""
    return _ODD.sub(lambda found: _shown(found[0]), text)


def _is_space(char: str) -> bool:
    return char > _LAST_CONTROL and char.isspace()


def _shown(char: str) -> str:
    if char.isprintable() and not _BLANK.match(char):
        return char
    if char < " ":
        return chr(_PICTURES + ord(char))
    return chr(_PICTURES + 0x21) if char == _DELETE else ascii(char)[1:-1]


def json_text(document: object, *, indent: int | None = None) -> str:
    """``document`` as JSON that is complete and acts on no terminal: what does not print is escaped, also where JSON
    need not.
    """
    text = json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False)
    return _ODD.sub(lambda found: _escaped(found[0]), text)


def _escaped(char: str) -> str:
    is_half = "\ud800" <= char <= "\udfff"  # of a character: whoever writes it out says what becomes of it
    if is_half or _is_space(char) or _shown(char) == char:
        return char
    return rf"\u{ord(char):04x}" if char == _DELETE else json.dumps(char)[1:-1]


def as_name(path: str) -> str:
    """A file's name on one line, whole: what does not print is escaped, ``a\\nb``."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in path)


def headline(text: str) -> str:
    """The first line of ``text`` that says anything, all printable, with "…" where more follows."""
    lines = [" ".join(line.split()) for line in printable(text).splitlines() if line.strip()]
    return "".join(lines[:1]) + (" …" if len(lines) > 1 else "")


def one_line(text: str, limit: int) -> str:
    """``text`` as one line of at most ``limit`` characters, all printable; "…" where it was cut."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
