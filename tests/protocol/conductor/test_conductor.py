"""What the conductor decides at one moment, rule by rule."""

from dataclasses import replace

import pytest

from musician.protocol.conductor import acts, orchestra
from musician.protocol.conductor import engine as c
from musician.protocol.conductor.launching import held_back
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.conductor.orchestra import NO_RETRY_HELPS, is_merge_trouble
from musician.protocol.journal import PROVIDER_REFUSES
from musician.protocol.messages.forecasts import meeting
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, SubmittedWork, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from tests.protocol.conductor.facts import GREEN, decide, kept, only, reporting, reviewing, submitted, task

# -- who is given a musician --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(CLAIMABLE))
def test_a_task_that_may_be_claimed_and_nobody_owns_is_given_a_musician(state: State) -> None:
    assert only(task(state=state)) == acts.Launch(task_id="task-01")


@pytest.mark.parametrize("owner", [Owner.LIVE, Owner.DOUBTFUL, Owner.STALE, Owner.DEAD])
@pytest.mark.parametrize("state", sorted(CLAIMABLE))
def test_a_task_with_an_owner_or_a_running_process_is_given_none(state: State, owner: Owner) -> None:
    owned = decide(task(state=state, owner=owner, was_claimed=True))
    assert acts.Launch(task_id="task-01") not in owned
    assert decide(task(state=state, is_running=True)) == ()


def test_tasks_of_a_phase_run_in_parallel_up_to_jobs_in_the_plans_order() -> None:
    tasks = [task(f"task-0{number}") for number in (3, 1, 2)]
    assert decide(*tasks) == (acts.Launch(task_id="task-03"), acts.Launch(task_id="task-01"))
    assert decide(kept("task-04"), *tasks) == (acts.Launch(task_id="task-03"),)
    assert decide(kept("task-04"), kept("task-05"), *tasks) == ()


def test_a_musician_that_waits_for_a_person_takes_no_place() -> None:
    waiting = reviewing(has_open_ask=True)
    assert decide(waiting, task("task-02"), jobs=1) == (acts.Launch(task_id="task-02"),)
    assert decide(replace(waiting, is_playing=True), task("task-02"), jobs=1) == ()


def test_a_finished_task_whose_process_is_still_ending_takes_its_place_until_it_has() -> None:
    ending = task(state=State.COMPLETE, is_running=True)
    assert decide(ending, task("task-02"), jobs=1) == ()


def test_what_its_provider_limits_is_launched_once_that_is_over_and_is_waited_for() -> None:
    assert decide(task(is_limited=True)) == ()
    assert decide(task(is_limited=True), task("task-02")) == (acts.Launch(task_id="task-02"),)
    assert decide(task(is_limited=True, has_open_ask=True)) == (acts.Standstill(),)
    done = task(state=State.COMPLETE, is_merged=True, is_limited=True)
    assert decide(done, task("task-02", has_open_ask=True)) == (acts.Standstill(),)


def test_what_a_provider_refuses_waits_for_a_person_with_all_of_its_agent_and_is_reopened_then() -> None:
    refused = task(
        state=State.EXITED, was_claimed=True, exit_reason=f"{PROVIDER_REFUSES}the login has expired"
    )
    assert decide(replace(refused, has_open_ask=True, is_refused=True)) == (acts.Standstill(),)
    assert only(refused) == acts.Reopen(task_id="task-01")
    others = task("task-02", is_refused=True)
    assert decide(replace(refused, has_open_ask=True, is_refused=True), others) == (acts.Standstill(),)


def test_phases_are_played_in_order() -> None:
    second = task("task-02", phase=2)
    assert decide(kept("task-01"), second) == ()
    assert decide(task("task-01", State.COMPLETE), second) == (acts.Launch(task_id="task-02"),)
    assert orchestra.current_phase([second, task("task-01", State.COMPLETE)]) == 2
    assert orchestra.current_phase([]) is None


def test_a_task_waits_for_those_it_comes_after_until_they_are_merged() -> None:
    later = task("task-02", after=frozenset({"task-01"}))
    assert decide(kept("task-01"), later) == ()
    merged = task("task-01", State.COMPLETE, is_isolated=True, is_merged=True)
    assert decide(merged, later) == (acts.Launch(task_id="task-02"),)
    assert decide(replace(merged, is_merged=False), later) == (acts.Merge(task_id="task-01"),)


def test_a_withdrawn_task_holds_nobody_up() -> None:
    withdrawn = task("task-01", State.EXITED, has_open_ask=True)
    assert decide(withdrawn, task("task-02", after=frozenset({"task-01"}))) == (
        acts.Launch(task_id="task-02"),
    )


def test_a_skipped_task_is_settled() -> None:
    """AGAIN-SKIP: whether anybody has played it or not."""
    for was_claimed in (False, True):
        skipped = task("task-01", State.EXITED, is_skipped=True, was_claimed=was_claimed)
        assert decide(skipped, task("task-02", after=frozenset({"task-01"}), phase=2)) == (
            acts.Launch(task_id="task-02"),
        )
        assert decide(skipped) == (acts.Finish(),)


def dangerous(name: str, other: str, state: State = State.WATCHING, **more: object) -> orchestra.TaskFacts:
    return task(name, state, conflicts=frozenset({other}), **more)


def test_of_two_that_share_a_dangerous_file_one_is_played_after_the_other() -> None:
    first, second = dangerous("task-01", "task-02"), dangerous("task-02", "task-01")
    assert decide(first, second) == (acts.Launch(task_id="task-01"),)
    assert decide(replace(first, is_running=True), second) == ()
    at_work = replace(first, state=State.WORKING, owner=Owner.LIVE)
    assert decide(at_work, second) == ()
    assert decide(replace(first, state=State.COMPLETE), second) == (acts.Launch(task_id="task-02"),)


def test_what_would_meet_is_begun_after_the_other_is_merged_and_what_was_begun_waits_for_nobody() -> None:
    """D24.14."""
    first, second = (
        task(name, meets=(meeting(other, ("a.txt",)),))
        for name, other in (("task-01", "task-02"), ("task-02", "task-01"))
    )
    assert decide(first, second) == (acts.Launch(task_id="task-01"),)
    begun = replace(first, state=State.WORKING, owner=Owner.LIVE, was_claimed=True)
    between = replace(first, state=State.FIX_PROPOSED, was_claimed=True)
    for tasks in ((begun, second), (replace(first, is_running=True), second)):
        assert decide(*tasks) == ()
        held = held_back(orchestra.Orchestra(tasks=tasks, jobs=2, settings=Settings()))
        assert held == {"task-02": second.meets}
    assert decide(between, second) == (acts.Launch(task_id="task-01"),)
    assert decide(between, replace(second, state=State.FIX_PROPOSED, was_claimed=True)) == (
        acts.Launch(task_id="task-01"),
        acts.Launch(task_id="task-02"),
    )
    merged = (replace(begun, state=State.COMPLETE, owner=None, is_merged=True), second)
    assert decide(*merged) == (acts.Launch(task_id="task-02"),)
    assert held_back(orchestra.Orchestra(tasks=merged, jobs=2, settings=Settings())) == {}


def test_a_dangerous_sibling_between_two_sessions_keeps_its_files() -> None:
    begun = dangerous("task-02", "task-01", State.FIX_PROPOSED, was_claimed=True)
    assert decide(dangerous("task-01", "task-02"), begun) == (acts.Launch(task_id="task-02"),)
    unmerged = replace(begun, state=State.COMPLETE, is_isolated=True)
    assert decide(dangerous("task-01", "task-02"), unmerged) == (acts.Merge(task_id="task-02"),)
    waiting = replace(begun, has_open_ask=True)
    assert decide(dangerous("task-01", "task-02"), waiting) == (acts.Standstill(),)


def test_of_two_dangerous_siblings_begun_by_hand_the_first_goes_on() -> None:
    first = dangerous("task-01", "task-02", State.FIX_PROPOSED, was_claimed=True)
    second = dangerous("task-02", "task-01", State.FIX_PROPOSED, was_claimed=True)
    assert decide(first, second) == (acts.Launch(task_id="task-01"),)


def test_a_begun_sibling_that_cannot_go_on_yet_holds_nobody_up() -> None:
    begun = dangerous(
        "task-01", "task-02", State.FIX_PROPOSED, was_claimed=True, after=frozenset({"task-02"})
    )
    assert decide(begun, dangerous("task-02", "task-01")) == (acts.Launch(task_id="task-02"),)
    of_later_phase = dangerous("task-01", "task-02", State.FIX_PROPOSED, was_claimed=True, phase=2)
    assert decide(of_later_phase, dangerous("task-02", "task-01")) == (acts.Launch(task_id="task-02"),)


def test_three_musicians_in_a_row_that_never_claimed_are_a_persons_business() -> None:
    failing = task(failed_launches=3)
    ask = only(failing)
    assert isinstance(ask, acts.AskHuman)
    assert (ask.kind, ask.subject_id) == ("launch", 3)
    assert only(replace(failing, failed_launches=2)) == acts.Launch(task_id="task-01")
    settled = replace(failing, settled_asks=frozenset({("launch", 3)}))
    assert only(settled) == acts.Launch(task_id="task-01")
    assert isinstance(only(replace(settled, failed_launches=4)), acts.AskHuman)


# -- submissions --------------------------------------------------------------------------------------------------


def test_green_and_smooth_work_is_approved() -> None:
    assert only(reviewing()) == acts.Judge(
        task_id="task-01", message_id=7, verdict=State.REVIEW_APPROVED, text="Approved."
    )


def test_what_is_sent_back_says_why_and_rules_each_open_deviation_once() -> None:
    medium = Deviation(severity=Severity.MEDIUM, text="other file")
    found = submitted(work=SubmittedWork(tree_id="t", deviations=(medium,)), smoothness=6, ids=(31,))
    act = only(reviewing(found))
    assert isinstance(act, acts.Judge)
    assert (act.verdict, act.rules) == (State.REVIEW_FAILED, (31,))
    assert act.text.startswith("1. Medium deviation (other file)")
    assert "\n2. smoothness 6 of 9" in act.text
    ruled = replace(medium, ruled=True)
    found = submitted(work=SubmittedWork(tree_id="t", deviations=(ruled,)))
    approved = only(reviewing(found))
    assert isinstance(approved, acts.Judge)
    assert approved.rules == ()


def test_a_red_verification_is_sent_back_and_a_missing_one_is_run() -> None:
    red = Evidence(verification=Verification.RED, full=True, detail="test_x")
    act = only(reviewing(submitted(evidence=red)))
    assert isinstance(act, acts.Judge)
    assert act.verdict is State.REVIEW_FAILED
    for smoothness, evidence in ((0, None), (5, replace(GREEN, full=False))):
        found = submitted(evidence=evidence, smoothness=smoothness)
        assert only(reviewing(found)) == acts.VerifyFully(task_id="task-01", message_id=7)


@pytest.mark.parametrize(
    "found",
    [
        submitted(round=5),
        submitted(evidence=Evidence(verification=Verification.FLAKY, full=True)),
        submitted(work=SubmittedWork(tree_id="t", deviations=(Deviation(severity=Severity.HIGH, text="x"),))),
        submitted(sent_back=SubmittedWork(tree_id="t1")),
    ],
    ids=["fifth round", "flaky", "a High deviation", "unchanged"],
)
def test_what_only_a_person_may_decide_is_asked(found: orchestra.Submitted) -> None:
    act = only(reviewing(found))
    assert isinstance(act, acts.AskHuman)
    assert (act.kind, act.subject_id) == ("review", 7)


def test_a_person_can_take_the_place_of_the_rules() -> None:
    act = only(reviewing(reviewer=orchestra.Reviewer.HUMAN))
    assert isinstance(act, acts.AskHuman)
    assert act.text == "the plan asks for a person's review"


def test_a_task_that_waits_for_a_person_is_left_as_it_is() -> None:
    for waiting in (reviewing(), reporting(), task(state=State.EXITED, was_claimed=True)):
        assert decide(replace(waiting, has_open_ask=True)) == (acts.Standstill(),)


def test_what_a_dead_session_submitted_is_judged_before_its_task_is_taken_over() -> None:
    act = only(reviewing(owner=Owner.DEAD, is_running=False))
    assert isinstance(act, acts.Judge)
    answered = task(state=State.REVIEW_APPROVED, owner=Owner.DEAD, was_claimed=True)
    assert only(answered) == acts.TakeOver(task_id="task-01")


def test_a_submission_whose_message_is_still_to_come_is_waited_for_unless_its_owner_is_gone() -> None:
    torn = replace(reviewing(), submitted=None)
    assert decide(torn) == ()
    assert only(replace(torn, owner=Owner.STALE)) == acts.TakeOver(task_id="task-01")


# -- completions are merged on trial ------------------------------------------------------------------------------


def test_before_a_completion_is_approved_it_is_merged_on_trial() -> None:
    found = submitted(final=True)
    assert only(reviewing(found, is_isolated=True)) == acts.TryMerge(task_id="task-01", message_id=7)
    shared = only(reviewing(found))
    assert isinstance(shared, acts.Judge)
    assert shared.verdict is State.REVIEW_APPROVED
    green = submitted(final=True, trial=orchestra.Trial(outcome=orchestra.TrialOutcome.GREEN))
    act = only(reviewing(green, is_isolated=True))
    assert isinstance(act, acts.Judge)
    assert act.verdict is State.REVIEW_APPROVED
    assert act.text == "Approved; merged and verified with the others' work."


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (orchestra.TrialOutcome.CONFLICT, "conflicts with"),
        (orchestra.TrialOutcome.RED, "turns red together with"),
    ],
)
def test_a_conflict_or_a_red_merge_is_sent_back_and_then_goes_to_a_person(
    outcome: orchestra.TrialOutcome, said: str
) -> None:
    trial = orchestra.Trial(outcome=outcome, detail="a.py")
    act = only(reviewing(submitted(final=True, trial=trial), is_isolated=True))
    assert isinstance(act, acts.Judge)
    assert act.verdict is State.REVIEW_FAILED
    assert said in act.text
    assert act.text.endswith("a.py")
    again = replace(trial, earlier=1)
    ask = only(reviewing(submitted(final=True, trial=again), is_isolated=True))
    assert ask == acts.AskHuman(task_id="task-01", kind="conflict", subject_id=7, text=act.text)
    assert is_merge_trouble(act.text)
    assert not is_merge_trouble(f"1. {act.text}")


def test_a_complete_task_that_is_not_merged_is_merged() -> None:
    assert only(task(state=State.COMPLETE, is_isolated=True)) == acts.Merge(task_id="task-01")


# -- reports ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "projected", "verdict"),
    [
        (55, 65, State.REVIEW_APPROVED),
        (55, 70, State.REVIEW_APPROVED),
        (55, 80, State.REVIEW_APPROVED),
        (None, None, State.REVIEW_APPROVED),
        (55, 81, State.EXIT_REQUESTED),
        (65, 66, State.EXIT_REQUESTED),
    ],
)
def test_a_context_warning_is_answered_by_rule(
    used: float | None, projected: float | None, verdict: State
) -> None:
    act = only(reporting(is_context=True, used_pct=used, projected_pct=projected))
    if verdict is State.EXIT_REQUESTED:
        assert isinstance(act, acts.RequestExit)
        return
    assert isinstance(act, acts.Judge)
    assert (act.verdict, act.message_id) == (verdict, 8)


def test_an_error_is_played_once_more_and_the_same_one_twice_is_a_persons_business() -> None:
    act = only(reporting())
    assert isinstance(act, acts.Judge)
    assert (act.verdict, act.message_id) == (State.FIX_PROPOSED, 8)
    ask = only(reporting(is_repeat=True, text="gone\nand all that came before"))
    assert isinstance(ask, acts.AskHuman)
    assert (ask.kind, ask.text) == (
        "error",
        "the same error twice: gone; see musician log task-01",
    )


def test_what_cannot_be_played_as_the_plan_stands_is_a_persons_business_at_once() -> None:
    stuck = reporting(is_unplayable=True)
    ask = only(stuck)
    assert isinstance(ask, acts.AskHuman)
    assert (ask.kind, ask.text) == ("error", "gone")
    assert isinstance(only(replace(stuck, settled_asks=frozenset({("error", 8)}))), acts.Judge)


def test_an_error_without_its_report_is_waited_for() -> None:
    assert decide(replace(reporting(), report=None)) == ()


def test_a_question_is_a_persons_to_answer_whatever_else_is_due() -> None:
    act = only(replace(reporting(), question=(9, "which?")))
    assert act == acts.AskHuman(task_id="task-01", kind="question", subject_id=9, text="which?")


ANSWER = Opinion(judgement=Judgement.FIX, text="that one")
NO_ANSWER = Opinion(judgement=None, text="it crashed")


def test_an_agent_answers_a_question_before_a_person_is_asked() -> None:
    asking = task(question=(9, "which?"), is_answered_by_agent=True)
    assert only(asking) == acts.AskAnswerer(task_id="task-01", message_id=9, text="which?")
    text = f"{c.BY_AGENT}that one"
    answered = replace(asking, answers=((9, ANSWER),))
    assert only(answered) == acts.Answer(task_id="task-01", message_id=9, text=text)
    assert decide(replace(answered, has_open_ask=True)) == (acts.Standstill(),), "a person is at it"
    playing = replace(kept("task-01"), question=(9, "which?"), is_answered_by_agent=True, is_playing=True)
    assert decide(playing) == (), "what it asks about is not committed yet"
    assert isinstance(only(replace(playing, is_running=False)), acts.AskAnswerer)
    assert isinstance(only(replace(playing, is_answered_by_agent=False)), acts.AskHuman)


def test_an_agent_answers_an_error_that_is_a_persons_business_and_no_plan_that_lacks_something() -> None:
    repeated = replace(reporting(is_repeat=True), is_answered_by_agent=True)
    asked = only(repeated)
    assert isinstance(asked, acts.AskAnswerer)
    assert (asked.message_id, asked.text) == (8, "the same error twice: gone; see musician log task-01")
    assert only(replace(repeated, answers=((8, ANSWER),))) == acts.Judge(
        task_id="task-01", message_id=8, verdict=State.FIX_PROPOSED, text=f"{c.BY_AGENT}that one"
    )
    assert isinstance(only(replace(reporting(), is_answered_by_agent=True)), acts.Judge), "the rules decide"
    stuck = replace(reporting(is_unplayable=True), is_answered_by_agent=True, answers=((8, ANSWER),))
    assert isinstance(only(stuck), acts.AskHuman)


@pytest.mark.parametrize(
    ("answers", "why"),
    [(((9, NO_ANSWER),), "it crashed"), (((1, ANSWER), (2, NO_ANSWER)), "it has been asked 2 times already")],
)
def test_a_person_is_asked_where_the_agent_gives_no_answer_or_was_asked_too_often(
    answers: tuple[tuple[int, Opinion], ...], why: str
) -> None:
    for asking in (task(question=(9, "which?")), reporting(is_repeat=True, message_id=9)):
        act = only(replace(asking, is_answered_by_agent=True, answers=answers))
        assert isinstance(act, acts.AskHuman)
        assert act.text.endswith(f"\nThe plan's agent gave no answer: {why}")


def test_an_open_task_with_a_question_is_asked_about_and_not_launched() -> None:
    assert only(task(question=(9, "which?"))) == acts.AskHuman(
        task_id="task-01", kind="question", subject_id=9, text="which?"
    )


# -- sessions that end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", [Owner.DEAD, Owner.STALE])
@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_a_task_whose_owner_is_gone_is_taken_over(state: State, owner: Owner) -> None:
    assert only(task(state=state, owner=owner, was_claimed=True)) == acts.TakeOver(task_id="task-01")


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_an_owner_of_whom_nobody_can_tell_is_flagged_and_never_taken_over(state: State) -> None:
    act = only(task(state=state, owner=Owner.DOUBTFUL, was_claimed=True))
    assert isinstance(act, acts.AskHuman)
    assert act.kind == "doubtful"


@pytest.mark.parametrize("state", sorted(ACTIVE - CLAIMABLE))
def test_a_task_at_work_that_nobody_owns_is_flagged(state: State) -> None:
    act = only(task(state=state, was_claimed=True))
    assert isinstance(act, acts.AskHuman)
    assert act.text == f"it is {state}, and no session owns it: hand it off, and it goes on"
    assert decide(task(state=state, is_running=True)) == ()


def test_an_exited_task_is_reopened_for_its_next_session() -> None:
    assert only(task(state=State.EXITED, was_claimed=True, exit_reason="context exhaustion")) == acts.Reopen(
        task_id="task-01"
    )


def test_retry_exhaustion_goes_to_a_person_once() -> None:
    gave_up = task(state=State.EXITED, was_claimed=True, exit_reason="retry exhaustion: step 1: gone")
    ask = only(gave_up)
    assert isinstance(ask, acts.AskHuman)
    assert (ask.kind, ask.subject_id) == ("retries", 1)
    settled = replace(gave_up, settled_asks=frozenset({("retries", 1)}))
    assert only(settled) == acts.Reopen(task_id="task-01")
    assert isinstance(only(replace(settled, epoch=2)), acts.AskHuman)


@pytest.mark.parametrize("state", [State.EXITED, State.FIX_PROPOSED])
def test_three_sessions_that_end_without_progress_go_to_a_person(state: State) -> None:
    fruitless = task(state=state, was_claimed=True, empty_sessions=3, exit_reason="died")
    ask = only(fruitless)
    assert isinstance(ask, acts.AskHuman)
    assert (ask.kind, ask.subject_id) == ("progress", 1)
    assert "the last: died; see .musician/logs/task-01.musician.log" in ask.text
    assert not isinstance(only(replace(fruitless, empty_sessions=2)), acts.AskHuman)
    assert not isinstance(only(replace(fruitless, settled_asks=frozenset({("progress", 1)}))), acts.AskHuman)


def test_what_no_retry_heals_is_put_to_a_person_at_the_first() -> None:
    """AUDIT-S8: and again by each session that finds it so, but not while nobody has tried since the answer."""
    unfit = task(
        state=State.EXITED,
        was_claimed=True,
        empty_sessions=1,
        exit_reason=f"{NO_RETRY_HELPS}.git is read-only",
    )
    ask = only(unfit)
    assert isinstance(ask, acts.AskHuman)
    assert (ask.kind, ask.subject_id) == ("trouble", 1)
    assert ".git is read-only" in ask.text
    assert isinstance(only(replace(unfit, settled_asks=frozenset({("trouble", 1)}))), acts.Reopen)
    assert isinstance(only(replace(unfit, empty_sessions=0)), acts.Reopen)
    assert isinstance(only(replace(unfit, exit_reason="could not go on: busy")), acts.Reopen)


# -- the end ------------------------------------------------------------------------------------------------------


def test_the_run_is_finished_when_every_task_is_complete_and_merged() -> None:
    tasks = (
        task("task-01", State.COMPLETE),
        task("task-02", State.COMPLETE, is_isolated=True, is_merged=True),
    )
    assert decide(*tasks) == (acts.Finish(),)
    assert decide() == (acts.Finish(),)


def test_a_plan_with_a_withdrawn_task_is_not_complete() -> None:
    """AUDIT-P9."""
    done, withdrawn = task("task-01", State.COMPLETE), task("task-02", State.EXITED)
    ask = only(done, withdrawn)
    assert isinstance(ask, acts.AskHuman)
    assert "musician handoff" in ask.text
    assert decide(done, replace(withdrawn, has_open_ask=True)) == (acts.Standstill(),)


def test_while_anybody_can_go_on_there_is_no_standstill() -> None:
    waiting = task("task-01", State.WORKING, owner=Owner.LIVE, is_running=True, has_open_ask=True)
    assert decide(waiting) == (acts.Standstill(),)
    assert decide(waiting, kept("task-02")) == ()
    assert decide(replace(waiting, is_playing=True)) == ()
    by_hand = task("task-02", State.WORKING, owner=Owner.LIVE, was_claimed=True)
    assert decide(waiting, by_hand) == ()


def test_without_places_the_conductor_waits_for_what_others_may_claim_and_for_nothing_else() -> None:
    open_task, later = task("task-01"), task("task-02", phase=2)
    assert decide(open_task, later, jobs=0) == ()
    asked = replace(open_task, has_open_ask=True)
    assert decide(asked, later, jobs=0) == (acts.Standstill(),)
    by_hand = task("task-01", State.WORKING, owner=Owner.LIVE, was_claimed=True)
    assert decide(by_hand, jobs=0) == ()
    done = task("task-01", State.COMPLETE)
    assert decide(done, task("task-02", State.EXITED, was_claimed=True, phase=2), jobs=0) == (
        acts.Reopen(task_id="task-02"),
    )
