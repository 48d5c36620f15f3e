"""The port of all agents: an agent opens a session, and the session plays piece after piece (DESIGN 6).

The port knows nothing of tasks' states. A *piece* is one bounded thing to do in one working tree: a step, a
subagent's piece, or the rework a failed checkpoint or a review asks for. What a session tells while it plays is a
stream of events, ending with how the piece ended; those that concern the musician's engine *are* its inputs.

Every implementation keeps these rules (``tests/agents/test_contract.py`` checks each):

- One piece plays at a time. Its events reach ``tell`` one after the other, all of them before ``play`` returns.
- Interrupting ends the piece, not the session: ``play`` returns STOPPED, or how the piece ended if it was over.
  STOPPED is returned for nothing else, and an interrupt that comes between two pieces does nothing.
- What is used is told while a piece plays, as far as the agent knows it, and before each call of ``may``: it may be
  killed at any moment.
- A provider's failure is an outcome, never an error: LIMITED and REFUSED are no failures of the work.
- After LOST, and after a call of ``play`` that was cancelled or raised, the session is over; another may be opened.
- Leaving the session ends the agent and everything it started. Nothing is executed before ``on_process`` is done.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from musician.processes.identity import ProcessIdentity
from musician.processes.sandbox import Own
from musician.protocol.musician.inputs import (
    AnswerTold,
    ContextTold,
    DeviationTold,
    PartialTold,
    PieceEnded,
    PieceEnding,
    QuestionTold,
    SelfCorrectionTold,
)
from musician.protocol.spending import Usage
from musician.protocol.values import dataclass


class PieceKind(StrEnum):
    STEP = "step"
    AGENT = "agent"
    REWORK = "rework"
    REVIEW = "review"
    """Judge what somebody else has submitted; the tree is a scratch one (D18.6)."""
    ANSWER = "answer"
    """Answer what somebody else asks or reports; the tree is a scratch one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One bounded thing to do.

    ``scripts`` are what the plan gives the shell agent (each run by ``bash -eu``, in order); ``prose`` is
    what a model reads; ``feedback`` is why a rework is asked for, "" otherwise. A piece that exceeds its time
    is LOST. ``briefing`` begins a new conversation; "" in the middle of one. ``files`` and ``tests`` are a
    subagent's scope, and the commands that will judge it.
    """

    kind: PieceKind
    task_id: str
    item: str
    title: str
    prose: str
    scripts: tuple[str, ...]
    feedback: str = ""
    briefing: str = ""
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    time_limit_s: float


def out_of_time(piece: Piece) -> PieceEnded:
    what = f"ran out of time ({piece.time_limit_s:g} s for the piece)"
    return PieceEnded(item=piece.item, ending=PieceEnding.LOST, detail=what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Text that the agent printed or said, as it came; kept in the transcript."""

    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUsed:
    """A tool was used. ``what`` for, in one line; ``call`` is the id its answer refers to, "" if it gets no
    answer.
    """

    name: str
    what: str
    given: Mapping[str, object] = field(default_factory=dict)
    call: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswered:
    call: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Complained:
    """Something that the agent told is wrong; only for readers of the transcript."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalMade:
    """Something worth keeping (sources "Proposal System"). ``path`` is a file of the tree with its text, or None."""

    type: str
    """One of the seven, ``PATTERN`` and the like."""
    title: str
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven:
    """A reviewing agent's verdict; from a playing agent it means nothing. ``judgement``: approve, reject or
    fix.
    """

    judgement: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationRuled:
    """A reviewing agent accepts deviation ``number`` (from 1) of those it was shown."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """What an answering agent answers."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftToPerson:
    """An answering agent leaves the answer to a person; ``text`` says why."""

    text: str


SelfReport = ContextTold | DeviationTold | SelfCorrectionTold | QuestionTold | PartialTold | AnswerTold
"""What an agent reports of itself and its work; passed to the engine unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp:
    """The agent cannot do the piece: a model's way to say what a script says by its exit code."""

    text: str


AgentEvent = (
    SelfReport
    | Output
    | ToolUsed
    | ToolAnswered
    | Usage
    | Complained
    | ProposalMade
    | VerdictGiven
    | DeviationRuled
    | Replied
    | LeftToPerson
    | GaveUp
)
"""Each :class:`Usage` is of what was used since the one before."""

Tell = Callable[[AgentEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call for which an agent asks permission."""

    name: str
    given: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a session plays: the working tree, and additions to the environment.

    ``token`` names the session to resume; if that cannot be resumed, a new one is begun. ``model`` is the agent's own
    name for the one it plays with, "" for what it takes by itself; one that it does not offer is REFUSED.
    ``on_process`` is awaited after a process exists and *before* it executes anything of the agent's (D23: the
    identity is recorded first). ``may`` returns why a tool call is refused, "" if it is allowed (D21).
    """

    tree: Path
    env: Mapping[str, str] = field(default_factory=dict)
    token: str = ""
    model: str = ""
    on_process: Callable[[ProcessIdentity], Awaitable[None]]
    may: Callable[[ToolCall], Awaitable[str]]


class AgentSession(Protocol):
    @property
    def token(self) -> str:
        """The token with which the session can be resumed after its process is gone; "" if it cannot."""
        ...

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded: ...

    async def steer(self, text: str) -> bool:
        """Say something to the playing piece; False if it will not hear it."""
        ...

    async def interrupt(self) -> None:
        """Make the playing piece end soon."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A program for a person to go on with a conversation. ``keeps``: what a sandbox leaves it of its own."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    keeps: Own


@runtime_checkable
class HasTerminal(Protocol):
    """What an agent is besides that a person can speak with by itself."""

    def terminal(self, token: str, env: Mapping[str, str], model: str) -> Terminal | None:
        """Return the program that goes on with the conversation; None if there is none. ``env`` is added to its
        environment.
        """
        ...


class Agent(Protocol):
    """One instance serves one musician."""

    @property
    def tells_price(self) -> bool:
        """Whether what it uses has a known price; nothing, too, is one."""
        ...

    def open(self, stage: Stage) -> AbstractAsyncContextManager[AgentSession]: ...
