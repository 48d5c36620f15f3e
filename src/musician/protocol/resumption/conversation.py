"""Whether a session goes on with the conversation its predecessor had with the agent.

A new session is a fresh context on purpose: a HANDOFF says all that it needs. The conversation is gone on with only
where nobody chose to end it (its process died, was interrupted, or its provider gave nothing more) and where it is
known to be small yet: from ``economy_from_pct`` on, a fresh context is worth more than what the old one knows (D15).
"""

from musician.protocol.journal import PROVIDER_REFUSES
from musician.protocol.resumption.handoff import FROM_OUTSIDE, WITHOUT_A_WORD
from musician.protocol.settings import Settings

_NOBODYS_CHOICE = (*FROM_OUTSIDE, *WITHOUT_A_WORD, PROVIDER_REFUSES)


def goes_on(
    *,
    agent: str,
    last_agent: str | None,
    exit_reason: str | None,
    context_pct: float | None,
    settings: Settings,
) -> bool:
    """Another agent cannot; of one that never said how much context it has used nobody knows that it is little."""
    is_unchosen = (exit_reason or "").startswith(_NOBODYS_CHOICE)
    is_small = context_pct is not None and context_pct < settings.context.economy_from_pct
    return agent == last_agent and is_unchosen and is_small
