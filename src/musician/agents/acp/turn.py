"""One turn of the agent: a state, not a call that returns.

Version 1 answers a prompt when the turn is over; drafts of version 2 answer at once and tell by updates
whether the agent works, rests, or waits for us. In both the turn is over when the agent rests and no prompt
is unanswered. A provider's limit may be reported while the agent still retries; any sign of work cancels that
report.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from musician.agents.acp.failures import ProviderFailure, told_beside

_WORK = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"})


class TurnState(StrEnum):
    RUNNING = "running"
    REQUIRES_ACTION = "requires_action"
    IDLE = "idle"


class Turn:
    """The turn of one piece; it begins with the first prompt, and :meth:`prompted` is called for each further
    one.
    """

    def __init__(self) -> None:
        self.state = TurnState.IDLE
        self.stop_reason = ""
        self.failure: ProviderFailure | None = None
        self.refusals: list[str] = []
        """Why leave was refused, since the agent last said something: it has not taken that up yet."""
        self._unanswered = 0

    @property
    def is_over(self) -> bool:
        return self.state is TurnState.IDLE and self._unanswered == 0

    @property
    def tries_again(self) -> bool:
        """Whether its provider does not answer and the agent retries by itself."""
        return self.failure is not None and not self.failure.is_over

    def prompted(self) -> None:
        self.state = TurnState.RUNNING
        self._unanswered += 1

    def answered(self, result: Mapping[str, Any]) -> None:
        """Note that a prompt was answered."""
        self._unanswered -= 1
        failure = told_beside(result.get("_meta"))
        if failure is not None:
            self.failure = failure
        elif self.tries_again and result.get("stopReason") != "cancelled":
            self.failure = None  # its own retry succeeded
        if "stopReason" in result:
            self._rests(result["stopReason"])

    def refused(self, failure: ProviderFailure) -> None:
        """Note that a prompt was answered with an error."""
        self._unanswered -= 1
        self.failure = failure
        self._rests("")

    def updated(self, update: Mapping[str, Any]) -> None:
        match update:
            case {"sessionUpdate": "state_update", "state": "idle"}:
                self._rests(update.get("stopReason", "end_turn"))
            case {"sessionUpdate": "state_update", "state": "requires_action"}:
                self.state = TurnState.REQUIRES_ACTION
            case {"sessionUpdate": "state_update"}:
                self.state = TurnState.RUNNING
            case {"sessionUpdate": str(kind)} if kind in _WORK and self.tries_again:
                self.failure = None
        self.failure = told_beside(update.get("_meta")) or self.failure

    def _rests(self, reason: object) -> None:
        self.state = TurnState.IDLE
        self.stop_reason = str(reason)
