"""Findings of the base's referee: what may change, and what needs a judge (D26)."""

from typing import Any

import pytest

from musician.protocol.conductor import acts, orchestra
from musician.protocol.conductor import engine as c
from musician.protocol.conductor.opinion import Judgement, Opinion, before_asking, judge_by_opinion
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.referee import Finding, FindingKind, may_change
from musician.protocol.rules.review import (
    ROUGHEST,
    Evidence,
    Submission,
    SubmittedWork,
    VerdictKind,
    Verification,
    judge_by_rule,
)
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import replace

FOUND = Finding(kind=FindingKind.REMOVED, text="tests/test_a.py: a::b")
SUBMITTED = Submission(
    work=SubmittedWork(tree_id="t1"),
    evidence=Evidence(verification=Verification.GREEN, full=True),
    smoothness=0,
    final=True,
    findings=(str(FOUND), "another"),
)


@pytest.mark.parametrize(
    ("patterns", "paths", "may"),
    [
        ((), ("test_a.py",), False),
        (("test_a.py",), (), False),
        (("test_a.py",), ("test_a.py",), True),
        (("./test_a.py",), ("test_a.py",), True),
        (("test_a.py",), ("test_a.py", "test_b.py"), False),
        (("test_a.py", "test_?.py"), ("test_a.py", "test_b.py"), True),
        (("test_*.py",), ("tests/test_a.py",), False),
        (("*/test_*.py",), ("tests/test_a.py",), True),
        (("*/test_*.py",), ("tests/deep/test_a.py",), False),
        (("**/test_*.py",), ("test_a.py", "tests/deep/test_a.py"), True),
        (("tests/**",), ("tests/deep/test_a.py",), True),
        (("tests/",), ("tests/deep/test_a.py",), True),
        (("test[a].py",), ("testa.py",), False),
        (("test_a.py",), ("test_aXpy",), False),
    ],
)
def test_what_may_change_is_named_by_patterns(
    patterns: tuple[str, ...], paths: tuple[str, ...], may: bool
) -> None:
    assert may_change(patterns, paths) is may


def test_the_rules_let_no_finding_pass() -> None:
    """D26.4"""
    verdict = judge_by_rule(SUBMITTED, Settings())
    assert verdict.kind is VerdictKind.ASK_HUMAN
    assert verdict.reasons == ("needs a judge: removed test: tests/test_a.py: a::b", "needs a judge: another")


def test_what_the_conductor_alone_has_found_goes_to_a_person_whoever_judges() -> None:
    """D26.4: of a raw writer's work no journal says it, so no agent could rule it by its number."""
    found = Evidence(verification=Verification.GREEN, full=True, findings=(str(FOUND),))
    raw = replace(SUBMITTED, evidence=found, findings=())
    for verdict in (judge_by_rule(raw, Settings()), before_asking(raw, Settings())):
        assert verdict is not None
        assert verdict.kind is VerdictKind.ASK_HUMAN
        assert verdict.reasons == ("needs a judge: removed test: tests/test_a.py: a::b",)


def test_a_reviewing_agent_rules_each_by_its_number() -> None:
    approve = Opinion(judgement=Judgement.APPROVE, text="", ruled=frozenset({1, 2}))
    assert judge_by_opinion(SUBMITTED, approve).kind is VerdictKind.APPROVE
    left = judge_by_opinion(SUBMITTED, Opinion(judgement=Judgement.APPROVE, text="", ruled=frozenset({1})))
    assert left.kind is VerdictKind.ASK_HUMAN
    assert "leaves unruled: another" in left.reasons[0]


def judged(
    opinion: Opinion | None, reviewer: orchestra.Reviewer, submission: Submission = SUBMITTED
) -> acts.Act:
    waiting = orchestra.Submitted(message_id=7, submission=submission, finding_ids=(21, 22), opinion=opinion)
    task = orchestra.TaskFacts(
        task_id="task-01",
        state=State.NEEDS_REVIEW,
        phase=1,
        epoch=1,
        owner=Owner.LIVE,
        is_isolated=False,
        reviewer=reviewer,
        submitted=waiting,
    )
    (act,) = c.decide(orchestra.Orchestra(tasks=(task,), jobs=1, settings=Settings()))
    return act


def test_an_approval_rules_all_findings_and_a_rejection_those_it_names() -> None:
    all_of_them = frozenset({1, 2})
    act = judged(Opinion(judgement=Judgement.APPROVE, text="", ruled=all_of_them), orchestra.Reviewer.AGENT)
    assert isinstance(act, acts.Judge)
    assert (act.verdict, act.rules) == (State.REVIEW_APPROVED, (21, 22))
    act = judged(
        Opinion(judgement=Judgement.REJECT, text="no", ruled=frozenset({2})), orchestra.Reviewer.AGENT
    )
    assert isinstance(act, acts.Judge)
    assert (act.verdict, act.rules) == (State.REVIEW_FAILED, (22,))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"smoothness": ROUGHEST},
        {"work": SubmittedWork(tree_id="t", deviations=(Deviation(severity=Severity.HIGH, text="x"),))},
    ],
)
def test_what_the_rules_may_not_decide_goes_to_the_reviewing_agent_before_it_goes_to_a_person(
    more: dict[str, Any],
) -> None:
    """D18.6: findings, a rough submission, a grave deviation; the rules alone would ask a person about each."""
    found = replace(SUBMITTED, **more)
    assert isinstance(judged(None, orchestra.Reviewer.RULES, found), acts.AskHuman)
    assert isinstance(judged(None, orchestra.Reviewer.AGENT, found), acts.AskReviewer)
    unclear = judged(Opinion(judgement=None, text="it said none"), orchestra.Reviewer.AGENT, found)
    assert isinstance(unclear, acts.AskHuman)


def test_a_person_who_reviews_is_told_of_them() -> None:
    act = judged(None, orchestra.Reviewer.HUMAN)
    assert isinstance(act, acts.AskHuman)
    assert "needs a judge: another" in act.text


def test_what_a_reviewer_has_let_pass_is_known() -> None:
    found = Entry(kind=EntryKind.FINDING, item="checkpoint 1", text="another")
    assert Progress().after([found]).accepted == frozenset()
    accepted = Entry(kind=EntryKind.FINDING, item="checkpoint 1", text="another", ruled=True)
    assert Progress().after([accepted]).accepted == {"another"}
