"""The context budget of a session that is played by hand: weighed by the program at every reading it is given (D15).

A driven session weighs its context at each boundary; one by hand says what it has used with any verb, is told what
that asks of it, and warns the conductor by the same rules and in the same words.
"""

from musician.protocol.errors import BadField
from musician.protocol.musician import ready as r
from musician.protocol.musician.boundary import stance_of, warn, warn_if_tight
from musician.protocol.musician.turn import Turn
from musician.protocol.musician.writing import context_advice
from musician.protocol.rules.budget import WARNING_STANCES, Stance
from musician.protocol.states import State
from musician.runtime.byhand.hand import Hand


def advise(hand: Hand, context_pct: float | None) -> str:
    """What a reading asks of the session now; "" if nothing, or if there is none."""
    if context_pct is None:
        return ""
    state = hand.state(context_pct)
    stance = stance_of(state)
    if hand.view.row.state is State.ERROR and stance is not Stance.EXIT:
        return ""  # it has reported, and waits
    if state.granted and stance in WARNING_STANCES:
        return "go no further than the conductor has answered"
    return context_advice(stance)


def warn_by_hand(hand: Hand, context_pct: float | None) -> int:
    """Report a context warning with the program's estimate and recommendation, and wait; the message's id.

    :class:`BadField` without a reading: a warning says how much is used (D12).
    """
    state = hand.state(context_pct)
    if state.used_pct is None:
        raise BadField(
            field="context", value="", reason="a context warning says how much is used: --context PCT"
        )
    stance = stance_of(state)
    turn = Turn(state)
    warn(turn, stance if stance in WARNING_STANCES else Stance.ASK)
    return _store(hand, turn)


def warn_if_too_dear(hand: Hand, context_pct: float | None) -> int | None:
    """Warn, if the way ahead is too dear and nobody has answered that yet; the message's id, None if it is not."""
    turn = Turn(hand.state(context_pct))
    return _store(hand, turn) if warn_if_tight(turn) else None


def _store(hand: Hand, turn: Turn) -> int:
    for record in turn.records:
        if isinstance(record, r.Report):
            return hand.store_record(record) or 0
    return 0
