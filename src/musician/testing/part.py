"""A part for a scripted model: acts in order, with places where it waits.

A waiting session may be woken for nothing, and its model is asked again each time. So a
place to wait is a condition: while it is false, the model says that it waits and its part does not go on.
"""

from collections import deque
from collections.abc import Callable

from musician.protocol.values import dataclass
from musician.testing.received import Received
from musician.testing.script import Step, say

WAITING = "I wait."
NOTHING_LEFT = "There is nothing left to do."


@dataclass(frozen=True, slots=True)
class Await:
    """A condition without which the following acts are not played. It is called by the server's threads."""

    condition: Callable[[], object]


Act = Step | Callable[[Received], Step] | Await


class Part:
    """The script that one model plays. Requests after its end get an answer that ends the turn."""

    def __init__(self, *acts: Act) -> None:
        self._left = deque(acts)

    def __call__(self, received: Received) -> Step:
        while self._left:
            act = self._left[0]
            if isinstance(act, Await):
                if not act.condition():
                    return say(WAITING)
                self._left.popleft()
                continue
            self._left.popleft()
            return act(received) if callable(act) else act
        return say(NOTHING_LEFT)

    @property
    def waits(self) -> Await | None:
        """The condition it waits for now, if any."""
        return self._left[0] if self._left and isinstance(self._left[0], Await) else None

    @property
    def is_over(self) -> bool:
        """Whether every act has been played."""
        return not self._left
