"""A conversation is gone on with where nobody chose to end it, and it is small."""

import pytest

from musician.protocol.journal import CEILING_REACHED, PROVIDER_REFUSES
from musician.protocol.resumption.conversation import goes_on
from musician.protocol.resumption.handoff import DIED
from musician.protocol.settings import Settings


@pytest.mark.parametrize(
    ("last_agent", "exit_reason", "context_pct", "expected"),
    [
        ("claude", DIED, 20.0, True),
        ("claude", "interrupted by SIGTERM", 49.9, True),
        ("claude", "the conductor is gone", 20.0, True),
        ("claude", f"{PROVIDER_REFUSES}no credit", 20.0, True),
        ("claude", f"{CEILING_REACHED}it has used $5.00 of $5.00", 20.0, True),
        ("claude", DIED, 50.0, False),
        ("claude", DIED, None, False),
        ("acp:codex", DIED, 20.0, False),
        (None, DIED, 20.0, False),
        ("claude", "conductor requested", 20.0, False),
        ("claude", "context exhaustion", 20.0, False),
        ("claude", None, 20.0, False),
    ],
)
def test_a_conversation_goes_on(
    last_agent: str | None, exit_reason: str | None, context_pct: float | None, *, expected: bool
) -> None:
    went = goes_on(
        agent="claude",
        last_agent=last_agent,
        exit_reason=exit_reason,
        context_pct=context_pct,
        settings=Settings(),
    )
    assert went is expected
