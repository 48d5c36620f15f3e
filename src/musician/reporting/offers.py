"""Says which orders a person may give about one task: the same on every surface that offers them.

What is refused is still the verb's to say; here stands only what is worth offering.
"""

from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """``end`` covers a hand-off and a stop of the task's session."""

    say: bool
    end: bool
    retry: bool
    skip: bool


def offers_to(standing: Standing, *, is_asked: bool) -> Offers:
    """What is complete stays so; only a merge that failed, of which a person ``is_asked``, is tried again.

    Nothing is ended or played again that nobody has begun, and what waits for a verdict is judged first.
    """
    is_complete = standing.state is State.COMPLETE
    is_open = not standing.is_withdrawn and not is_complete
    is_begun = standing.state is not State.WATCHING
    is_judged = standing.state is not State.NEEDS_REVIEW
    return Offers(
        say=not standing.is_over,
        end=not standing.is_over and is_begun,
        retry=(is_open and is_judged and (is_begun or is_asked)) or (is_complete and is_asked),
        skip=is_open and standing.view.row.skipped is None,
    )
