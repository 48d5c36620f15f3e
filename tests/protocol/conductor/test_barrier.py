"""The barrier of ``pause-siblings-at``: who is told to pause, who stands still, when it is judged (PLAN-21)."""

from dataclasses import replace
from itertools import product

import pytest

from musician.protocol.conductor import engine as c
from musician.protocol.conductor.acts import Act, GoOn, Judge, Launch, Pause, Standstill
from musician.protocol.conductor.barrier import stands_still
from musician.protocol.conductor.orchestra import Orchestra, Submitted, TaskFacts
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, Submission, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State

GREEN = Evidence(verification=Verification.GREEN, full=True)
SIBLING = TaskFacts(
    task_id="task-02",
    state=State.WORKING,
    phase=1,
    epoch=1,
    owner=Owner.LIVE,
    is_running=True,
    is_isolated=False,
    was_claimed=True,
)


def at_barrier(name: str = "task-01", **more: object) -> TaskFacts:
    work = Submission(work=SubmittedWork(tree_id="t1"), evidence=GREEN, smoothness=0)
    found = Submitted(message_id=7, submission=work, is_barrier=True)
    return replace(SIBLING, task_id=name, state=State.NEEDS_REVIEW, submitted=found, **more)  # type: ignore[arg-type]


def decide(*tasks: TaskFacts) -> tuple[Act, ...]:
    return c.decide(Orchestra(tasks=tasks, jobs=4, settings=Settings()))


def judged(acts: tuple[Act, ...], name: str = "task-01") -> bool:
    return any(isinstance(act, Judge) and act.task_id == name for act in acts)


def told(acts: tuple[Act, ...]) -> set[str]:
    return {act.task_id for act in acts if isinstance(act, Pause)}


# -- the course of one barrier ------------------------------------------------------------------------------------


def test_a_barrier_tells_the_phases_other_musicians_to_pause_and_is_judged_when_they_do() -> None:
    playing = decide(at_barrier(), SIBLING)
    assert told(playing) == {"task-02"}
    assert not judged(playing)
    on_its_way = replace(SIBLING, is_told_to_pause=True)
    assert decide(at_barrier(), on_its_way) == ()
    paused = replace(on_its_way, is_paused=True)
    assert decide(at_barrier(), paused) == (
        Judge(task_id="task-01", message_id=7, verdict=State.REVIEW_APPROVED, text="Approved."),
    )


@pytest.mark.parametrize("verdict", [State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED])
def test_after_any_verdict_they_go_on(verdict: State) -> None:
    paused = replace(SIBLING, is_told_to_pause=True, is_paused=True)
    over = replace(at_barrier(), state=verdict, submitted=None)
    assert decide(over, paused) == (GoOn(task_id="task-02"),)
    assert decide(over, replace(paused, is_told_to_pause=False)) == (), "it will come"


def test_another_checkpoint_and_another_phase_pause_nobody() -> None:
    common = at_barrier()
    assert common.submitted is not None
    common = replace(common, submitted=replace(common.submitted, is_barrier=False))
    assert judged(decide(common, SIBLING))
    later = replace(SIBLING, phase=2)
    assert told(decide(at_barrier(), later)) == set()
    assert judged(decide(at_barrier(), later))


def test_nobody_is_given_a_musician_while_a_barrier_is_up() -> None:
    unclaimed = replace(SIBLING, state=State.WATCHING, owner=None, is_running=False, was_claimed=False)
    assert Launch(task_id="task-02") not in decide(at_barrier(), unclaimed)
    assert judged(decide(at_barrier(), unclaimed))
    over = replace(at_barrier(), state=State.REVIEW_APPROVED, submitted=None)
    assert decide(over, unclaimed) == (Launch(task_id="task-02"),)


def test_a_dead_session_at_a_barrier_is_not_taken_over_before_its_submission_is_judged() -> None:
    dead = at_barrier(owner=Owner.DEAD, is_running=False)
    assert decide(dead, replace(SIBLING, is_told_to_pause=True)) == ()
    assert judged(decide(dead, replace(SIBLING, is_told_to_pause=True, is_paused=True)))


def test_who_was_told_to_pause_is_told_to_go_on_whatever_became_of_it() -> None:
    over = replace(at_barrier(), state=State.REVIEW_APPROVED, submitted=None)
    gone = replace(SIBLING, state=State.FIX_PROPOSED, owner=None, is_running=False, is_told_to_pause=True)
    assert decide(over, gone) == (GoOn(task_id="task-02"),)
    waiting = replace(gone, has_open_ask=True)
    assert decide(over, waiting) == (GoOn(task_id="task-02"),)
    finished = replace(gone, state=State.COMPLETE)
    assert decide(over, finished) == ()


def test_a_barrier_that_waits_for_a_person_with_everybody_paused_is_a_standstill() -> None:
    asked = at_barrier(has_open_ask=True)
    assert decide(asked, replace(SIBLING, is_told_to_pause=True)) == ()
    assert decide(asked, replace(SIBLING, is_told_to_pause=True, is_paused=True)) == (Standstill(),)


def test_two_barriers_that_name_each_other_are_both_judged() -> None:
    first, second = at_barrier("task-01"), at_barrier("task-02")
    assert told(decide(first, second)) == {"task-01", "task-02"}
    acts = decide(replace(first, is_told_to_pause=True), replace(second, is_told_to_pause=True))
    assert judged(acts, "task-01")
    assert judged(acts, "task-02")


def test_of_two_barriers_that_wait_for_a_third_musician_both_are_judged_once_it_pauses() -> None:
    first, second = (at_barrier(name, is_told_to_pause=True) for name in ("task-01", "task-03"))
    on_its_way = replace(SIBLING, is_told_to_pause=True)
    assert decide(first, second, on_its_way) == ()
    acts = decide(first, second, replace(on_its_way, is_paused=True))
    assert judged(acts, "task-01")
    assert judged(acts, "task-03")


# -- every sibling there can be -----------------------------------------------------------------------------------


def all_siblings() -> list[TaskFacts]:
    flags = product([False, True], repeat=5)
    return [
        replace(
            SIBLING,
            state=state,
            owner=owner,
            is_running=is_running,
            is_told_to_pause=is_told,
            is_paused=is_paused,
            has_open_ask=has_ask,
            is_playing=is_playing,
        )
        for state, owner, (is_running, is_told, is_paused, has_ask, is_playing) in product(
            State, [None, *Owner], flags
        )
    ]


def plays(task: TaskFacts) -> bool:
    """The naive twin: somebody may be playing the task at this moment."""
    is_over = task.state in (State.EXITED, State.COMPLETE)
    waits = task.state in (State.NEEDS_REVIEW, State.ERROR) or task.is_paused
    asks = task.has_open_ask and not (task.is_playing and task.owner in (Owner.LIVE, Owner.SILENT))
    is_owned = task.owner is not None and task.state is not State.WATCHING
    somebody = task.owner is not Owner.DEAD and (task.is_running or is_owned)
    return somebody and not (is_over or waits or asks)


def test_who_plays_does_not_stand_still_and_everybody_else_does() -> None:
    for sibling in all_siblings():
        assert stands_still(sibling) is not plays(sibling), sibling


def test_whatever_a_sibling_is_at_a_barrier_is_judged_only_in_stillness_and_never_waits_for_nothing() -> None:
    judgements = 0
    for sibling in all_siblings():
        acts = decide(at_barrier(), sibling)
        if judged(acts):
            judgements += 1
            assert not plays(sibling), sibling
        else:
            mine = [act for act in acts if getattr(act, "task_id", "") == "task-02"]
            assert Standstill() not in acts, "nobody would ever go on"
            lives = sibling.owner in (Owner.LIVE, Owner.SILENT)  # the one who hangs is taken over in the end
            assert mine or sibling.is_running or lives, "somebody will come to a boundary"
        assert Launch(task_id="task-02") not in acts
    assert judgements > len(all_siblings()) / 2


# -- a plan that a person has paused ------------------------------------------------------------------------------

PAUSED = "plan band is paused by ada since 2026-01-01 12:00:00 UTC: lunch"


def decide_paused(*tasks: TaskFacts) -> tuple[Act, ...]:
    return c.decide(Orchestra(tasks=tasks, jobs=4, settings=Settings(), paused=PAUSED))


def test_a_paused_plan_begins_nothing_and_tells_nobody() -> None:
    """Whoever plays looks the pause up."""
    free = TaskFacts(task_id="task-03", state=State.WATCHING, phase=1, epoch=0)
    assert decide_paused(SIBLING, free) == ()
    still = replace(SIBLING, is_paused=True)
    assert decide_paused(still, free) == (), "it waits for the person, and is no standstill"
    assert decide(still, free) == (Launch(task_id="task-03"),)


def test_what_was_submitted_is_judged_while_the_plan_is_paused() -> None:
    other = replace(SIBLING, is_told_to_pause=True, is_paused=True)
    assert judged(decide_paused(at_barrier(), other))


def test_a_barrier_holds_and_lets_go_whether_or_not_the_plan_is_paused() -> None:
    """A task goes on once neither holds it."""
    still = replace(SIBLING, is_told_to_pause=True, is_paused=True)
    waiting = at_barrier(has_open_ask=True)
    assert decide_paused(waiting, SIBLING) == decide(waiting, SIBLING)
    assert GoOn(task_id="task-02") not in (*decide_paused(waiting, still), *decide(waiting, still))
    over = replace(waiting, state=State.WORKING, submitted=None, has_open_ask=False)
    assert decide_paused(over, still) == decide(over, still) == (GoOn(task_id="task-02"),)
