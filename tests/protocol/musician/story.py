"""A musician's session being told things, and the few stages that its stories begin from."""

from typing import TypeVar

from musician.protocol.journal import EntryKind, Progress
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.state import MusicianState
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.said import evidence
from tests.well_typed import check_fields

R = TypeVar("R")


def play(item: str, *, is_agent: bool = False) -> Play:
    return Play(item=item, title=f"do {item}", prose="", scripts=(), step=1, is_agent=is_agent)


def check(number: int, *, of: int = 2) -> CheckpointItem:
    return CheckpointItem(
        item=f"checkpoint {number}",
        number=number,
        of=of,
        title="it works",
        commands=("true",),
        rework=(),
        final=number == of,
    )


PROGRAM = Program(
    task_id="task-01",
    title="Greet",
    items=(play("step 1"), play("step 2 agent 1", is_agent=True), check(1), play("step 3"), check(2)),
)


class Story:
    """A session being told things; ``records`` and ``acts`` are what the last input led to."""

    def __init__(
        self, *, progress: Progress | None = None, program: Program = PROGRAM, **started: object
    ) -> None:
        self.state = MusicianState(program=program, settings=Settings())
        self.records: tuple[r.Record, ...] = ()
        self.acts: tuple[r.Act, ...] = ()
        given = {"errors_so_far": 0, "retry_limit": 5, "report_path": "reports/task-01.md", **started}
        self.tell(i.Started(progress=progress or Progress(), **given))  # type: ignore[arg-type]

    def tell(self, given: i.Input) -> "Story":
        self.state, ready = step(self.state, given)
        self.records, self.acts = ready.records, ready.acts
        check_fields((self.state, *self.records, *self.acts))
        return self

    def done(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.DONE, commit_id="c1"))

    def asked(self, text: str = "which port?") -> "Story":
        """A model ends its turn with a question, and has changed nothing."""
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.DONE, asked=text))

    def failed(self, detail: str = "no such file") -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.FAILED, detail=detail))

    def unplayable(self) -> "Story":
        detail = "there is no block"
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.UNPLAYABLE, detail=detail))

    def lost(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.LOST))

    def limited(self, wait_s: float | None = 90, detail: str = "rate limit") -> "Story":
        ending = i.PieceEnding.LIMITED
        return self.tell(i.PieceEnded(item=self.state.item, ending=ending, detail=detail, wait_s=wait_s))

    def refused(self, detail: str = "no credit") -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.REFUSED, detail=detail))

    def spent(self, detail: str = "it has used $5.00 of $5.00") -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.SPENT, detail=detail))

    def stopped(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.STOPPED))

    def verified(self, outcome: Verification = Verification.GREEN) -> "Story":
        found = i.VerificationEnded(
            outcome=outcome,
            verified=evidence(),
            tests="3 passed",
            failing="test_x fails",
            files_modified=2,
            key_outputs=(),
        )
        return self.tell(found)

    def judged(self, state: State, text: str = "", *, message_id: int = 0) -> "Story":
        verdict = i.VerdictArrived(
            state=state, text=text, progress=self.state.progress, message_id=message_id
        )
        return self.tell(verdict)

    def approved(self, text: str = "", *, message_id: int = 0) -> "Story":
        return self.judged(State.REVIEW_APPROVED, text, message_id=message_id)

    def note(self, text: str = "use v2", *, message_id: int = 11, urgent: bool = False) -> "Story":
        return self.tell(i.MessageArrived(message_id=message_id, text=text, urgent=urgent))

    def context(self, used_pct: float | None) -> "Story":
        return self.tell(i.ContextTold(used_pct=used_pct))

    def question(self, text: str = "which file?") -> "Story":
        return self.tell(i.QuestionTold(text=text))

    def exit_request(self, text: str = "hand off", *, message_id: int = 20) -> "Story":
        return self.tell(i.ExitWasRequested(text=text, message_id=message_id))

    def timeout(self, *, fresh: bool = False) -> "Story":
        return self.tell(i.WaitTimedOut(conductor_is_fresh=fresh))

    def only(self, kind: type[R]) -> R:
        """The one record or act of this kind that the last input led to."""
        (found,) = [each for each in (*self.records, *self.acts) if isinstance(each, kind)]
        return found

    def kinds(self) -> list[EntryKind]:
        """The journal entries that the last input led to."""
        return [entry.kind for record in self.records for entry in getattr(record, "entries", ())]

    def entries(self) -> list[tuple[EntryKind, str, str]]:
        """The same with the item and the text of each."""
        written = [entry for record in self.records for entry in getattr(record, "entries", ())]
        return [(entry.kind, entry.item, entry.text) for entry in written]

    def names(self) -> list[str]:
        """What the last input led to, in order."""
        return [type(each).__name__ for each in (*self.records, *self.acts)]


def at_checkpoint() -> Story:
    return Story().done().done()


def submitted() -> Story:
    return at_checkpoint().verified()


def in_step_3() -> Story:
    return submitted().approved()


def final_submitted() -> Story:
    return in_step_3().done().verified()


def long_program(pieces: int) -> Program:
    steps = tuple(play(f"step {number}") for number in range(1, pieces + 1))
    return Program(task_id="task-01", title="Long", items=(*steps, check(1, of=1)))


def replace_last(program: Program) -> Program:
    """The same with its checkpoint not the final one."""
    steps = program.items[:-1]
    return Program(task_id="task-01", title="Long", items=(*steps, check(1), play("step 9"), check(2)))


def tight() -> Story:
    """54 used, 70 projected: proposed is to go on to the checkpoint."""
    return Story(program=replace_last(long_program(3))).context(54).done()
