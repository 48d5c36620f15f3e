"""Review by rule: smoothness from facts, and the verdicts of D18 (D14, D16, D17, REF-8)."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.review import (
    Evidence,
    Roughness,
    Submission,
    SubmittedWork,
    VerdictKind,
    Verification,
    judge_by_rule,
    smoothness,
    summed_up,
    worse,
)
from musician.protocol.settings import Limits, Settings

SETTINGS = Settings()
GREEN = Evidence(verification=Verification.GREEN, full=False)
FULL = replace(GREEN, full=True)
LOW = Deviation(severity=Severity.LOW, text="other name")
MEDIUM = Deviation(severity=Severity.MEDIUM, text="fix first, not TDD")
OTHER_MEDIUM = Deviation(severity=Severity.MEDIUM, text="skipped a file")
HIGH = Deviation(severity=Severity.HIGH, text="new architecture")


def ruled(*deviations: Deviation) -> tuple[Deviation, ...]:
    return tuple(replace(each, ruled=True) for each in deviations)


def submit(*deviations: Deviation, tree: str | None = "t1", **facts: Any) -> Submission:
    given_facts: dict[str, Any] = {"evidence": GREEN, "smoothness": 0, **facts}
    return Submission(work=SubmittedWork(tree_id=tree, deviations=deviations), **given_facts)


def verdict(submission: Submission) -> VerdictKind:
    return judge_by_rule(submission, SETTINGS).kind


def test_rules_approve_only_what_was_played_and_left_a_trace() -> None:
    """AUDIT-V5, D29: of a completion without a change they cannot tell whether anything was done."""
    empty = replace(FULL, changed_files=0)
    assert verdict(submit(evidence=empty, final=True)) is VerdictKind.ASK_HUMAN
    assert verdict(submit(evidence=empty, final=True, may_change_nothing=True)) is VerdictKind.APPROVE
    assert verdict(submit(evidence=empty)) is VerdictKind.APPROVE, "a checkpoint half way may change nothing"
    assert verdict(submit(evidence=replace(FULL, changed_files=1), final=True)) is VerdictKind.APPROVE
    left = judge_by_rule(submit(evidence=FULL, final=True, unplayed=("step 1", "step 2")), SETTINGS)
    assert left.kind is VerdictKind.SEND_BACK
    assert "step 1, step 2" in left.reasons[0]


# --- smoothness


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Roughness(), 0),
        (Roughness(failed_verifications=1), 1),
        (Roughness(failed_verifications=9), 3),
        (Roughness(error_reports=1), 2),
        (Roughness(error_reports=9), 4),
        (Roughness(self_corrected=True), 2),
        (Roughness(subagent_retries=1), 1),
        (Roughness(subagent_retries=9), 2),
        (Roughness(deviations=(LOW,)), 1),
        (Roughness(deviations=(LOW,) * 9), 2),
        (Roughness(deviations=(MEDIUM,)), 2),
        (Roughness(deviations=(MEDIUM,) * 9), 9),
        (Roughness(deviations=(HIGH,)), 4),
        (Roughness(deviations=(HIGH, HIGH, HIGH)), 9),
        (Roughness(deviations=ruled(LOW, MEDIUM, HIGH)), 0),
        (Roughness(self_corrected=True, deviations=(MEDIUM,)), 4),  # the sources' review request
    ],
)
def test_each_fact_adds_its_points_up_to_its_cap(facts: Roughness, expected: int) -> None:
    assert smoothness(facts) == expected


@pytest.mark.parametrize(
    ("claimed", "expected"), [(None, 3), (0, 3), (3, 3), (4, 4), (9, 9), (42, 9), (-7, 3)]
)
def test_the_agent_may_make_the_score_worse_never_better(claimed: int | None, expected: int) -> None:
    assert worse(3, claimed) == expected


roughnesses = st.builds(
    Roughness,
    failed_verifications=st.integers(0, 6),
    error_reports=st.integers(0, 6),
    deviations=st.lists(st.sampled_from([LOW, MEDIUM, HIGH, *ruled(MEDIUM, HIGH)]), max_size=5).map(tuple),
    self_corrected=st.booleans(),
    subagent_retries=st.integers(0, 6),
)


@given(roughnesses)
def test_the_score_agrees_with_counting_one_point_at_a_time(facts: Roughness) -> None:
    occurrences = (
        ["red"] * facts.failed_verifications
        + ["error"] * facts.error_reports
        + [each.severity.value for each in facts.deviations if not each.ruled]
        + ["correction"] * facts.self_corrected
        + ["retry"] * facts.subagent_retries
    )
    each = {"red": 1, "error": 2, "Low": 1, "Medium": 2, "High": 4, "correction": 2, "retry": 1}
    room = {"red": 3, "error": 4, "Low": 2, "Medium": 9, "High": 9, "correction": 2, "retry": 2}
    score = 0
    for name in occurrences:
        for _ in range(each[name]):
            if room[name] > 0:
                room[name] -= 1
                score += 1
    assert smoothness(facts) == (score if score < 9 else 9)


@given(roughnesses, roughnesses)
def test_more_of_any_fact_never_makes_the_score_better(facts: Roughness, more: Roughness) -> None:
    for each in fields(Roughness):
        value, extra = getattr(facts, each.name), getattr(more, each.name)
        added: dict[str, Any] = {each.name: (value or extra) if isinstance(value, bool) else value + extra}
        assert smoothness(replace(facts, **added)) >= smoothness(facts)


# --- verdicts


@pytest.mark.parametrize("score", range(5))
def test_green_and_smooth_is_approved(score: int) -> None:
    answer = judge_by_rule(submit(smoothness=score), SETTINGS)
    assert (answer.kind, answer.reasons) == (VerdictKind.APPROVE, ())


def test_smoothness_five_is_verified_in_full_first() -> None:
    assert verdict(submit(smoothness=5)) is VerdictKind.VERIFY_FULLY_FIRST
    assert verdict(submit(smoothness=5, evidence=FULL)) is VerdictKind.APPROVE


@pytest.mark.parametrize("score", range(6, 10))
def test_smoothness_six_and_over_is_sent_back(score: int) -> None:
    answer = judge_by_rule(submit(smoothness=score, evidence=FULL), SETTINGS)
    assert answer.kind is VerdictKind.SEND_BACK
    assert f"smoothness {score} of 9" in answer.reasons[0]


def test_the_last_checkpoint_is_approved_on_a_full_verification_only() -> None:
    assert verdict(submit(final=True)) is VerdictKind.VERIFY_FULLY_FIRST
    assert verdict(submit(final=True, evidence=FULL)) is VerdictKind.APPROVE


def test_nothing_is_approved_without_evidence() -> None:
    assert verdict(submit(evidence=None)) is VerdictKind.VERIFY_FULLY_FIRST


def test_a_red_verification_is_sent_back_with_what_fails() -> None:
    red = Evidence(verification=Verification.RED, full=False, detail="2 of 14 tests fail")
    answer = judge_by_rule(submit(evidence=red), SETTINGS)
    assert answer.kind is VerdictKind.SEND_BACK
    assert answer.reasons == ("the verification fails: 2 of 14 tests fail",)


@pytest.mark.parametrize("verification", [Verification.CANNOT_RUN, Verification.FLAKY])
@pytest.mark.parametrize("full", [True, False])
def test_tests_that_cannot_run_or_contradict_themselves_go_to_a_human(
    verification: Verification, full: bool
) -> None:
    answer = judge_by_rule(submit(evidence=Evidence(verification=verification, full=full)), SETTINGS)
    assert answer.kind is VerdictKind.ASK_HUMAN
    assert len(answer.reasons) == 1


def test_a_low_deviation_is_approved() -> None:
    answer = judge_by_rule(submit(LOW, *ruled(MEDIUM)), SETTINGS)
    assert answer.kind is VerdictKind.APPROVE


def test_one_open_medium_is_sent_back() -> None:
    answer = judge_by_rule(submit(MEDIUM, LOW), SETTINGS)
    assert answer.kind is VerdictKind.SEND_BACK
    assert answer.reasons == (
        "Medium deviation (fix first, not TDD): undo it, or show in the work that it is needed",
    )


def test_a_ruled_deviation_is_not_ruled_again_when_the_work_comes_back_changed() -> None:
    first = submit(MEDIUM)
    again = submit(*ruled(MEDIUM), tree="t2", round=2, sent_back=first.work)
    answer = judge_by_rule(again, SETTINGS)
    assert answer.kind is VerdictKind.APPROVE


def test_a_second_open_medium_goes_to_a_human() -> None:
    answer = judge_by_rule(submit(MEDIUM, OTHER_MEDIUM), SETTINGS)
    assert answer.kind is VerdictKind.ASK_HUMAN
    assert answer.reasons == (
        "Medium deviation (fix first, not TDD)",
        "Medium deviation (skipped a file)",
    )
    assert verdict(submit(*ruled(MEDIUM), OTHER_MEDIUM)) is VerdictKind.SEND_BACK


def test_one_open_high_goes_to_a_human() -> None:
    assert verdict(submit(LOW, HIGH)) is VerdictKind.ASK_HUMAN
    assert verdict(submit(LOW, *ruled(HIGH))) is VerdictKind.APPROVE


def test_a_self_correction_that_broke_the_estimate_goes_to_a_human() -> None:
    answer = judge_by_rule(submit(LOW, estimate_broken=True), SETTINGS)
    assert answer.kind is VerdictKind.ASK_HUMAN
    assert answer.reasons == ("a self-correction made the way to the next checkpoint too dear",)
    answer = judge_by_rule(submit(LOW, OTHER_MEDIUM, estimate_broken=True), SETTINGS)
    assert "Medium deviation (skipped a file)" in answer.reasons, "one alone would not be named"


def test_a_fault_without_a_detail_ends_with_what_it_is() -> None:
    answer = judge_by_rule(submit(evidence=Evidence(verification=Verification.RED, full=False)), SETTINGS)
    assert answer.reasons == ("the verification fails",)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, VerdictKind.APPROVE),
        (4, VerdictKind.APPROVE),
        (5, VerdictKind.ASK_HUMAN),
        (6, VerdictKind.ASK_HUMAN),
    ],
)
def test_the_fifth_round_on_one_checkpoint_goes_to_a_human(count: int, expected: VerdictKind) -> None:
    assert verdict(submit(round=count)) is expected


def test_the_rounds_allowed_are_a_setting() -> None:
    settings = Settings(limits=Limits(review_rounds=2))
    assert judge_by_rule(submit(round=2), settings).kind is VerdictKind.ASK_HUMAN


def test_an_unchanged_resubmission_goes_to_a_human() -> None:
    first = submit(LOW)
    assert verdict(submit(LOW, round=2, sent_back=first.work)) is VerdictKind.ASK_HUMAN
    assert verdict(submit(*ruled(LOW), round=2, sent_back=first.work)) is VerdictKind.ASK_HUMAN


@pytest.mark.parametrize(
    "changed",
    [
        submit(LOW, tree="t2"),
        submit(tree="t1"),
        submit(replace(LOW, text="the planned name after all")),
        submit(LOW, replace(LOW, text="a third name")),
        submit(LOW, tree=None),
    ],
)
def test_a_changed_resubmission_is_judged_as_any_other(changed: Submission) -> None:
    before = SubmittedWork(tree_id="t1", deviations=(LOW,))
    assert verdict(replace(changed, round=2, sent_back=before)) is VerdictKind.APPROVE


def test_trees_that_nobody_can_name_are_not_taken_for_the_same() -> None:
    before = SubmittedWork(tree_id=None)
    assert verdict(submit(tree=None, round=2, sent_back=before)) is VerdictKind.APPROVE


def test_a_verdict_gives_every_reason_at_once() -> None:
    red = Evidence(verification=Verification.RED, full=True)
    assert len(judge_by_rule(submit(MEDIUM, evidence=red, smoothness=7), SETTINGS).reasons) == 3
    flaky = Evidence(verification=Verification.FLAKY, full=True)
    worst = submit(HIGH, evidence=flaky, round=5, estimate_broken=True)
    assert len(judge_by_rule(replace(worst, sent_back=worst.work), SETTINGS).reasons) == 5


@pytest.mark.parametrize("facts", [{"smoothness": 10}, {"smoothness": -1}, {"round": 0}])
def test_a_submission_with_impossible_numbers_is_not_made(facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not"):
        submit(**facts)


submissions = st.builds(
    Submission,
    work=st.builds(
        SubmittedWork,
        tree_id=st.sampled_from([None, "t1", "t2"]),
        deviations=st.lists(
            st.sampled_from([LOW, MEDIUM, OTHER_MEDIUM, HIGH, *ruled(MEDIUM, HIGH)]), max_size=3
        ).map(tuple),
    ),
    evidence=st.none() | st.builds(Evidence, verification=st.sampled_from(Verification), full=st.booleans()),
    smoothness=st.integers(0, 9),
    round=st.integers(1, 6),
    final=st.booleans(),
    sent_back=st.none() | st.just(SubmittedWork(tree_id="t1", deviations=(LOW,))),
    estimate_broken=st.booleans(),
)


@given(submissions)
def test_an_approval_means_that_every_rule_for_it_holds(submission: Submission) -> None:
    evidence, deviations = submission.evidence, submission.work.deviations
    unruled = [each.severity.value for each in deviations if not each.ruled]
    same = (
        submission.sent_back is not None
        and submission.work.tree_id == "t1"
        and {(each.severity, each.text) for each in deviations} == {(LOW.severity, LOW.text)}
    )
    human = (
        (evidence is not None and evidence.verification.value in {"cannot_run", "flaky"})
        or unruled.count("Medium") >= 2
        or "High" in unruled
        or submission.estimate_broken
        or submission.round > 4
        or same
    )
    back = (
        (evidence is not None and evidence.verification.value == "red")
        or "Medium" in unruled
        or submission.smoothness > 5
    )
    verify = evidence is None or (not evidence.full and (submission.final or submission.smoothness == 5))
    expected = (
        "ask_human" if human else "send_back" if back else "verify_fully_first" if verify else "approve"
    )
    answer = judge_by_rule(submission, SETTINGS)
    assert answer.kind == expected
    assert bool(answer.reasons) == (expected != "approve")


@given(st.lists(st.integers(0, 9)))
def test_a_phases_smoothness_is_the_average_and_the_worst_of_its_submissions(scores: list[int]) -> None:
    found = summed_up(scores)
    if not scores:
        assert found is None
        return
    assert found is not None
    assert found.submissions == len(scores)
    assert abs(found.mean * len(scores) - sum(scores)) < 1e-9
    assert found.worst in scores
    assert all(found.worst >= score for score in scores)
