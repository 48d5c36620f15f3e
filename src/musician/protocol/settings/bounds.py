"""What one setting may be: its type, its bounds, its unit; and a section, which checks its values when it is made.

A setting is written down once, as a field ``name: Annotated[type, bounds] = default``; all else is read off that.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from musician.protocol.errors import WrongSettings

_BRIEFEST_S = 0.01
LONGEST_S = 7 * 86_400.0
_MOST_OF_ANYTHING = 1_000
MOST_LINES = 1_000_000
MOST_TOKENS = 1_000_000_000
_MOST_USED_TOKENS = 1_000_000_000_000
_MOST_USED_USD = 1_000_000
_MOST_USED_S = 366 * 86_400.0
_MOST_TEXT_CHARS = 2_000

Value = float | str
"""Of a setting. A whole number is a float here, too, as is yes or no."""


class Bounds(NamedTuple):
    """The bounds of one setting. ``least`` and ``most`` are allowed values; of a text, lengths."""

    unit: str
    least: float
    most: float
    meaning: str


def seconds(meaning: str) -> Bounds:
    return Bounds("s", _BRIEFEST_S, LONGEST_S, meaning)


def percent(meaning: str) -> Bounds:
    return Bounds("%", 0, 100, meaning)


def count(least: int, meaning: str) -> Bounds:
    return Bounds("", least, _MOST_OF_ANYTHING, meaning)


def text(meaning: str) -> Bounds:
    return Bounds("characters", 0, _MOST_TEXT_CHARS, meaning)


def yes_or_no(meaning: str) -> Bounds:
    return Bounds("", False, True, meaning)


def dollars(of: str) -> Bounds:
    return Bounds("USD", 0, _MOST_USED_USD, f"what {of} may cost; 0 is no ceiling")


def tokens(of: str) -> Bounds:
    return Bounds("tokens", 0, _MOST_USED_TOKENS, f"{of} may use, read from a cache or not; 0 is no ceiling")


def turns(of: str) -> Bounds:
    return Bounds("", 0, MOST_LINES, f"answers of models for {of}; 0 is no ceiling")


def playing(of: str) -> Bounds:
    return Bounds("s", 0, _MOST_USED_S, f"{of} may be played, all musicians added up; 0 is no ceiling")


class Section:
    """A section of the file, which names it as the class is named, in small letters."""

    __slots__ = ()

    @classmethod
    @cache
    def specification(cls) -> dict[str, tuple[type, Bounds]]:
        """Key -> (its type, bounds)."""
        hints = get_type_hints(cls, include_extras=True)
        return {key: get_args(hint) for key, hint in hints.items() if get_origin(hint) is Annotated}

    def __post_init__(self) -> None:
        section = type(self).__name__.lower()
        for key, (kind, bounds) in self.specification().items():
            raise_all(wrong(f"{section}.{key}", getattr(self, key), kind, bounds))


def wrong(name: str, value: object, kind: type, bounds: Bounds) -> Iterator[WrongSettings]:
    is_kind = (
        isinstance(value, str) if kind is str else isinstance(value, int if kind is int else int | float)
    )
    if isinstance(value, bool) is not (kind is bool) or not is_kind:
        yield WrongSettings(name=name, reason=f"must be {_WANTED[kind]}, not {kind_of(value)}")
    elif not bounds.least <= _size(value) <= bounds.most:  # NaN fails both comparisons
        span = f"{bounds.least:,.10g} to {bounds.most:,.10g} {bounds.unit}".rstrip()
        yield WrongSettings(name=name, reason=f"must be {span}")


def _size(value: Any) -> float:
    return len(value) if isinstance(value, str) else value


_WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def kind_of(value: object) -> str:
    return {bool: "true or false", str: "a text", float: "a fraction", int: "a number"}.get(
        type(value), f"a {type(value).__name__}"
    )


def raise_all(found: Iterable[WrongSettings]) -> None:
    """One error that says all that is wrong; nothing where nothing is."""
    errors = tuple(found)
    if errors:
        also = (f"setting {each.name}: {each.reason}" for each in errors[1:])
        raise WrongSettings(name=errors[0].name, reason="; ".join((errors[0].reason, *also)))
