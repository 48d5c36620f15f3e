"""Renders an answer of the database as text, one line for each row. An answer that is cut says so (B16).

A line has the row's values separated by ``|``. Inside a value, ``\\``, ``|`` and line ends are escaped with ``\\``, so
that the value can be read back exactly. NULL is shown as ``NULL`` and bytes as ``x'…'``.
"""

from musician.store.port import Answer
from musician.store.query import Value

MOST_ROWS = 100
MOST_BYTES = 8 * 1024
"""The size of the rows' text in UTF-8, line ends included."""

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r", "\0": "\\0"})


def as_text(answer: Answer, *, most_bytes: int = MOST_BYTES) -> str:
    """Return the column names and the rows. A long answer is cut after a row, or within the first row."""
    if not answer.rows:
        return "no rows"
    lines = ["|".join(map(_escaped, answer.columns))]
    room = most_bytes + 1  # the last line has no line end
    for row in answer.rows:
        line = "|".join(map(_value, row))
        size = len(line.encode()) + 1
        if size > room:
            if len(lines) == 1:
                lines.append(cut(line, most_bytes))
            return _truncated(lines)
        lines.append(line)
        room -= size
    return _truncated(lines) if answer.more else "\n".join(lines)


def cut(text: str, most_bytes: int) -> str:
    """Return the beginning of ``text`` that fits into ``most_bytes``, without splitting a character."""
    return text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")


def _truncated(lines: list[str]) -> str:
    shown = len(lines) - 1
    hint = f"{shown} row{'s' if shown != 1 else ''} shown; name fewer columns, add WHERE, LIMIT and OFFSET, or substr()"
    return "\n".join([*lines, f"truncated: true; {hint}"])


def _value(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return _escaped(value) if isinstance(value, str) else str(value)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
