"""The demo's plan as a model plays it."""

import pytest

from musician.demo.player import EMERGENCY, EMERGENCY_AT, INSTRUMENTS, Player
from musician.testing import Received, Reply

PROMPT = f"""step 3: {EMERGENCY_AT}

The plan suggests:

```bash
true
echo "::context 26%"
```
"""


def asked(*texts: str) -> Received:
    """A model is asked for its next message after what the user, and in turn it, have said."""
    roles = ("user", "assistant") * len(texts)
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return Received(number=1, at_s=0.0, body={"model": "m", "messages": messages}, size_bytes=0)


@pytest.mark.parametrize("agent", sorted(INSTRUMENTS))
def test_an_emergency_leaves_as_much_in_the_window_as_there_was(agent: str) -> None:
    """The long command before it was reported with next to no usage, which was told as an anomaly."""
    instrument, began = INSTRUMENTS[agent], []
    player = Player(instrument, quota_s=0, on_waiting=lambda: began.append(True))
    first = player(asked(PROMPT))
    assert began == [True]
    again = player(asked(PROMPT, "I ask the pigeons.", f"{PROMPT}{EMERGENCY}"))
    assert isinstance(first, Reply)
    assert isinstance(again, Reply)
    assert first.usage.context == again.usage.context == 26 * instrument.percent_tokens
