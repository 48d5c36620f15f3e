"""Whatever the facts are, the conductor's decisions keep these."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from musician.protocol.conductor import engine as c
from musician.protocol.conductor.acts import (
    AskAnswerer,
    AskHuman,
    AskReviewer,
    Finish,
    Launch,
    Standstill,
    TaskAct,
)
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.conductor.orchestra import (
    NO_RETRY_HELPS,
    OpenReport,
    Orchestra,
    Reviewer,
    Submitted,
    TaskFacts,
    Trial,
    TrialOutcome,
    current_phase,
    is_finished,
    is_withdrawn,
)
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, Submission, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State

EVIDENCE = st.none() | st.builds(Evidence, verification=st.sampled_from(Verification), full=st.booleans())
DEVIATIONS = st.lists(
    st.builds(Deviation, severity=st.sampled_from(Severity), text=st.just("d"), ruled=st.booleans()),
    max_size=2,
).map(tuple)
SUBMITTED = st.builds(
    Submitted,
    message_id=st.just(7),
    submission=st.builds(
        Submission,
        work=st.builds(SubmittedWork, tree_id=st.sampled_from([None, "t"]), deviations=DEVIATIONS),
        evidence=EVIDENCE,
        smoothness=st.integers(0, 9),
        round=st.integers(1, 6),
        final=st.booleans(),
        sent_back=st.none() | st.just(SubmittedWork(tree_id="t")),
    ),
    trial=st.none() | st.builds(Trial, outcome=st.sampled_from(TrialOutcome), earlier=st.integers(0, 1)),
)
REPORTS = st.builds(
    OpenReport,
    message_id=st.just(8),
    text=st.just("gone"),
    is_context=st.booleans(),
    is_repeat=st.booleans(),
    is_unplayable=st.booleans(),
    trouble=st.sampled_from(["", "it does not merge"]),
    used_pct=st.none() | st.floats(0, 100),
    projected_pct=st.none() | st.floats(0, 150),
)
ANSWERED = Opinion(judgement=Judgement.FIX, text="that")
NO_ANSWER = Opinion(judgement=None, text="it crashed")
FACTS = st.builds(
    TaskFacts,
    task_id=st.just(""),
    state=st.sampled_from(State),
    phase=st.integers(1, 2),
    epoch=st.integers(1, 3),
    owner=st.none() | st.sampled_from(Owner),
    is_running=st.booleans(),
    is_playing=st.booleans(),
    is_isolated=st.booleans(),
    is_merged=st.booleans(),
    reviewer=st.sampled_from(Reviewer),
    submitted=st.none() | SUBMITTED,
    report=st.none() | REPORTS,
    question=st.none() | st.just((9, "which?")),
    is_answered_by_agent=st.booleans(),
    answers=st.sampled_from(
        [(), ((9, ANSWERED),), ((8, NO_ANSWER), (9, ANSWERED)), ((1, ANSWERED), (2, NO_ANSWER))]
    ),
    has_open_ask=st.booleans(),
    lacks_tree=st.booleans(),
    settled_asks=st.frozensets(
        st.sampled_from(
            [("retries", 1), ("progress", 1), ("trouble", 1), ("launch", 3), ("error", 8), ("conflict", 8)]
        ),
        max_size=3,
    ),
    empty_sessions=st.integers(0, 4),
    was_claimed=st.booleans(),
    exit_reason=st.sampled_from(["", "died", "retry exhaustion: x", f"{NO_RETRY_HELPS}x"]),
    failed_launches=st.integers(0, 4),
)
ANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Much is drawn for one orchestra."""


@st.composite
def orchestras(draw: st.DrawFn) -> Orchestra:
    found = draw(st.lists(FACTS, min_size=1, max_size=5))
    names = [f"task-0{number}" for number in range(1, len(found) + 1)]
    some = st.frozensets(st.sampled_from(names), max_size=1)
    conflicts = {name: draw(some) - {name} for name in names}
    tasks = tuple(
        replace(
            facts,
            task_id=name,
            after=draw(some),
            conflicts=conflicts[name] | {other for other in names if name in conflicts[other]},
        )
        for name, facts in zip(names, found, strict=True)
    )
    paused = draw(st.sampled_from(["", "plan band is paused by ada"]))
    return Orchestra(tasks=tasks, jobs=draw(st.integers(1, 3)), settings=Settings(), paused=paused)


@given(orchestra=orchestras())
@ANY
def test_while_a_plan_is_paused_nobody_is_begun_or_paid_and_all_else_is_as_ever(orchestra: Orchestra) -> None:
    paused = c.decide(replace(orchestra, paused="plan band is paused by ada"))
    assert not any(isinstance(act, Launch | AskReviewer | AskAnswerer) for act in paused)
    assert Standstill() not in paused or all(map(is_finished, orchestra.tasks))
    due = c.decide(replace(orchestra, paused=""))
    costly = Launch | AskReviewer | AskAnswerer | Standstill
    assert set(due) - set(paused) == {act for act in due if isinstance(act, costly)} - set(paused)


@given(orchestra=orchestras())
@ANY
def test_no_task_gets_two_acts_and_none_that_waits_for_a_person_gets_one(
    orchestra: Orchestra,
) -> None:
    acts = c.decide(orchestra)
    assert acts == c.decide(orchestra)
    acted_on = [act.task_id for act in acts if isinstance(act, TaskAct)]
    assert len(set(acted_on)) == len(acted_on)
    facts = {each.task_id: each for each in orchestra.tasks}
    withdrawn = {
        name for name in acted_on if facts[name].state is State.EXITED and not facts[name].was_claimed
    }
    assert not any(facts[name].has_open_ask for name in acted_on)
    assert not any(is_finished(facts[name]) for name in set(acted_on) - withdrawn)


def open_subjects(task: TaskFacts) -> dict[str, set[int]]:
    """What a person may be asked about a task, by the kind of the question."""
    submission = {task.submitted.message_id} if task.submitted else set()
    report = {task.report.message_id} if task.report else set()
    return {
        "withdrawn": {0},
        "question": {task.question[0]} if task.question else set(),
        "review": submission,
        "conflict": submission | report,
        "error": report,
        "launch": {task.failed_launches},
        **{kind: {task.epoch} for kind in ("retries", "trouble", "progress", "doubtful")},
    }


@given(orchestra=orchestras())
@ANY
def test_an_act_is_about_what_its_task_has_open(orchestra: Orchestra) -> None:
    """By this a verdict finds its submission, and a person's answer its question, which is asked once."""
    facts = {each.task_id: each for each in orchestra.tasks}
    for act in c.decide(orchestra):
        if not isinstance(act, TaskAct):
            continue
        subjects = open_subjects(facts[act.task_id])
        assert getattr(act, "text", "said")
        if isinstance(act, AskHuman):
            assert act.subject_id in subjects[act.kind]
            assert (act.kind, act.subject_id) not in facts[act.task_id].settled_asks
        else:
            assert getattr(act, "message_id", 0) in set().union(*subjects.values(), {0})


@given(orchestra=orchestras())
@ANY
def test_a_musician_is_only_launched_where_it_may_play(orchestra: Orchestra) -> None:
    launched = [act.task_id for act in c.decide(orchestra) if isinstance(act, Launch)]
    facts = {each.task_id: each for each in orchestra.tasks}
    finished = {name for name, each in facts.items() if is_finished(each)}
    at_work = {
        name
        for name, each in facts.items()
        if each.is_running or name in launched or (each.owner is not None and each.state in ACTIVE)
    }
    for name in launched:
        each = facts[name]
        assert each.state in CLAIMABLE
        assert each.owner is None
        assert not each.is_running
        assert each.phase == current_phase(orchestra.tasks)
        assert each.after <= finished
        assert not each.conflicts & (at_work - {name})
    busy = [
        each for each in orchestra.tasks if each.is_running and (not each.has_open_ask or each.is_playing)
    ]
    assert not launched or len(busy) + len(launched) <= orchestra.jobs


@given(orchestra=orchestras())
@ANY
def test_it_ends_only_where_all_is_finished_or_nothing_goes_on_without_a_person(
    orchestra: Orchestra,
) -> None:
    acts = c.decide(orchestra)
    if Finish() in acts:
        assert acts == (Finish(),)
        assert all(is_finished(each) for each in orchestra.tasks)
    if Standstill() in acts:
        assert acts == (Standstill(),)
        if all(map(is_finished, orchestra.tasks)):
            assert any(map(is_withdrawn, orchestra.tasks)), (
                "such a plan is not complete, and nothing is left to do"
            )
            return
        for each in orchestra.tasks:
            waits = each.has_open_ask and not each.is_playing and not is_finished(each)
            assert waits or not (each.is_running or each.owner in (Owner.LIVE, Owner.SILENT))
