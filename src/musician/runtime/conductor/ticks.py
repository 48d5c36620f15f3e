"""The conductor's sense of time: whether ages can be believed now, and how long it has seen something (D10,
D38).

Ages come from the database's clock, which people and time servers set; the machine's own goes on through all
of it, sleep included. If the two diverge, or a tick of the conductor's own came much too late, there was a
*gap*: every heartbeat is as old as the gap is long, and says nothing about its owner. So for one refresh
period after it nobody is called stale, and healthy owners show themselves.
"""

from collections.abc import Callable, Hashable
from dataclasses import field

from musician.protocol.rules.liveness import trusts_ages
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass

GAP_FACTOR = 5.0
"""A tick this many times late means that the machine slept."""


@dataclass(slots=True, kw_only=True)
class Ticks:
    """``own_clock_s`` is the machine's own; the database's comes with each look."""

    settings: Settings
    own_clock_s: Callable[[], float]
    _gap_at_s: float | None = None
    _apart_s: float | None = None
    """By how much the database's clock is ahead of the machine's own."""
    _seen_since_s: dict[Hashable, float] = field(default_factory=dict)

    def now_s(self) -> float:
        return self.own_clock_s()

    def waited(self, since_s: float, *, at_most_s: float) -> None:
        """Note the end of a wait that began at ``since_s`` and should have taken ``at_most_s``."""
        if self.now_s() - since_s > at_most_s * GAP_FACTOR:
            self._gap_at_s = self.now_s()

    def looked(self, database_s: float) -> None:
        """Note the database's time, read after everything whose age is to be judged."""
        apart_s = database_s - self.now_s()
        jumped = self._apart_s is not None and abs(apart_s - self._apart_s) > self._tolerance_s
        if jumped:
            self._gap_at_s = self.now_s()
        self._apart_s = apart_s

    def trusts_ages(self) -> bool:
        """Whether anybody may be called stale by the age of a heartbeat."""
        return trusts_ages(None if self._gap_at_s is None else self.now_s() - self._gap_at_s, self.settings)

    def has_seen_for(self, what: Hashable, period_s: float) -> bool:
        """Whether ``what`` was seen, at each look since the first, for so long."""
        return self.now_s() - self._seen_since_s.setdefault(what, self.now_s()) >= period_s

    def forget(self, what: Hashable) -> None:
        """Note that ``what`` is not seen any more."""
        self._seen_since_s.pop(what, None)

    @property
    def _tolerance_s(self) -> float:
        return max(self.settings.heartbeat.skew_tolerance_s, 1.0)
