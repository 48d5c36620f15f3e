"""From what a store answers to a typed value."""

from collections.abc import Callable
from typing import Any, TypeVar

from musician.protocol.states import State
from musician.store.port import Row

__all__ = ["decode"]

T = TypeVar("T")
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "state": State,
    "from_state": State,
    "to_state": State,
    "verdict": State,
    "covers_all": bool,
    "attended": bool,
    "hosted": bool,
}


def decode(kind: type[T], row: Row) -> T:
    """A row as ``kind``; its columns must be exactly the fields."""
    values: dict[str, Any] = dict(row)
    for name, convert in _CONVERTED.items():
        value = values.get(name)
        if value is not None:
            values[name] = convert(value)
    return kind(**values)
