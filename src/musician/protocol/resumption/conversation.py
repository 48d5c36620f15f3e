"""Decides whether a session continues its predecessor's conversation with the agent.

A new session has a fresh context on purpose, and a HANDOFF says all that it needs. The conversation is continued only
if nobody chose to end it (its process died, was interrupted, or hit a limit or a ceiling) and if its context is known
to be still small: from ``economy_from_pct`` on, a fresh context is worth more than what the old one knows (D15).
"""

from musician.protocol.journal import CEILING_REACHED, PROVIDER_REFUSES
from musician.protocol.resumption.handoff import FROM_OUTSIDE, WITHOUT_A_WORD
from musician.protocol.settings import Settings

_NOBODYS_CHOICE = (*FROM_OUTSIDE, *WITHOUT_A_WORD, PROVIDER_REFUSES, CEILING_REACHED)


def goes_on(
    *,
    agent: str,
    last_agent: str | None,
    exit_reason: str | None,
    context_pct: float | None,
    settings: Settings,
) -> bool:
    """Whether to continue. Another agent cannot, and an unknown context reading does not count as small."""
    is_unchosen = (exit_reason or "").startswith(_NOBODYS_CHOICE)
    is_small = context_pct is not None and context_pct < settings.context.economy_from_pct
    return agent == last_agent and is_unchosen and is_small
