"""Budgets: how much context is left and what that asks for (D15), and how many errors are (D3).

Context usage is a percentage of the agent's window as the agent reports it. A reading that cannot be
(more tokens than the window holds, no window, not a number) is *unknown*, and an unknown reading forces
nothing: guessing high would end healthy sessions at once, for a window taken too small pegs every later
reading at 100 % (case B28).

Thresholds include their own value: at exactly 65 % the handoff is prepared. Projections ask from 70 up to
and with 80, and pause above 80. The default numbers stand here for reading; the settings hold them.
"""

from collections.abc import Sequence
from enum import StrEnum

from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import dataclass

LEAST_AGENT_COST_PCT = 0.1
"""No average agent cost counts as less, so that the number of agents that fit stays finite."""

_ROUNDING = 1e-9
"""Costs and readings are decimals in binary: a quotient this close below a whole number is that number."""


class Stance(StrEnum):
    """What the context budget asks of a musician, from the least to the most pressing."""

    GO_ON = "go_on"
    GO_ON_SPARINGLY = "go_on_sparingly"
    """Estimate before every read, no speculative reads, weigh the way to the next checkpoint."""
    ASK = "ask"
    """The checkpoint can perhaps be reached: warn, and wait for the conductor's word."""
    PAUSE = "pause"
    """The checkpoint cannot be reached: warn and wait."""
    PREPARE_HANDOFF = "prepare_handoff"
    """Finish the step, prepare the HANDOFF, warn and wait."""
    EXIT = "exit"
    """Stop and exit, whatever has been granted."""


WARNING_STANCES = frozenset({Stance.ASK, Stance.PAUSE, Stance.PREPARE_HANDOFF})
"""Those that report ``context_exhaustion_warning`` and wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A possible reading: 0 to 100, or None for unknown. Made leniently by the two functions below."""

    used_pct: float | None

    def __post_init__(self) -> None:
        if self.used_pct is not None and not 0 <= self.used_pct <= 100:
            raise ValueError("context usage is 0 to 100 %, or None")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnswer:
    """The answer to a warning; whatever was approved ends at the next checkpoint."""

    state: State
    text: str


def reading_from_pct(used_pct: float | None) -> Reading:
    """A reported percentage; one that cannot be (negative, over 100, NaN) is unknown."""
    possible = used_pct is not None and 0 <= used_pct <= 100
    return Reading(used_pct=used_pct if possible else None)


def reading_from_tokens(used: int, window: int | None, *, set_window: int = 0) -> Reading:
    """Tokens used of a window; ``set_window`` (``context.window_tokens``) wins over the reported one if
    not 0.

    More tokens than the window holds, or no window: unknown (B28).
    """
    size = set_window or window
    if size is None or not 0 <= used <= size or size == 0:
        return Reading(used_pct=None)
    return Reading(used_pct=100 * used / size)


def evaluate(used_pct: float | None, projected_pct: float | None, settings: Settings) -> Stance:
    """The stance for a reading and for the usage projected at the next checkpoint.

    What is used outweighs what is projected: EXIT, then PREPARE_HANDOFF, then (from 50 used on only)
    PAUSE, ASK, GO_ON_SPARINGLY. An unknown or impossible reading is GO_ON; an unknown projection neither
    asks nor pauses.
    """
    context = settings.context
    used = reading_from_pct(used_pct).used_pct
    if used is None or used < context.economy_from_pct:
        return Stance.GO_ON
    if used >= context.exit_from_pct:
        return Stance.EXIT
    if used >= context.handoff_from_pct:
        return Stance.PREPARE_HANDOFF
    if projected_pct is None or not projected_pct >= context.ask_from_pct:
        return Stance.GO_ON_SPARINGLY
    return Stance.PAUSE if projected_pct > context.pause_over_pct else Stance.ASK


def average_agent_cost(costs_pct: Sequence[float], *, self_corrected: bool, settings: Settings) -> float:
    """Percent of the window one more subagent is expected to cost (REF-3).

    The session's own average once it has one, ``default_agent_cost_pct`` before; six-fold after a
    self-correction. Costs that cannot be (negative after a compaction, over 100, NaN) are left out. At
    least ``LEAST_AGENT_COST_PCT``.
    """
    context = settings.context
    possible = [cost for cost in costs_pct if 0 <= cost <= 100]
    average = sum(possible) / len(possible) if possible else context.default_agent_cost_pct
    return max(average, LEAST_AGENT_COST_PCT) * (context.self_correction_factor if self_corrected else 1)


def agents_that_fit(used_pct: float | None, average_cost_pct: float, settings: Settings) -> int | None:
    """floor((65 - used) / average cost), never negative; None for an unknown reading (REF-3)."""
    used = reading_from_pct(used_pct).used_pct
    if used is None:
        return None
    room_pct = settings.context.handoff_from_pct - used
    return max(0, int(room_pct / max(average_cost_pct, LEAST_AGENT_COST_PCT) + _ROUNDING))


def project(used_pct: float | None, remaining_pieces: int, average_cost_pct: float) -> float | None:
    """Usage expected after so many more pieces, which may be over 100; None for an unknown reading."""
    if remaining_pieces < 0:
        raise ValueError("pieces that remain are counted from 0")
    used = reading_from_pct(used_pct).used_pct
    return None if used is None else used + remaining_pieces * average_cost_pct


def breaks_estimate(
    used_pct: float | None, remaining_pieces: int, costs_pct: Sequence[float], settings: Settings
) -> bool:
    """Whether a self-correction turns a way to the checkpoint that was clear into one that is not (D17)."""
    before, after = (
        project(
            used_pct,
            remaining_pieces,
            average_agent_cost(costs_pct, self_corrected=corrected, settings=settings),
        )
        for corrected in (False, True)
    )
    if before is None or after is None:
        return False
    return before < settings.context.ask_from_pct <= after


def answer_by_rule(used_pct: float | None, projected_pct: float | None, settings: Settings) -> ContextAnswer:
    """The conductor's answer to a context warning where nobody takes the place of the rules (D15).

    From 65 used, or over 80 projected: ``exit_requested``. 70 to 80 projected: ``review_approved`` up to
    the checkpoint, then hand off; so also when the projection is unknown, since the musician was worried
    enough to ask. Under 70: ``review_approved``, go on as proposed.
    """
    context = settings.context
    used = reading_from_pct(used_pct).used_pct
    if used is not None and used >= context.handoff_from_pct:
        return _hand_off_now(f"{used:g} % used, a handoff is due from {context.handoff_from_pct:g} %")
    if projected_pct is not None and projected_pct > context.pause_over_pct:
        return _hand_off_now(f"{projected_pct:g} % projected, over {context.pause_over_pct:g} %")
    if projected_pct is not None and projected_pct < context.ask_from_pct:
        return ContextAnswer(state=State.REVIEW_APPROVED, text="Go on as proposed.")
    return ContextAnswer(
        state=State.REVIEW_APPROVED,
        text="Proceed to the checkpoint, then stop and report back for a clean handoff.",
    )


def _hand_off_now(why: str) -> ContextAnswer:
    return ContextAnswer(state=State.EXIT_REQUESTED, text=f"Prepare the handoff now: {why}.")
