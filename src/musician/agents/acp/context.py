"""How full the agent's window is, as it reports or else by an estimate, which is marked as one in the log
(D15).

A model's own words about its context measure nothing, and are ignored if the program can know better.
"""

from collections.abc import Mapping
from typing import Any

from musician.protocol.musician.inputs import ContextTold

ASSUMED_WINDOW_TOKENS = 200_000
CHARS_A_TOKEN = 4


class ContextGauge:
    def __init__(self) -> None:
        self.is_measured = False
        self._chars = 0

    def add(self, text: str) -> None:
        """Count text that is now in the conversation."""
        self._chars += len(text)

    def measured(self, update: Mapping[str, Any]) -> ContextTold | None:
        """Return the reading that an update reports, if any; every update adds to the estimate."""
        match update:
            case {"sessionUpdate": "usage_update", "used": int(used), "size": int(size)}:
                self.is_measured = True
                # some agents report 0 after a failed request
                used_pct = 100 * used / size if 0 < used <= size else None
                return ContextTold(used_pct=used_pct)
            case {"content": {"text": str(text)}}:
                self.add(text)
            case {"content": [*parts]}:
                self._chars += sum(len(str(part)) for part in parts)
        return None

    @property
    def tokens(self) -> int:
        """An estimate of the tokens in the conversation."""
        return self._chars // CHARS_A_TOKEN

    def estimated(self) -> ContextTold:
        used_pct = 100 * self.tokens / ASSUMED_WINDOW_TOKENS
        return ContextTold(used_pct=min(100.0, used_pct))
