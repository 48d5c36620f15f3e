"""What is left to the night: of many cases of one kind CI plays some, and ``make test-deep`` all (docs/TESTING.md)."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")


def at_night(
    cases: Iterable[Case],
    *,
    but: Iterable[str],
    name: Callable[[Case], str] = str,
    marks: Callable[[Case], Iterable[pytest.MarkDecorator]] = lambda _: (),
) -> list[Any]:
    """As parameters: all are nightly but those of these names, of which there must be some, and all must be there."""
    cases, kept = list(cases), set(but)
    if not kept or (unknown := kept - {name(each) for each in cases}):
        raise ValueError(f"name what is played by day; not there: {sorted(unknown) if kept else 'anything'}")
    return [
        pytest.param(
            each, id=name(each), marks=[*marks(each), *(() if name(each) in kept else [pytest.mark.nightly])]
        )
        for each in cases
    ]
