"""What an agent is asked to play, and what it tells while it plays.

The port knows nothing of tasks' states. A *piece* is one bounded thing to do in one working tree: a step, a
subagent's piece, or the rework a failed checkpoint or a review asks for. The agent plays it, reports events as
they happen, and comes back with an outcome. Cancelling the call ends the agent and everything it started.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from musician.processes.identity import ProcessIdentity
from musician.protocol.musician.inputs import (
    AnswerTold,
    ContextTold,
    DeviationTold,
    PartialTold,
    QuestionTold,
    SelfCorrectionTold,
)
from musician.protocol.values import dataclass


class PieceKind(StrEnum):
    STEP = "step"
    AGENT = "agent"
    REWORK = "rework"
    REVIEW = "review"
    """Judge what somebody else has submitted; the tree is a scratch one (D18.6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One bounded thing to do.

    ``scripts`` are what the plan gives the shell agent (each run by ``bash -eu``, in order); ``prose`` is what a
    model reads; ``feedback`` is why a rework is asked for, "" otherwise.
    """

    kind: PieceKind
    task_id: str
    label: str
    title: str
    prose: str
    scripts: tuple[str, ...]
    feedback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalMade:
    """Something worth keeping (sources "Proposal System"). ``path`` is a file of the tree with its text, or None."""

    type: str
    """One of the seven, ``PATTERN`` and the like."""
    title: str
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven:
    """A reviewing agent's; of one that plays it means nothing. ``judgement``: approve, reject or fix."""

    judgement: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationRuled:
    """A reviewing agent accepts deviation ``number``, from 1, of those it was shown."""

    number: int


AgentEvent = (
    ContextTold
    | DeviationTold
    | SelfCorrectionTold
    | QuestionTold
    | PartialTold
    | AnswerTold
    | ProposalMade
    | VerdictGiven
    | DeviationRuled
)
"""What the engine is told stands here as it is told."""


class OutcomeKind(StrEnum):
    DONE = "done"
    FAILED = "failed"
    """It said no: an explanation is in ``detail``."""
    LOST = "lost"
    """It vanished or ran out of time; nothing is known."""
    UNPLAYABLE = "unplayable"
    """The plan gives this agent nothing to play it with: to ask again changes nothing before the plan is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a piece ended. ``detail`` is one line that does not name the piece; ``tail`` is the last lines of output, of
    a subagent what it says that it did.
    """

    kind: OutcomeKind
    detail: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a piece is played: the tree, the log its output is appended to, the environment it adds.

    ``on_process`` is awaited after a process exists and *before* it executes anything of the agent's (D23: the
    identity is recorded first); ``on_event`` for each event, in order.
    """

    tree: Path
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    time_limit_s: float
    on_process: Callable[[ProcessIdentity], Awaitable[None]]
    on_event: Callable[[AgentEvent], Awaitable[None]]


class Agent(Protocol):
    """Plays pieces. One instance serves one session."""

    async def play(self, piece: Piece, stage: Stage) -> Outcome: ...
