"""The definition of a guard for any database: what it watches, when it acts, and what it does then.

``on`` and ``when``, and what a guard writes, are standard SQL about the rows ``OLD`` and ``NEW``. Databases have no
standard words for a few things. For these, each gives functions of its own, or its renderer writes out what they mean:

- ``is_given(id)``: whether the writer named the id, and the database did not;
- ``last_id('table')``: the greatest id the table has given;
- ``is_integer(value)``, ``is_no_text(value)``: what can stand in a column whatever its type says;
- ``names_nobody(session)``: whether it is missing, blank, or a word that means nothing;
- ``has_aged(time, 'setting')``: whether a time is as old as the setting says, in seconds; false where either cannot
  be read;
- ``GREATEST(a, b)``.
"""

from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The statement fails with these words."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """The change of this row is dropped without an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The change stands, and these statements are run."""

    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """``on`` is the event in SQL's words: ``BEFORE UPDATE OF state ON orchestration_tasks``."""

    name: str
    on: str
    when: str
    then: Refuse | Ignore | Write


def refuse(name: str, on: str, when: str, reason: str) -> Guard:
    return Guard(name=name, on=on, when=when, then=Refuse(reason=reason))


def ignore(name: str, on: str, when: str) -> Guard:
    return Guard(name=name, on=on, when=when, then=Ignore())


def write(name: str, on: str, when: str, *statements: str) -> Guard:
    return Guard(name=name, on=on, when=when, then=Write(statements=statements))
