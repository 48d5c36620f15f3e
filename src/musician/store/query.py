"""A query as its callers know it: a constant that has a name, takes parameters and knows the row it answers with.

Constants are attributes of a class for each noun (``queries/``), and called like them. What stands in the database may
be somebody else's: a value that is none of its kind is said in the user's words, and bytes are read as text (D39).
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from musician.protocol.errors import DatabaseUnusable
from musician.protocol.states import State

Value = str | int | float | bytes | None
Row = Mapping[str, Value]
R = TypeVar("R")

_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "state": State,
    "from_state": State,
    "to_state": State,
    "verdict": State,
    "covers_all": bool,
    "attended": bool,
    "hosted": bool,
    "is_withdrawn": bool,
    "is_named": bool,
    "has_moved": bool,
    "is_refused": bool,
    "is_granted": bool,
    "is_proven": bool,
}
"""Columns whose values are more than SQL can say."""


class _Named:
    """``parameters`` are their names, with spaces between."""

    __slots__ = ("name", "parameters")

    name: str

    def __init__(self, parameters: str = "") -> None:
        self.parameters = frozenset(parameters.split())

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Command(_Named):
    """A statement that changes rows."""

    __slots__ = ()


class Query(_Named, Generic[R]):
    """A statement that reads: rows of a NamedTuple, or single values of a plain type."""

    __slots__ = ("_columns", "_converted", "_kind")

    def __init__(self, kind: type[R], parameters: str = "") -> None:
        super().__init__(parameters)
        self._kind = kind
        self._columns: frozenset[str] = frozenset(getattr(kind, "_fields", ()))
        self._converted = tuple(self._columns & _CONVERTED.keys())

    def read(self, row: Row) -> R:
        """Return a row as a typed value. Unknown columns come from a newer program and are ignored (D40)."""
        if not self._columns:
            (value,) = row.values()
            return cast("Callable[[Any], R]", self._kind)(_text(value))
        values: dict[str, Any] = {**row}
        if row.keys() != self._columns or bytes in map(type, row.values()):
            # thousands of rows are read this way
            values = {name: _text(value) for name, value in row.items() if name in self._columns}
        for name in self._converted:
            if (value := values.get(name)) is not None:
                values[name] = _converted(name, value)
        return self._kind(**values)


def _converted(name: str, value: Any) -> Any:
    try:
        return _CONVERTED[name](value)
    except ValueError as error:
        raise DatabaseUnusable(
            path="the database",
            kind="corrupt",
            detail=f"it holds a {name.replace('_', ' ')} that is none: {value!r}",
            remedy="find what is broken with `musician doctor`",
        ) from error


def _text(value: Any) -> Any:
    """No column holds bytes on purpose: where some stand, they are somebody's text (D39)."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
