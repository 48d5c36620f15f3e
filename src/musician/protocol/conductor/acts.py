"""The acts of a conductor. Each can be repeated safely after a crash."""

from musician.protocol.states import State
from musician.protocol.values import dataclass


class Act:
    """What is due."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAct(Act):
    """What is due for one task."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch(TaskAct):
    """Start a musician on an open task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(TaskAct):
    """Answer a submission or report. ``rules`` are the journal ids of the deviations that the verdict rules on."""

    message_id: int
    verdict: State
    text: str
    rules: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Equip(TaskAct):
    """Make the working tree of a claim that was made by raw SQL, and tell its session where it is (D6, D24)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(TaskAct):
    """Tell a task's session to pause at its next boundary (PLAN-21)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn(TaskAct):
    """Tell a paused session to go on, because the checkpoint it paused for has been judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestExit(TaskAct):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyFully(TaskAct):
    """Run the full verification of what was submitted, before it is judged (D18)."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskReviewer(TaskAct):
    """Have the reviewing agent judge what was submitted (D18.6)."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAnswerer(TaskAct):
    """Have the answering agent say what it would answer to a question or an error report, before a person is asked."""

    message_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(TaskAct):
    """Answer a question that is still open."""

    message_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TryMerge(TaskAct):
    """Merge on trial into the plan's branch and verify there, before the completion is approved (D24)."""

    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(TaskAct):
    """Merge a complete task whose branch is not in the plan's yet, because a person approved it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskHuman(TaskAct):
    """Record a question for a person. One that was settled for the same subject is opened again (D18)."""

    kind: str
    subject_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopen(TaskAct):
    """Open an exited task for its next session (D1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver(TaskAct):
    """Take a task over from an owner that is gone, by the four steps of D23."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish(Act):
    """End the run: every task is complete and merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill(Act):
    """End the run: nothing can go on without a person."""
