"""The counter: takes a letter, gives a receipt."""

from dataclasses import dataclass

HOME = "Dovecote Hill"
MOST_GRAMS = 75


@dataclass(frozen=True)
class Receipt:
    """What the sender gets."""

    label: str
    cents: int
    minutes: int
