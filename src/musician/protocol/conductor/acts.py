"""The acts of a conductor. Each can be repeated safely after a crash."""

from musician.protocol.states import State
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Start a musician on an open task."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Answer a submission or report. ``rules`` are the journal ids of the deviations that the verdict rules on."""

    task_id: str
    message_id: int
    verdict: State
    text: str
    rules: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Equip:
    """Make the working tree of a claim that was made by raw SQL, and tell its session where it is (D6, D24)."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Tell a task's session to pause at its next boundary (PLAN-21)."""

    task_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """Tell a paused session to go on, because the checkpoint it paused for has been judged."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestExit:
    task_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyFully:
    """Run the full verification of what was submitted, before it is judged (D18)."""

    task_id: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskReviewer:
    """Have the reviewing agent judge what was submitted (D18.6)."""

    task_id: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAnswerer:
    """Have the answering agent say what it would answer to a question or an error report, before a person is asked."""

    task_id: str
    message_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer a question that is still open."""

    task_id: str
    message_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TryMerge:
    """Merge on trial into the plan's branch and verify there, before the completion is approved (D24)."""

    task_id: str
    message_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Merge a complete task whose branch is not in the plan's yet, because a person approved it."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskHuman:
    """Record a question for a person. One that was settled for the same subject is opened again (D18)."""

    task_id: str
    kind: str
    subject_id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopen:
    """Open an exited task for its next session (D1)."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    """Take a task over from an owner that is gone, by the four steps of D23."""

    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """End the run: every task is complete and merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """End the run: nothing can go on without a person."""


Act = (
    Launch
    | Judge
    | Equip
    | Pause
    | GoOn
    | RequestExit
    | VerifyFully
    | AskReviewer
    | AskAnswerer
    | Answer
    | TryMerge
    | Merge
    | AskHuman
    | Reopen
    | TakeOver
    | Finish
    | Standstill
)
