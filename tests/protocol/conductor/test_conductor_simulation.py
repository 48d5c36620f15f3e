"""Whole plans driven by nothing but ``decide``: every act moves the facts, and every run reaches its end.

The model below is what the database, git and the musicians make of each act, in a few lines. A run may be killed after
any act, with all its musicians; what is decided next follows from the facts alone, for there is no memory.
"""

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.conductor import engine as c
from musician.protocol.conductor.acts import (
    Act,
    Answer,
    AskAnswerer,
    AskHuman,
    AskReviewer,
    Finish,
    GoOn,
    Judge,
    Launch,
    Merge,
    Pause,
    Reopen,
    RequestExit,
    Standstill,
    TakeOver,
    TaskAct,
    TryMerge,
    VerifyFully,
)
from musician.protocol.conductor.barrier import stands_still
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.conductor.orchestra import (
    OpenReport,
    Orchestra,
    Reviewer,
    Submitted,
    TaskFacts,
    Trial,
    TrialOutcome,
    is_finished,
)
from musician.protocol.messages.forecasts import meeting
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, Submission, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, VERDICTS, State

MOST_ROUNDS = 400
MOST_ROUNDS_TO_REST = 20
GREEN = Evidence(verification=Verification.GREEN, full=False)

OPINIONS = (
    Opinion(judgement=Judgement.APPROVE, text=""),
    Opinion(judgement=None, text="it crashed"),
    Opinion(judgement=Judgement.REJECT, text="too long"),
    Opinion(judgement=Judgement.FIX, text="shorter"),
)
"""What a reviewing agent says."""

HAPPENINGS = (
    "checkpoint",
    "rough checkpoint",
    "red checkpoint",
    "barrier checkpoint",
    "flaky checkpoint",
    "error",
    "same error",
    "context",
    "tight context",
    "question",
    "hand off",
    "give up",
    "die",
    "go stale",
    "never claim",
    "conflict",
)
"""What befalls a musician before it simply finishes its task, one after the other."""


class Simulation:
    def __init__(self, tasks: list[TaskFacts], happenings: dict[str, list[str]], jobs: int) -> None:
        self.tasks = {each.task_id: each for each in tasks}
        self.happenings = happenings
        self.jobs = jobs
        self.asked: dict[str, AskHuman] = {}
        self.next_id = 100
        self.paused = ""
        self.approved: set[str] = set()
        """Tasks whose completion stands approved: the approval outlives the session."""

    def decide(self) -> tuple[Act, ...]:
        orchestra = Orchestra(
            tasks=tuple(self.tasks.values()), jobs=self.jobs, settings=Settings(), paused=self.paused
        )
        return c.decide(orchestra)

    def put(self, name: str, **changes: object) -> None:
        self.tasks[name] = replace(self.tasks[name], **changes)  # type: ignore[arg-type]

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    # -- what becomes of an act ---------------------------------------------------------------------------------

    def apply(self, act: Act) -> None:
        assert isinstance(act, TaskAct)
        name, task = act.task_id, self.tasks[act.task_id]
        match act:
            case Launch() | AskReviewer() | AskAnswerer() if self.paused:
                raise AssertionError(f"{act} while the plan is paused")
            case Launch():
                self.check_launch(task)
                self.put(name, is_running=True)
            case Judge(verdict=verdict):
                assert act.message_id == (task.submitted or task.report or act).message_id
                self.check_stillness(task)
                self.answer(name, verdict)
            case Pause():
                self.put(name, is_told_to_pause=True)
            case GoOn():
                assert not self.barriers_beside(task)
                self.put(name, is_told_to_pause=False)
            case RequestExit():
                self.put(name, state=State.EXIT_REQUESTED, submitted=None, report=None)
            case VerifyFully():
                assert task.submitted is not None
                submission = replace(task.submitted.submission, evidence=replace(GREEN, full=True))
                self.put(name, submitted=replace(task.submitted, submission=submission))
            case AskReviewer():
                assert task.submitted is not None
                opinion = OPINIONS[task.submitted.message_id % len(OPINIONS)]
                self.put(name, submitted=replace(task.submitted, opinion=opinion))
            case AskAnswerer():
                assert len(task.answers) < c.MOST_ANSWERS
                opinion = OPINIONS[1 + act.message_id % 3]
                self.put(name, answers=(*task.answers, (act.message_id, opinion)))
            case Answer():
                assert task.question is not None
                assert task.question[0] == act.message_id
                self.put(name, question=None)
            case TryMerge():
                assert task.submitted is not None
                outcome = TrialOutcome.CONFLICT if self.next_is(name, "conflict") else TrialOutcome.GREEN
                self.put(name, submitted=replace(task.submitted, trial=Trial(outcome=outcome)))
                self.put(name, is_merged=outcome is TrialOutcome.GREEN)
            case Merge():
                self.put(name, is_merged=True)
            case AskHuman():
                self.asked[name] = act
                self.put(name, has_open_ask=True)
            case Reopen():
                assert task.owner is None
                self.put(name, state=State.FIX_PROPOSED)
            case TakeOver():
                assert task.owner in (Owner.DEAD, Owner.STALE)
                assert not (task.submitted and task.submitted.is_barrier), "its submission outlives it"
                fruitless = task.empty_sessions + 1
                self.put(
                    name,
                    state=State.FIX_PROPOSED,
                    owner=None,
                    is_running=False,
                    is_paused=False,
                    epoch=task.epoch + 1,
                    submitted=None,
                    report=None,
                    question=None,
                    exit_reason="died",
                    empty_sessions=fruitless,
                )

    def answer(self, name: str, verdict: State) -> None:
        found = self.tasks[name].submitted
        if found is not None and found.submission.final and verdict is State.REVIEW_APPROVED:
            self.approved.add(name)
        self.put(name, state=verdict, submitted=None, report=None)

    def check_launch(self, task: TaskFacts) -> None:
        finished = {each.task_id for each in self.tasks.values() if is_finished(each)}
        assert task.state in CLAIMABLE
        assert task.owner is None
        assert not task.is_running
        assert task.after <= finished
        assert all(each.phase >= task.phase for each in self.tasks.values() if each.task_id not in finished)
        for other in task.conflicts:
            sibling = self.tasks[other]
            assert not sibling.was_claimed or other in finished, "half of it is played"
            assert not sibling.is_running
        working = [each for each in self.tasks.values() if each.is_running and not each.has_open_ask]
        assert len(working) < self.jobs
        assert not self.barriers_beside(task)

    def beside(self, task: TaskFacts) -> list[TaskFacts]:
        return [each for each in self.tasks.values() if each.phase == task.phase and each is not task]

    def barriers_beside(self, task: TaskFacts) -> list[TaskFacts]:
        return [each for each in self.beside(task) if each.submitted and each.submitted.is_barrier]

    def check_stillness(self, task: TaskFacts) -> None:
        """Nobody of the phase plays while a barrier is judged."""
        if task.submitted is None or not task.submitted.is_barrier:
            return
        for each in self.beside(task):
            waits = each.is_paused or each.has_open_ask or each.state not in VERDICTS | {State.WORKING}
            will_pause = each.is_told_to_pause and each.state in VERDICTS  # judged in the same breath
            assert waits or will_pause or not each.is_running, each

    # -- what musicians do --------------------------------------------------------------------------------------

    def next_is(self, name: str, happening: str) -> bool:
        if self.happenings[name][:1] == [happening]:
            self.happenings[name].pop(0)
            return True
        return False

    def play(self, name: str) -> None:
        """One move of the musician on a task, if it has one."""
        task = self.tasks[name]
        if not task.is_running:
            return
        if task.owner is None:
            self.claim(name, task)
        elif task.state is State.EXIT_REQUESTED:
            self.exit(name, "conductor requested")
        elif task.state not in VERDICTS | {State.WORKING}:
            return
        elif name not in self.approved and (task.is_told_to_pause or self.paused):
            self.put(name, is_paused=True)
        elif task.is_paused:
            self.put(name, is_paused=False)
        elif name in self.approved:
            self.put(name, state=State.COMPLETE, owner=None, is_running=False)
        elif task.question is None:
            self.happen(name)

    def claim(self, name: str, task: TaskFacts) -> None:
        if task.state not in CLAIMABLE or self.paused:
            self.put(name, is_running=False)  # it came too late
        elif self.next_is(name, "never claim"):
            self.put(name, is_running=False, failed_launches=task.failed_launches + 1)
        else:
            epoch = task.epoch + 1
            claimed = {"epoch": epoch, "was_claimed": True, "failed_launches": 0, "is_paused": False}
            self.put(name, state=State.WORKING, owner=Owner.LIVE, **claimed)

    def exit(self, name: str, reason: str) -> None:
        self.put(name, state=State.EXITED, owner=None, is_running=False, exit_reason=reason, empty_sessions=0)

    def happen(self, name: str) -> None:
        happening = self.happenings[name].pop(0) if self.happenings[name] else "complete"
        match happening:
            case "complete" | "conflict":
                if happening == "conflict":
                    self.happenings[name].insert(0, happening)  # it comes to light when it is merged
                self.submit(name, final=True)
            case "checkpoint":
                self.submit(name)
            case "barrier checkpoint":
                self.submit(name, is_barrier=True)
            case "rough checkpoint":
                self.submit(name, smoothness=5)
            case "red checkpoint":
                self.submit(name, evidence=Evidence(verification=Verification.RED, full=True))
            case "flaky checkpoint":
                self.submit(name, evidence=Evidence(verification=Verification.FLAKY, full=True))
            case "error" | "same error":
                self.report(name, is_context=False, is_repeat=happening == "same error")
            case "context":
                self.report(name, is_context=True, used_pct=55.0, projected_pct=75.0)
            case "tight context":
                self.report(name, is_context=True, used_pct=66.0, projected_pct=90.0)
            case "question":
                self.put(name, question=(self.new_id(), "which?"))
            case "hand off":
                self.exit(name, "context exhaustion")
            case "give up":
                self.exit(name, "retry exhaustion: step 1: gone")
            case "go stale":
                self.put(name, owner=Owner.STALE)
            case _:
                self.put(name, is_running=False, owner=Owner.DEAD)

    def submit(
        self,
        name: str,
        *,
        final: bool = False,
        smoothness: int = 0,
        evidence: Evidence = GREEN,
        is_barrier: bool = False,
    ) -> None:
        submission = Submission(
            work=SubmittedWork(tree_id=str(self.new_id())),
            evidence=replace(evidence, full=True) if final else evidence,
            smoothness=smoothness,
            final=final,
        )
        found = Submitted(message_id=self.new_id(), submission=submission, is_barrier=is_barrier)
        self.put(name, state=State.NEEDS_REVIEW, submitted=found, empty_sessions=0)

    def report(self, name: str, **report: object) -> None:
        found = OpenReport(message_id=self.new_id(), text="gone", **report)  # type: ignore[arg-type]
        self.put(name, state=State.ERROR, report=found)

    # -- people, and the end of the world -----------------------------------------------------------------------

    def settle(self) -> None:
        """A person acts on everything that waits for one."""
        assert self.asked, "a standstill says what it waits for"
        for name, ask in self.asked.items():
            task = self.tasks[name]
            settled = task.settled_asks | {(ask.kind, ask.subject_id)}
            self.put(name, has_open_ask=False, settled_asks=settled)
            match ask.kind:
                case "question":
                    self.put(name, question=None)
                case "review":
                    self.answer(name, State.REVIEW_APPROVED)
                case "error" | "conflict":
                    self.answer(name, State.FIX_PROPOSED)
        self.asked.clear()

    def kill(self) -> None:
        """The conductor is killed, and its musicians with it."""
        for name, task in self.tasks.items():
            if task.is_running:
                gone = {"owner": Owner.DEAD} if task.owner is not None else {}
                self.put(name, is_running=False, failed_launches=0, **gone)

    def is_still(self) -> bool:
        """Whether all that a paused plan still does is done."""
        return not any(each.is_running and not stands_still(each) for each in self.tasks.values())


@st.composite
def simulations(draw: st.DrawFn) -> Simulation:
    count = draw(st.integers(1, 4))
    names = [f"task-0{number}" for number in range(1, count + 1)]
    phases = sorted(draw(st.lists(st.integers(1, 2), min_size=count, max_size=count)))
    conflicts = draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=2))
    tasks = []
    for number, name in enumerate(names):
        before = [names[k] for k in range(number) if phases[k] == phases[number]]
        after = draw(st.frozensets(st.sampled_from(before), max_size=1)) if before else frozenset()
        touching = {b for a, b in conflicts if a == name} | {a for a, b in conflicts if b == name}
        same_phase = {other for other in touching - {name} if phases[names.index(other)] == phases[number]}
        tasks.append(
            TaskFacts(
                task_id=name,
                state=State.WATCHING,
                phase=phases[number],
                epoch=0,
                after=after,
                conflicts=frozenset(same_phase),
                meets=tuple(
                    meeting(other, ("a",)) for other in names if other != name and draw(st.booleans())
                ),
                reviewer=draw(st.sampled_from(Reviewer)),
                is_answered_by_agent=draw(st.booleans()),
            )
        )
    happenings = {name: draw(st.lists(st.sampled_from(HAPPENINGS), max_size=6)) for name in names}
    return Simulation(tasks, happenings, jobs=draw(st.integers(1, 2)))


def rounds(simulation: Simulation) -> Iterator[tuple[Act, ...]]:
    """What is decided, round by round, until the plan is finished; whoever asks for the rounds applies it."""
    for _ in range(MOST_ROUNDS):
        acts = simulation.decide()
        yield acts
        if acts == (Finish(),):
            return
        if acts == (Standstill(),):
            assert not simulation.paused
            simulation.settle()
        for name in simulation.tasks:
            simulation.play(name)
    raise AssertionError(f"no end after {MOST_ROUNDS} rounds")


def acts_to_do(acts: tuple[Act, ...]) -> list[Act]:
    return [act for act in acts if not isinstance(act, Finish | Standstill)]


@given(simulation=simulations())
def test_a_plan_reaches_its_end_and_no_act_is_due_twice(simulation: Simulation) -> None:
    for acts in rounds(simulation):
        for act in acts_to_do(acts):
            simulation.apply(act)
            assert act not in simulation.decide(), "every act moves the facts"
    assert all(is_finished(task) for task in simulation.tasks.values())


@given(simulation=simulations(), data=st.data())
def test_a_plan_that_is_paused_and_resumed_at_any_step_comes_to_rest_each_time_and_reaches_its_end(
    simulation: Simulation, data: st.DataObject
) -> None:
    pauses, rounds_paused = data.draw(st.integers(1, 4)), 0
    for acts in rounds(simulation):
        for act in acts_to_do(acts):
            simulation.apply(act)
        if simulation.paused:
            rounds_paused += 1
            may_end = data.draw(st.booleans()) if rounds_paused < MOST_ROUNDS_TO_REST else True
            if rounds_paused == MOST_ROUNDS_TO_REST:
                assert simulation.is_still(), simulation.tasks
            if may_end:
                simulation.paused = ""
        elif pauses and data.draw(st.booleans()):
            pauses, rounds_paused = pauses - 1, 0
            simulation.paused = "plan band is paused by ada"
    assert all(is_finished(task) for task in simulation.tasks.values())


@given(simulation=simulations(), data=st.data())
def test_a_run_that_is_killed_at_any_step_goes_on_where_it_was(
    simulation: Simulation, data: st.DataObject
) -> None:
    kills = data.draw(st.integers(0, 6))
    for acts in rounds(simulation):
        todo = acts_to_do(acts)
        if kills and data.draw(st.booleans()):
            kills -= 1
            todo = todo[: data.draw(st.integers(0, len(todo)))]
            for act in todo:
                simulation.apply(act)
            simulation.kill()
        else:
            for act in todo:
                simulation.apply(act)
    assert all(is_finished(task) for task in simulation.tasks.values())
    assert not any(task.state in ACTIVE for task in simulation.tasks.values())
