"""Guards are data that every database can be made to hold; how each says them is its own."""

import re

from musician.store.guards import guards
from musician.store.guards.guard import Write

SQLITE = re.compile(
    r"\b(GLOB|RAISE|typeof|char|datetime|unixepoch|sqlite\w*|max\([^)]*,)|\bIS (?!NULL|NOT|DISTINCT)"
)
"""What only SQLite understands."""


def test_the_conditions_speak_no_dialect() -> None:
    for guard in guards():
        says = [guard.on, guard.when, *(guard.then.statements if isinstance(guard.then, Write) else ())]
        assert not [found for text in says if (found := SQLITE.search(text))], guard.name


def test_every_guard_has_a_name_of_its_own() -> None:
    names = [guard.name for guard in guards()]
    assert len(names) == len(set(names))
