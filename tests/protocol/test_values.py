"""A value is what the standard decorator makes of the same class: both are held against each other."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from musician.protocol import values

DECORATORS = [dataclasses.dataclass, values.dataclass]


def made(decorate: Any) -> Any:
    """One of each kind of field, a base and a heir."""

    @decorate(frozen=True, slots=True, kw_only=True)
    class Base:
        first: int
        shared: ClassVar[int] = 7

    @decorate(frozen=True, slots=True, kw_only=True)
    class Heir(Base):
        """It says something."""

        second: str = "two"
        third: Mapping[str, int] = field(default_factory=dict, compare=False)
        derived: int = field(init=False)
        fourth: int = field(default=4, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.first + 1)

        @property
        def both(self) -> str:
            return f"{self.first} {self.second}"

    return Heir


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StandardPoint:
    x: int
    y: int = 0


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int = 0


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    pass


@pytest.mark.parametrize("decorate", DECORATORS)
def test_a_value_is_made_compared_and_shown(decorate: Any) -> None:
    kind = made(decorate)
    one = kind(first=1, third={"a": 1})
    assert (one.first, one.second, one.third, one.derived, one.shared, one.both) == (
        1,
        "two",
        {"a": 1},
        2,
        7,
        "1 two",
    )
    assert kind(first=1).third == {}
    assert kind(first=1).third is not kind(first=1).third
    assert one == kind(first=1, fourth=5)
    assert one != kind(first=2)
    assert one != (1, "two")
    assert {one, kind(first=1)} == {one}
    assert repr(one).endswith(".Heir(first=1, second='two', third={'a': 1}, derived=2, fourth=4)")
    assert (kind.__doc__, kind.__match_args__) == ("It says something.", ())


@pytest.mark.parametrize("decorate", DECORATORS)
@pytest.mark.parametrize("given", [{}, {"first": 1, "fifth": 5}, {"second": "2", "fifth": 5, "third": {}}])
def test_what_is_missing_or_unknown_is_refused(decorate: Any, given: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        made(decorate)(**given)
    with pytest.raises(TypeError):
        made(decorate)(1)


@pytest.mark.parametrize("decorate", DECORATORS)
def test_it_is_frozen_and_has_no_room_for_more(decorate: Any) -> None:
    one = made(decorate)(first=1)
    with pytest.raises(FrozenInstanceError):
        one.first = 2
    with pytest.raises(FrozenInstanceError):
        del one.first
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(one, "more", 1)


@pytest.mark.parametrize("decorate", DECORATORS)
def test_the_standard_functions_take_it(decorate: Any) -> None:
    kind: Any = made(decorate)
    one: Any = kind(first=1)
    assert dataclasses.is_dataclass(kind(first=2))
    assert [each.name for each in dataclasses.fields(one)] == [
        "first",
        "second",
        "third",
        "derived",
        "fourth",
    ]
    assert dataclasses.fields(kind)[2].default_factory is dict
    assert dataclasses.asdict(one) == {"first": 1, "second": "two", "third": {}, "derived": 2, "fourth": 4}
    assert dataclasses.replace(one, second="three").second == "three"


@pytest.mark.parametrize("point", [Point(x=1), StandardPoint(x=1)])
def test_it_is_copied_and_replaced(point: Any) -> None:
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301
    assert values.replace(point, y=2).y == 2
    with pytest.raises(TypeError):
        values.replace(point, z=2)


def test_one_without_fields_is_one_too() -> None:
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert repr(Empty()) == "Empty()"


def test_what_is_no_value_is_a_standard_dataclass() -> None:
    @values.dataclass(slots=True)
    class Count:
        number: int = 0

    count = Count(3)
    count.number += 1
    assert count == Count(4)
    assert "number" in inspect.signature(Count).parameters


def test_a_value_as_a_dictionary() -> None:
    assert values.as_dict(Point(x=1, y=2)) == {"x": 1, "y": 2}
    assert values.as_dict(Empty()) == {}
