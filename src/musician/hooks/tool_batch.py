"""Some tools have run: is the session's heartbeat due, has anybody said anything, how full is its context?

Comes after every batch of tools, so silence is decided first, with one read and the end of the transcript; only what
must be written or said imports the service. A subagent's batches never come here.
"""

from musician.hooks.answers import additional_context
from musician.hooks.measure import is_written, percent_used
from musician.hooks.numbers import numbers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import Held, HookContext
    from musician.hooks.numbers import Numbers

_RECORDED_FROM_PCT = 1.0
"""A reading that differs by less from the recorded one is not written down."""


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if not context.live:
        return None
    numbers = numbers_of(context)
    used_pct = _used_pct(event, numbers)
    if _is_quiet(context, numbers, used_pct):
        return None
    for held in context.live:
        _show_life(event, context, held, numbers)
    said = [*_told(context), *_weighed(event, context, numbers, used_pct)]
    return additional_context(event.name, "\n".join(said)) if said else None


def is_quiet(event: "HookEvent", context: "HookContext") -> bool:
    """Whether :func:`answer` would neither say nor write anything."""
    if not context.live:
        return True
    numbers = numbers_of(context)
    return _is_quiet(context, numbers, _used_pct(event, numbers))


def _used_pct(event: "HookEvent", numbers: "Numbers") -> "float | None":
    is_written(event.transcript_path, event.last_call_id)
    return percent_used(event.transcript_path, set_window_tokens=numbers.window_tokens)


def _is_quiet(context: "HookContext", numbers: "Numbers", used_pct: "float | None") -> bool:
    if any(_is_due(held, numbers) for held in context.live):
        return False
    return not any(
        held.undelivered
        or held.warned_pct is None
        or (used_pct is not None and _reached(used_pct, numbers) != held.warned_pct)
        or _is_news(held, numbers, used_pct)
        for held in context.played
    )


def _is_due(held: "Held", numbers: "Numbers") -> bool:
    """Whether the heartbeat is to be refreshed; one that cannot be read is."""
    limit_s = numbers.beat_every_s if held.conducts else numbers.refresh_after_s
    return held.heartbeat_age_s is None or not -1 <= held.heartbeat_age_s <= limit_s


def _is_news(held: "Held", numbers: "Numbers", used_pct: "float | None") -> bool:
    if used_pct is None:
        return False
    if held.context_pct is None or abs(used_pct - held.context_pct) >= _RECORDED_FROM_PCT:
        return True
    return _reached(used_pct, numbers) != _reached(held.context_pct, numbers)


def _reached(used_pct: float, numbers: "Numbers") -> float:
    """The highest threshold that is reached, 0 for none; each includes its own value."""
    return max((each for each in numbers.thresholds_pct if used_pct >= each), default=0.0)


def _show_life(event: "HookEvent", context: "HookContext", held: "Held", numbers: "Numbers") -> None:
    from musician import service
    from musician.hooks.client import met
    from musician.service import Conducting

    session_id = event.session_id or ""
    if held.conducts:
        if _is_due(held, numbers):
            service.beat_conductor(context.store, Conducting(session_id=session_id, epoch=held.epoch))
        return
    if held.warned_pct is None:  # not claimed by a hook, so its client is not recorded yet
        here = met(transcript_path=event.transcript_path, source=None)
        service.meet_client(context.store, session_id, here)
    if _is_due(held, numbers):
        service.beat(context.store, held.claim)


def _told(context: "HookContext") -> "list[str]":
    from musician import service
    from musician.hooks.reminder import pointers

    claims = [held.claim for held in context.played if held.undelivered]
    said = (pointers(context, claim, service.undelivered(context.store, claim)) for claim in claims)
    return [text for text in said if text]


def _weighed(
    event: "HookEvent", context: "HookContext", numbers: "Numbers", used_pct: "float | None"
) -> "list[str]":
    """Write the reading down; what a threshold asks for is said once, when it is reached.

    That a context is spent the conductor hears at once, whatever its session does about it (D42).
    """
    from musician import service
    from musician.hooks.status_file import note_down

    if used_pct is None or not context.played:
        return []
    session_id = event.session_id or ""
    for held in context.played:
        if _is_news(held, numbers, used_pct):
            service.measure_context(context.store, held.claim, used_pct)
    reached, warned = _reached(used_pct, numbers), context.played[0].warned_pct or 0.0
    if reached == warned:
        return []
    service.warn_client(context.store, session_id, reached)
    if warned < reached == numbers.thresholds_pct[-1]:
        told = f"its context is spent: {used_pct:.0f} % are used"
        note_down(context, service.tell_conductor(context.store, session_id, told))
    return _asked(context, used_pct) if reached > warned else []


def _asked(context: "HookContext", used_pct: float) -> "list[str]":
    """Return what the engine requires of the session now, with the tools for it; nothing if it waits already."""
    from musician.protocol.rules.budget import Stance, evaluate
    from musician.runtime.manual.manual_session import ManualSession

    manual = ManualSession.of(context, context.played[0].claim, context_pct=used_pct)
    advice = manual.advice()
    if not advice:
        return []
    tool = "`error` without text is that warning"
    if evaluate(used_pct, None, context.settings) is Stance.EXIT:
        tool = "`handoff` does both"
    elif manual.state().agreement.holds:
        tool = "`handoff` ends it there"
    return [f"Context: {used_pct:.0f} % used: {advice}. {tool}."]
