"""Frozen values to plain JSON and back, by their own annotations.

Takes exactly what it gave: a field that is unknown, missing without a default, or of another type is a ValueError.
"""

import json
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from musician.protocol.errors import BadField

T = TypeVar("T")


def to_json(value: Any) -> str:
    """A dataclass of dataclasses, tuples, enumerations and plain values, as JSON with sorted keys."""
    return json.dumps(asdict(value), ensure_ascii=False, sort_keys=True)


def from_json(kind: type[T], text: str) -> T:
    """The inverse of :func:`to_json`; ValueError for anything else, whoever wrote it."""
    try:
        made: T = _made(kind, json.loads(text))
    except (OverflowError, RecursionError, BadField) as error:
        raise ValueError(f"it says no {kind.__name__}: {error!s:.80}") from error
    return made


def _made(kind: Any, plain: Any) -> Any:
    if get_origin(kind) is UnionType:
        return _one_of(get_args(kind), plain)
    if get_origin(kind) is tuple:
        if isinstance(plain, list):
            return tuple(_made(get_args(kind)[0], item) for item in plain)
    elif is_dataclass(kind) and isinstance(kind, type):
        if isinstance(plain, dict):
            return _dataclass(kind, plain)
    elif issubclass(kind, StrEnum):
        return kind(plain)
    elif kind is float and type(plain) in (int, float):
        return float(plain)
    elif type(plain) is kind:
        return plain
    raise ValueError(f"{plain!s:.80} is no {kind}")


def _one_of(kinds: tuple[Any, ...], plain: Any) -> Any:
    """None, or the one other kind."""
    if plain is None and NoneType in kinds:
        return None
    return _made(next(kind for kind in kinds if kind is not NoneType), plain)


def _dataclass(kind: type, plain: dict[str, Any]) -> Any:
    hints = _hints(kind)
    if unknown := plain.keys() - hints.keys():
        raise ValueError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    needed = {
        each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING
    }
    if missing := needed - plain.keys():
        raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(missing))}")
    return kind(**{name: _made(hints[name], value) for name, value in plain.items()})


@cache
def _hints(kind: type) -> dict[str, Any]:
    own = {each.name for each in fields(kind)}
    return {name: hint for name, hint in get_type_hints(kind).items() if name in own}
