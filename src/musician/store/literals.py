"""The program's own constants as SQL literals, for schema, queries and guards."""

from collections.abc import Iterable

from musician.protocol.states import State


def list_of(values: Iterable[str]) -> str:
    """``'a', 'b'``: constants of this program as SQL literals."""
    return ", ".join(f"'{value}'" for value in values)


def state_list(states: Iterable[State]) -> str:
    """Some states, in the order of the enumeration, as SQL literals."""
    chosen = set(states)
    return list_of(state for state in State if state in chosen)
