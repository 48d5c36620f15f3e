"""A reviewing agent's opinion, and how far it counts (D18.6)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.conductor import acts, orchestra
from musician.protocol.conductor import engine as c
from musician.protocol.conductor.opinion import (
    Judgement,
    Opinion,
    before_asking,
    form_answer,
    form_opinion,
    judge_by_opinion,
)
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.liveness import Owner
from musician.protocol.rules.review import Evidence, Submission, SubmittedWork, VerdictKind, Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State

GREEN = Evidence(verification=Verification.GREEN, full=True)
LOW, MEDIUM, HIGH = (Deviation(severity=each, text=f"a {each} one") for each in Severity)
APPROVE, REJECT, FIX = Judgement


def submission(*deviations: Deviation, **more: object) -> Submission:
    facts: dict[str, object] = {"evidence": GREEN, "smoothness": 0, **more}
    return Submission(work=SubmittedWork(tree_id="t1", deviations=deviations), **facts)  # type: ignore[arg-type]


def act_on(found: Submission, opinion: Opinion | None, ids: tuple[int, ...] = ()) -> acts.Act:
    waiting = orchestra.Submitted(message_id=7, submission=found, deviation_ids=ids, opinion=opinion)
    task = orchestra.TaskFacts(
        task_id="task-01",
        state=State.NEEDS_REVIEW,
        phase=1,
        epoch=1,
        owner=Owner.LIVE,
        is_isolated=False,
        reviewer=orchestra.Reviewer.AGENT,
        submitted=waiting,
    )
    (act,) = c.decide(orchestra.Orchestra(tasks=(task,), jobs=1, settings=Settings()))
    return act


# -- what it said -------------------------------------------------------------------------------------------------


def test_one_verdict_is_an_opinion_and_several_of_one_kind_are_its_points() -> None:
    assert form_opinion([(APPROVE, "")]) == Opinion(judgement=APPROVE, text="")
    assert form_opinion([(REJECT, "too long")]).text == "too long"
    assert form_opinion([(FIX, "a"), (FIX, "b")]) == Opinion(judgement=FIX, text="1. a\n2. b")


@pytest.mark.parametrize(
    ("given_verdicts", "ruled", "trouble", "why"),
    [
        ([], (), "", "it said none"),
        ([(APPROVE, ""), (REJECT, "x")], (), "", "it says approve and reject"),
        ([(REJECT, "")], (), "", "it says reject without a reason"),
        ([(FIX, "")], (), "", "it says fix without a reason"),
        ([(APPROVE, "")], (2,), "", "it rules number 2, and there are 1"),
        ([(APPROVE, "")], (), "ended with exit code 1", "ended with exit code 1"),
    ],
)
def test_no_answer_a_crash_and_a_contradiction_are_no_verdict(
    given_verdicts: list[tuple[Judgement, str]], ruled: tuple[int, ...], trouble: str, why: str
) -> None:
    opinion = form_opinion(given_verdicts, ruled=ruled, shown=1, trouble=trouble)
    assert opinion == Opinion(judgement=None, text=why)
    act = act_on(submission(), opinion)
    assert isinstance(act, acts.AskHuman)
    assert act.text == f"the reviewing agent gave no verdict: {why}"


# -- what is decided without it -----------------------------------------------------------------------------------


def test_it_is_asked_once_what_must_be_verified_is() -> None:
    assert act_on(submission(), None) == acts.AskReviewer(task_id="task-01", message_id=7)
    assert act_on(submission(MEDIUM, HIGH, smoothness=9), None) == acts.AskReviewer(
        task_id="task-01", message_id=7
    )
    partly = replace(GREEN, full=False)
    for found in (submission(evidence=None), submission(evidence=partly, smoothness=5)):
        assert act_on(found, None) == acts.VerifyFully(task_id="task-01", message_id=7)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"evidence": Evidence(verification=Verification.CANNOT_RUN, full=True)}, VerdictKind.ASK_HUMAN),
        ({"evidence": Evidence(verification=Verification.FLAKY, full=True)}, VerdictKind.ASK_HUMAN),
        ({"evidence": Evidence(verification=Verification.RED, full=True)}, VerdictKind.SEND_BACK),
        ({"round": 5}, VerdictKind.ASK_HUMAN),
        ({"estimate_broken": True}, VerdictKind.ASK_HUMAN),
        ({"sent_back": SubmittedWork(tree_id="t1")}, VerdictKind.ASK_HUMAN),
        ({"round": 4}, None),
        ({"sent_back": SubmittedWork(tree_id="t0")}, None),
    ],
)
def test_the_rules_limits_hold_whatever_it_would_say(
    more: dict[str, object], kind: VerdictKind | None
) -> None:
    found = submission(**more)
    decided = before_asking(found, Settings())
    assert (decided and decided.kind) == kind
    act = act_on(found, Opinion(judgement=APPROVE, text=""))
    assert (isinstance(act, acts.Judge) and act.verdict is State.REVIEW_APPROVED) is (kind is None)


# -- what it comes to ---------------------------------------------------------------------------------------------


def test_its_verdict_is_the_conductors_with_its_words() -> None:
    for judgement, state in ((REJECT, State.REVIEW_FAILED), (FIX, State.FIX_PROPOSED)):
        assert act_on(submission(), Opinion(judgement=judgement, text="too long")) == acts.Judge(
            task_id="task-01", message_id=7, verdict=state, text="1. too long"
        )
        several = act_on(submission(), Opinion(judgement=judgement, text="1. a\n2. b"))
        assert isinstance(several, acts.Judge)
        assert several.text == "1. a\n2. b"
    for text, said in (("", "Approved."), ("well done", "Approved. well done")):
        approved = act_on(submission(), Opinion(judgement=APPROVE, text=text))
        assert approved == acts.Judge(
            task_id="task-01", message_id=7, verdict=State.REVIEW_APPROVED, text=said
        )


def test_a_grave_deviation_it_approves_without_ruling_it_goes_to_a_person() -> None:
    found = submission(LOW, MEDIUM, HIGH)
    act = act_on(found, Opinion(judgement=APPROVE, text="", ruled=frozenset({3})), (11, 12, 13))
    assert isinstance(act, acts.AskHuman)
    assert "leaves unruled: Medium deviation (a Medium one)" in act.text
    ruled = act_on(found, Opinion(judgement=APPROVE, text="", ruled=frozenset({2, 3})), (11, 12, 13))
    assert isinstance(ruled, acts.Judge)
    assert (ruled.verdict, ruled.rules) == (State.REVIEW_APPROVED, (11, 12, 13))


def test_what_it_sends_back_rules_only_the_deviations_it_named() -> None:
    act = act_on(submission(LOW, MEDIUM), Opinion(judgement=REJECT, text="x", ruled=frozenset({2})), (11, 12))
    assert isinstance(act, acts.Judge)
    assert act.rules == (12,)


@given(
    st.lists(st.tuples(st.sampled_from(Judgement), st.sampled_from(["", "a", "b"])), max_size=3),
    st.sets(st.integers(0, 4)),
    st.lists(st.sampled_from([LOW, MEDIUM, HIGH]), max_size=3),
    st.sampled_from(["", "it crashed"]),
)
def test_an_approval_means_that_it_said_so_clearly_and_left_nothing_grave_open(
    verdicts: list[tuple[Judgement, str]], ruled: set[int], deviations: list[Deviation], trouble: str
) -> None:
    opinion = form_opinion(verdicts, ruled=ruled, shown=len(deviations), trouble=trouble)
    verdict = judge_by_opinion(submission(*deviations), opinion)
    said_so = bool(verdicts) and {each for each, _ in verdicts} == {APPROVE}
    left = [each for number, each in enumerate(deviations, 1) if number not in ruled and each is not LOW]
    can_be = all(1 <= number <= len(deviations) for number in ruled)
    expected = said_so and not trouble and not left and can_be
    assert (verdict.kind is VerdictKind.APPROVE) is expected


# -- an answering agent -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "for_a_person", "trouble", "opinion"),
    [
        (["a"], [], "", Opinion(judgement=FIX, text="a")),
        (["a", "", "b"], [], "", Opinion(judgement=FIX, text="a\nb")),
        ([], [], "", Opinion(judgement=None, text="it said nothing")),
        (["a"], ["it costs money", "much"], "", Opinion(judgement=None, text="it costs money; much")),
        (["a"], [], "it crashed", Opinion(judgement=None, text="it crashed")),
    ],
)
def test_replies_together_are_one_answer_and_any_doubt_is_a_persons(
    replies: list[str], for_a_person: list[str], trouble: str, opinion: Opinion
) -> None:
    assert form_answer(replies, for_a_person=for_a_person, trouble=trouble) == opinion
