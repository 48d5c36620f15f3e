"""Whatever a session is told, in whatever order, these hold."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step, takes
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.rules.deviations import Severity
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, State
from musician.protocol.transitions import Actor, Event, find
from tests.said import REPORTS, evidence

MOST_INPUTS = 60


def play(number: int, *, is_agent: bool) -> Play:
    return Play(item=f"step {number}", title="t", prose="", scripts=(), step=number, is_agent=is_agent)


def check(number: int, of: int) -> CheckpointItem:
    return CheckpointItem(
        item=f"checkpoint {number}",
        number=number,
        of=of,
        title="t",
        commands=(),
        rework=(),
        final=number == of,
    )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    sections = draw(st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=3))
    items: list[Play | CheckpointItem] = []
    for number, section in enumerate(sections, start=1):
        for is_agent in section:
            items.append(play(len(items) + 1, is_agent=is_agent))
        items.append(check(number, len(sections)))
    return Program(task_id="task-01", title="t", items=tuple(items))


UNASKED = [each for each in i.PieceEnding if each is not i.PieceEnding.STOPPED]


class World:
    """A store and a driver, as far as the engine can tell: it refuses what the state machine refuses."""

    def __init__(self, program: Program, journal: list[Entry], *, retry_limit: int = 5) -> None:
        self.steered: list[int] = []
        self.engine = MusicianState(program=program, settings=Settings())
        self.state = State.WORKING
        self.journal = journal
        self.records: list[r.Record] = []
        self.is_running = False
        self.is_told_to_stop = False
        self.awaits_verdict = False
        self.ended: r.End | None = None
        self.last_message_id = 0
        self.acknowledged_id = 0
        progress = Progress().after(journal)
        self.tell(i.Started(progress=progress, errors_so_far=0, retry_limit=retry_limit, report_path=""))

    def tell(self, given: i.Input) -> None:
        assert takes(self.engine, given)
        before = self.engine
        self.engine, ready = step(before, given)
        assert (self.engine, ready) == step(before, given), "the same inputs give the same outputs"
        if isinstance(given, i.PieceEnded | i.VerificationEnded):
            self.is_running = self.is_told_to_stop = False
        if isinstance(given, i.VerdictArrived | i.ExitWasRequested | i.ClaimWasLost):
            self.awaits_verdict = False
        if self.ended is not None:
            assert not ready.records
            assert not ready.acts
        for record in ready.records:
            self.store(record)
        for act in ready.acts:
            self.perform(act)

    def store(self, record: r.Record) -> None:
        assert not any(isinstance(each, r.ExitClaim | r.CompleteTask) for each in self.records), (
            "the terminal one is last"
        )
        self.records.append(record)
        match record:
            case r.Submit():
                if self.state in VERDICTS:
                    self.move(Event.RESUME)
                self.move(Event.SUBMIT)
                self.awaits_verdict = True
            case r.ReportProblem(is_reminder=is_reminder):
                assert record.message.type in REPORTS
                if is_reminder:
                    assert self.state is State.ERROR
                else:
                    self.move(Event.REPORT)
                self.awaits_verdict = True
            case r.Resume():
                self.move(Event.RESUME)
            case r.Acknowledge(message_id=message_id):
                assert self.acknowledged_id < message_id <= self.last_message_id
                self.acknowledged_id = message_id
            case r.ExitClaim():
                self.move(Event.EXIT)
                assert record.reason
            case r.CompleteTask():
                self.move(Event.COMPLETE)
            case _:
                assert self.state is not State.NEEDS_REVIEW
        self.journal.extend(getattr(record, "entries", ()))

    def move(self, event: Event) -> None:
        self.state = find(self.state, event, task_id="task-01", actor=Actor.OWNER).target

    def perform(self, act: r.Act) -> None:
        assert self.ended is None, "no act after the end"
        match act:
            case r.PlayPiece() | r.ReworkPiece() | r.Verify():
                assert not self.is_running, "one thing at a time"
                assert not self.awaits_verdict, "nothing is played between a submission and its verdict"
                assert not self.engine.held, "nothing is begun while the plan or the phase is paused"
                self.is_running = True
            case r.StopPiece():
                assert self.is_running
                assert not self.is_told_to_stop
                self.is_told_to_stop = True
            case r.Steer(message_id=message_id):
                assert self.is_running, "who hears it plays"
                self.steered.append(message_id)
            case r.AwaitLimit():
                assert self.engine.mode is Mode.LIMITED
            case r.Release():
                assert not self.is_running
                assert self.engine.mode is Mode.WITH_PERSON
            case r.TakeBack():
                assert self.engine.mode is Mode.WITH_PERSON
                assert self.engine.leave_reason
            case r.End():
                self.ended = act

    # -- what the world can say next ---------------------------------------------------------------------------

    def possible(self) -> list[st.SearchStrategy[i.Input]]:
        text = st.sampled_from(["", "a", "b"])
        always: list[st.SearchStrategy[i.Input]] = [
            st.builds(i.ContextTold, used_pct=st.none() | st.floats(0, 90)),
            st.just(i.StopAsked(reason="SIGTERM")),
            st.just(i.ClaimWasLost()),
            *(st.just(i.Steered(message_id=each)) for each in self.steered),
            st.builds(self.message, text, st.booleans()),
            st.builds(self.exit_request, text),
            st.just(i.PersonLeft(commit_id="c1") if self.engine.is_wanted else i.PersonCame()),
            st.builds(self.pause),
            st.builds(self.go_on),
            st.just(i.PlanPaused(text="lunch")),
            st.just(i.PlanResumed()),
        ]
        if self.is_running:
            return [*self.endings(), *self.endings(), *self.endings(), *self.tellings(), *always]
        if self.engine.mode is Mode.AWAITING_VERDICT:
            verdict = st.builds(self.verdict, st.sampled_from(sorted(VERDICTS)), text)
            timeout = st.builds(i.WaitTimedOut, conductor_is_fresh=st.booleans())
            return [verdict, verdict, verdict, verdict, timeout, *always]
        if self.engine.mode is Mode.LIMITED:
            return [st.just(i.LimitLifted()), *always]
        if self.engine.mode is Mode.PAUSED:
            return [st.builds(self.go_on), st.just(i.PlanResumed())] * 3 + always
        return [st.builds(self.message, text, st.booleans())] * 3 + always

    def endings(self) -> list[st.SearchStrategy[i.Input]]:
        found: list[st.SearchStrategy[i.Input]] = []
        is_check = isinstance(self.engine.current, CheckpointItem) and not self.engine.rework_item
        kinds = (
            [i.PieceEnding.FAILED]
            if is_check
            else [i.PieceEnding.DONE] * 6
            + [each for each in i.PieceEnding if each is not i.PieceEnding.STOPPED]
        )
        if self.engine.mode is Mode.STOPPING:
            kinds.append(i.PieceEnding.STOPPED)
        for kind in kinds:
            found.append(st.just(i.PieceEnded(item=self.engine.item, ending=kind, detail="d")))
        if not is_check:
            ended = i.PieceEnded(item=self.engine.item, ending=i.PieceEnding.DONE, asked="q?")
            found.append(st.just(ended))
        if is_check:
            outcomes = st.sampled_from([Verification.GREEN] * 3 + [*Verification])
            found.extend([st.builds(self.verification, outcomes)] * 6)
        return found

    def tellings(self) -> list[st.SearchStrategy[i.Input]]:
        return [
            st.builds(i.DeviationTold, severity=st.sampled_from(Severity), text=st.just("d")),
            st.just(i.SelfCorrectionTold(text="s")),
            st.just(i.QuestionTold(text="q")),
            st.just(i.PartialTold(text="p")),
            st.just(i.AnswerTold(number=1, text="a")),
        ]

    def verification(self, outcome: Verification) -> i.Input:
        return i.VerificationEnded(
            outcome=outcome, verified=evidence(), tests="t", failing="f", files_modified=0, key_outputs=()
        )

    def message(self, text: str, urgent: bool) -> i.Input:
        self.last_message_id += 1
        return i.MessageArrived(message_id=self.last_message_id, text=text, urgent=urgent)

    def pause(self) -> i.Input:
        self.last_message_id += 1
        return i.PauseAsked(text="all pause", message_id=self.last_message_id)

    def go_on(self) -> i.Input:
        self.last_message_id += 1
        return i.PauseLifted(message_id=self.last_message_id)

    def exit_request(self, text: str) -> i.Input:
        self.last_message_id += 1
        self.state = State.EXIT_REQUESTED
        return i.ExitWasRequested(text=text, message_id=self.last_message_id)

    def verdict(self, state: State, text: str) -> i.Input:
        self.last_message_id += 1
        self.state = state
        progress = Progress().after(self.journal)
        return i.VerdictArrived(state=state, text=text, progress=progress, message_id=self.last_message_id)


def completed(journal: list[Entry]) -> list[str]:
    return [entry.item for entry in journal if entry.kind in (EntryKind.COMPLETED, EntryKind.RETURNED)]


def drawn(data: st.DataObject, possible: list[st.SearchStrategy[i.Input]]) -> i.Input:
    """One of them; `one_of` would count twice only what its cache has forgotten, and so differ from run to run."""
    return data.draw(possible[data.draw(st.integers(0, len(possible) - 1))])


@given(program=programs(), data=st.data())
def test_whatever_a_session_is_told_its_records_are_legal_and_nothing_is_done_twice(
    program: Program, data: st.DataObject
) -> None:
    world = World(program, [])
    for _ in range(MOST_INPUTS):
        if world.ended is not None:
            break
        world.tell(drawn(data, world.possible()))
        engine = world.engine
        assert world.is_running is (
            engine.mode in (Mode.PLAYING, Mode.REWORKING, Mode.VERIFYING, Mode.STOPPING)
        ) or (world.ended is not None)
        assert (
            not engine.leave_reason
            or world.is_running
            or world.ended is not None
            or engine.mode is Mode.WITH_PERSON
        )
        played = completed(world.journal)
        assert len(set(played)) == len(played), "each item is completed once"
        order = [item.item for item in program.items]
        assert played == sorted(played, key=order.index)
        assert engine.errors <= engine.retry_limit
    if world.ended is not None and world.ended.kind is r.EndKind.COMPLETE:
        assert program.next_item(Progress().after(world.journal)) is None
        assert isinstance(world.records[-1], r.CompleteTask)
    if world.ended is not None and world.ended.kind is r.EndKind.EXITED:
        assert isinstance(world.records[-1], r.ExitClaim)
    assert replace(world.engine.progress, agent_costs_pct=()) == Progress().after(world.journal)


@given(program=programs(), data=st.data())
def test_a_session_that_dies_at_any_moment_has_a_successor_that_completes_the_task(
    program: Program, data: st.DataObject
) -> None:
    """Liveness: sessions are cut off after a few inputs each; one that is left in peace ends the task."""
    journal: list[Entry] = []
    for _ in range(data.draw(st.integers(0, 3))):
        world = World(program, journal, retry_limit=50)
        for _ in range(data.draw(st.integers(0, 10))):
            if world.ended is None:
                world.tell(drawn(data, world.possible()))
    world = World(program, journal, retry_limit=50)
    for _ in range(MOST_INPUTS):
        if world.ended is not None:
            break
        match world.engine.mode:
            case Mode.AWAITING_VERDICT:
                world.tell(world.verdict(State.REVIEW_APPROVED, ""))
            case Mode.AWAITING_ANSWER:
                world.tell(world.message("go on", False))
            case Mode.PAUSED:
                world.tell(i.PlanResumed() if world.engine.plan_pause else world.go_on())
            case Mode.VERIFYING:
                world.tell(world.verification(Verification.GREEN))
            case _:
                world.tell(i.PieceEnded(item=world.engine.item, ending=i.PieceEnding.DONE))
    assert world.ended == r.End(kind=r.EndKind.COMPLETE, reason="complete")
    played = completed(journal)
    assert len(set(played)) == len(played), "no item is played to its end twice, over all sessions"
    assert world.acknowledged_id == world.last_message_id
