"""From what a store answers to a typed value."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from musician.protocol.errors import DatabaseUnusable
from musician.protocol.states import State
from musician.store.port import Row

__all__ = ["as_text", "decode"]

T = TypeVar("T")
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "state": State,
    "from_state": State,
    "to_state": State,
    "verdict": State,
    "covers_all": bool,
    "attended": bool,
    "hosted": bool,
    "is_withdrawn": bool,
}


def decode(kind: type[T], row: Row) -> T:
    """A row as ``kind``. A column it does not know is a newer program's, and no harm to a reader (D40)."""
    known: Mapping[str, Any] = kind.__dataclass_fields__  # type: ignore[attr-defined]
    values = {name: as_text(value) for name, value in row.items() if name in known}
    for name, convert in _CONVERTED.items():
        value = values.get(name)
        if value is not None:
            try:
                values[name] = convert(value)
            except ValueError as error:
                raise DatabaseUnusable(
                    path="the database",
                    kind="corrupt",
                    detail=f"it holds a {name.replace('_', ' ')} that is none: {value!r}",
                    remedy="find what is broken with `musician doctor`",
                ) from error
    return kind(**values)


def as_text(value: Any) -> Any:
    """No column holds bytes on purpose: where some stand, they are somebody's text (D39)."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
