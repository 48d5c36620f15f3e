"""Says which orders a person may give about one task: the same on every surface that offers them.

What is refused is still the verb's to say; here stands only what is worth offering.
"""

from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """``say`` covers what is said to the session, a hand-off and a stop."""

    say: bool
    retry: bool
    skip: bool


def offers_to(standing: Standing, *, is_asked: bool) -> Offers:
    """What is complete stays so; only a merge that failed, of which a person ``is_asked``, is tried again."""
    is_complete = standing.state is State.COMPLETE
    is_open = not standing.is_withdrawn and not is_complete
    return Offers(
        say=not standing.is_over,
        retry=is_open or (is_complete and is_asked),
        skip=is_open and standing.view.row.skipped is None,
    )
