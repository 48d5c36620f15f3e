"""The functions that somebody else's SQL may call: none whose time grows faster than the length of what it is given.

A function is one step of SQLite's machine, and nothing stops it: ``instr`` of two long texts takes minutes.
"""

from collections.abc import Callable, Mapping

import apsw

from musician.store.query import Value

MOST_ASKED_BYTES = 4 * 1024 * 1024
"""Of one value in a question."""

# fmt: off
QUICK = frozenset({
    "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "ceil", "ceiling",
    "changes", "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist",
    "current_date", "current_time", "current_timestamp", "date", "datetime", "degrees", "dense_rank", "exp",
    "first_value", "floor", "format", "glob", "group_concat", "hex", "if", "ifnull", "iif", "json",
    "json_array", "json_array_length", "json_each", "json_error_position", "json_extract",
    "json_group_array", "json_group_object", "json_object", "json_quote", "json_tree", "json_type",
    "json_valid", "jsonb", "julianday", "lag", "last_insert_rowid", "last_value", "lead", "length", "like",
    "likelihood", "likely", "ln", "log", "log10", "log2", "lower", "max", "median", "min", "mod",
    "nth_value", "ntile", "nullif", "octet_length", "percent_rank", "pi", "pow", "power", "printf", "quote",
    "radians", "random", "rank", "round", "row_number", "sign", "sin", "sinh", "sqlite_version", "sqrt",
    "strftime", "string_agg", "substr", "substring", "subtype", "sum", "tan", "tanh", "time", "timediff",
    "total", "total_changes", "trunc", "typeof", "unhex", "unicode", "unixepoch", "unlikely", "upper",
    "zeroblob",
})
# fmt: on
"""SQLite's own that are quick."""


def _instr(text: Value, part: Value) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _as_text(text).find(_as_text(part)) + 1


def _replace(text: Value, old: Value, new: Value) -> str | None:
    if text is None or old is None or new is None:
        return None
    whole, gone, put = _as_text(text), _as_text(old), _as_text(new)
    if not gone:
        return whole
    if len(whole) + whole.count(gone) * (len(put) - len(gone)) > MOST_ASKED_BYTES:
        raise apsw.TooBigError("string or blob too big")
    return whole.replace(gone, put)


def _trim(text: Value, characters: Value = " ") -> str | None:
    return _rtrim(_ltrim(text, characters), characters)


def _ltrim(text: Value, characters: Value = " ") -> str | None:
    if text is None or characters is None:
        return None
    whole, gone = _as_text(text), frozenset(_as_text(characters))
    return whole[next((at for at, each in enumerate(whole) if each not in gone), len(whole)) :]


def _rtrim(text: Value, characters: Value = " ") -> str | None:
    turned = _ltrim(None if text is None else _as_text(text)[::-1], characters)
    return None if turned is None else turned[::-1]


def _as_text(value: Value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


OURS: Mapping[str, tuple[Callable[..., Value], tuple[int, ...]]] = {
    "instr": (_instr, (2,)),
    "replace": (_replace, (3,)),
    "trim": (_trim, (1, 2)),
    "ltrim": (_ltrim, (1, 2)),
    "rtrim": (_rtrim, (1, 2)),
}
"""SQLite's own take the square of the length at worst."""
