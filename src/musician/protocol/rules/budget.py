"""The context budget: what a session must do at a given context usage (D15).

Context usage is a percentage of the agent's window, as the agent reports it. An impossible reading (more tokens than
the window holds, no window, not a number) is *unknown*, and an unknown reading forces nothing. Guessing high would end
healthy sessions, because a window that is assumed too small makes every later reading 100 % (case B28).

Thresholds include their own value: at exactly 65 % the handoff is prepared. A projection from 70 up to and including 80
asks the conductor, one above 80 pauses. The numbers in these docstrings are the defaults of the settings.
"""

from collections.abc import Sequence
from enum import StrEnum

from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import dataclass

LEAST_AGENT_COST_PCT = 0.1
"""The least average cost of an agent, so that the number of agents that fit stays finite."""

_ROUNDING = 1e-9
"""The tolerance for binary fractions: a quotient this close below a whole number counts as that number."""


class Stance(StrEnum):
    """What the context budget requires of a musician, from the least to the most pressing."""

    GO_ON = "go_on"
    GO_ON_SPARINGLY = "go_on_sparingly"
    """Estimate before every read, no speculative reads, weigh the way to the next checkpoint."""
    ASK = "ask"
    """The checkpoint can perhaps be reached: warn, and wait for the conductor's answer."""
    PAUSE = "pause"
    """The checkpoint cannot be reached: warn and wait."""
    PREPARE_HANDOFF = "prepare_handoff"
    """Finish the step, prepare the HANDOFF, warn and wait."""
    EXIT = "exit"
    """Stop and exit, whatever has been granted."""


WARNING_STANCES = frozenset({Stance.ASK, Stance.PAUSE, Stance.PREPARE_HANDOFF})
"""The stances in which a musician reports ``context_exhaustion_warning`` and waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A context reading from 0 to 100, or None for unknown. The two functions below make one from any input."""

    used_pct: float | None

    def __post_init__(self) -> None:
        if self.used_pct is not None and not 0 <= self.used_pct <= 100:
            raise ValueError("context usage is 0 to 100 %, or None")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnswer:
    """The answer to a context warning. An approval is valid up to the next checkpoint."""

    state: State
    text: str


def reading_from_pct(used_pct: float | None) -> Reading:
    """Return the reading of a reported percentage. An impossible one (negative, over 100, NaN) is unknown."""
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
    """Return the stance for a reading and for the usage projected at the next checkpoint.

    The reading outweighs the projection: first EXIT, then PREPARE_HANDOFF, then (only from 50 used on) PAUSE, ASK or
    GO_ON_SPARINGLY. An unknown or impossible reading gives GO_ON. With an unknown projection nothing is asked.
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
    """Return the expected cost of one more subagent, in percent of the window (REF-3).

    This is the session's own average, or ``default_agent_cost_pct`` before there is one; six-fold after a
    self-correction. Impossible costs (negative after a compaction, over 100, NaN) are ignored. The result is at least
    ``LEAST_AGENT_COST_PCT``.
    """
    context = settings.context
    possible = [cost for cost in costs_pct if 0 <= cost <= 100]
    average = sum(possible) / len(possible) if possible else context.default_agent_cost_pct
    return max(average, LEAST_AGENT_COST_PCT) * (context.self_correction_factor if self_corrected else 1)


def agents_that_fit(used_pct: float | None, average_cost_pct: float, settings: Settings) -> int | None:
    """Return floor((65 - used) / average cost), at least 0; None for an unknown reading (REF-3)."""
    used = reading_from_pct(used_pct).used_pct
    if used is None:
        return None
    room_pct = settings.context.handoff_from_pct - used
    return max(0, int(room_pct / max(average_cost_pct, LEAST_AGENT_COST_PCT) + _ROUNDING))


def project(used_pct: float | None, remaining_pieces: int, average_cost_pct: float) -> float | None:
    """Return the usage expected after the remaining pieces; it may exceed 100. None for an unknown reading."""
    if remaining_pieces < 0:
        raise ValueError("pieces that remain are counted from 0")
    used = reading_from_pct(used_pct).used_pct
    return None if used is None else used + remaining_pieces * average_cost_pct


def breaks_estimate(
    used_pct: float | None, remaining_pieces: int, costs_pct: Sequence[float], settings: Settings
) -> bool:
    """Whether a self-correction raises the projection over the threshold at which the conductor is asked (D17)."""
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
    """Return the conductor's answer to a context warning by the rules (D15).

    From 65 used, or over 80 projected: ``exit_requested``. From 70 to 80 projected: ``review_approved`` up to the
    checkpoint, then hand off. The same holds for an unknown projection, because the musician was worried enough to ask.
    Under 70: ``review_approved``, go on as proposed.
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
