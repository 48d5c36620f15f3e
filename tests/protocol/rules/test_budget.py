"""Budgets: context by thresholds and projections, agents that fit, errors left (D3, D15, REF-3, case B28)."""

from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.budget import (
    LEAST_AGENT_COST_PCT,
    WARNING_STANCES,
    Reading,
    Stance,
    agents_that_fit,
    answer_by_rule,
    average_agent_cost,
    breaks_estimate,
    evaluate,
    project,
    reading_from_pct,
    reading_from_tokens,
)
from musician.protocol.settings import Context, Settings
from musician.protocol.states import State

SETTINGS = Settings()
percents = st.floats(0, 100)
tenths = st.integers(0, 1000).map(lambda n: n / 10)
PRESSING = list(Stance)


@pytest.mark.parametrize(
    ("used", "window", "expected"),
    [
        (0, 200_000, 0),
        (98_000, 200_000, 49),
        (100_000, 200_000, 50),
        (128_000, 200_000, 64),
        (130_000, 200_000, 65),
        (114_000, 200_000, 57),
        (200_000, 200_000, 100),
        (200_001, 200_000, None),
        (360_236, 200_000, None),
        (-1, 200_000, None),
        (10, 0, None),
        (0, 0, None),
        (10, -5, None),
        (10, None, None),
    ],
)
def test_tokens_that_cannot_be_are_unknown(used: int, window: int | None, expected: float | None) -> None:
    assert reading_from_tokens(used, window) == Reading(used_pct=expected)


def test_a_set_window_wins_over_the_reported_one() -> None:
    """B28: 360,236 tokens of a window reported as 200,000, on a session that really has 1,000,000."""
    assert reading_from_tokens(360_236, 200_000, set_window=1_000_000).used_pct == 36.0236
    assert reading_from_tokens(360_236, None, set_window=1_000_000).used_pct == 36.0236
    assert reading_from_tokens(360_236, 1_000_000, set_window=200_000).used_pct is None


@given(st.integers(-10, 10**7), st.integers(-10, 10**7))
def test_a_reading_agrees_with_the_fraction(used: int, window: int) -> None:
    reading = reading_from_tokens(used, window)
    if window <= 0 or used < 0 or used > window:
        assert reading.used_pct is None
    else:
        assert reading.used_pct == float(Fraction(100 * used, window))


@pytest.mark.parametrize("impossible", [-0.1, 100.1, 180, nan, inf, -inf])
def test_a_percentage_that_cannot_be_is_unknown(impossible: float) -> None:
    assert reading_from_pct(impossible) == Reading(used_pct=None)
    with pytest.raises(ValueError, match="0 to 100"):
        Reading(used_pct=impossible)


@pytest.mark.parametrize("possible", [None, 0, 58, 100])
def test_a_possible_percentage_is_kept(possible: float | None) -> None:
    assert reading_from_pct(possible).used_pct == possible


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (0, Stance.GO_ON),
        (49, Stance.GO_ON),
        (49.999, Stance.GO_ON),
        (50, Stance.GO_ON_SPARINGLY),
        (64, Stance.GO_ON_SPARINGLY),
        (64.999, Stance.GO_ON_SPARINGLY),
        (65, Stance.PREPARE_HANDOFF),
        (74, Stance.PREPARE_HANDOFF),
        (74.999, Stance.PREPARE_HANDOFF),
        (75, Stance.EXIT),
        (100, Stance.EXIT),
    ],
)
def test_used_context_has_its_thresholds_exactly(used: float, expected: Stance) -> None:
    assert evaluate(used, used, SETTINGS) is expected
    assert evaluate(used, None, SETTINGS) is expected


@pytest.mark.parametrize(
    ("projected", "expected"),
    [
        (50, Stance.GO_ON_SPARINGLY),
        (69, Stance.GO_ON_SPARINGLY),
        (69.999, Stance.GO_ON_SPARINGLY),
        (70, Stance.ASK),
        (71, Stance.ASK),
        (79, Stance.ASK),
        (80, Stance.ASK),
        (80.001, Stance.PAUSE),
        (81, Stance.PAUSE),
        (340, Stance.PAUSE),
        (None, Stance.GO_ON_SPARINGLY),
        (nan, Stance.GO_ON_SPARINGLY),
    ],
)
def test_projected_context_has_its_thresholds_exactly_from_50_used_on(
    projected: float | None, expected: Stance
) -> None:
    assert evaluate(50, projected, SETTINGS) is expected
    assert evaluate(64.9, projected, SETTINGS) is expected
    assert evaluate(49.9, projected, SETTINGS) is Stance.GO_ON


@pytest.mark.parametrize("used", [None, nan, -1, 100.5, 180.118])
@pytest.mark.parametrize("projected", [None, 0, 75, 99])
def test_an_unknown_reading_forces_nothing(used: float | None, projected: float | None) -> None:
    assert evaluate(used, projected, SETTINGS) is Stance.GO_ON


@given(st.none() | percents, st.none() | st.floats(0, 700))
def test_the_stance_agrees_with_a_table_read_from_the_most_pressing(
    used: float | None, projected: float | None
) -> None:
    u = -1.0 if used is None else used
    p = -1.0 if projected is None else projected
    table = [
        (u >= 75, "exit"),
        (75 > u >= 65, "prepare_handoff"),
        (65 > u >= 50 and p > 80, "pause"),
        (65 > u >= 50 and 70 <= p <= 80, "ask"),
        (65 > u >= 50 and p < 70, "go_on_sparingly"),
        (u < 50, "go_on"),
    ]
    assert [name for holds, name in table if holds] == [evaluate(used, projected, SETTINGS).value]


@given(percents, percents, st.floats(0, 200), st.floats(0, 200))
def test_more_used_or_projected_is_never_less_pressing(u1: float, u2: float, p1: float, p2: float) -> None:
    low = evaluate(min(u1, u2), min(p1, p2), SETTINGS)
    high = evaluate(max(u1, u2), max(p1, p2), SETTINGS)
    assert PRESSING.index(low) <= PRESSING.index(high)


def test_the_stances_that_warn_and_wait_are_the_three_between() -> None:
    assert {stance.value for stance in WARNING_STANCES} == {"ask", "pause", "prepare_handoff"}


def test_the_thresholds_are_those_of_the_settings() -> None:
    context = Context(
        economy_from_pct=30, ask_from_pct=35, pause_over_pct=36, handoff_from_pct=40, exit_from_pct=45
    )
    settings = Settings(context=context)
    readings = [(29, 99), (30, 34), (30, 35), (30, 37), (40, 0), (45, 0)]
    assert [evaluate(used, projected, settings) for used, projected in readings] == PRESSING
    assert agents_that_fit(32, 8, settings) == 1
    assert answer_by_rule(30, 37, settings).state is State.EXIT_REQUESTED


@pytest.mark.parametrize(
    ("costs", "self_corrected", "expected"),
    [
        ([], False, 8),
        ([], True, 48),
        ([4, 6], False, 5),
        ([4, 6], True, 30),
        ([-30, 4], False, 4),
        ([nan, 101, 4], False, 4),
        ([100], False, 100),
        ([-30], False, 8),
        ([0, 0], False, LEAST_AGENT_COST_PCT),
        ([0, 3], False, 1.5),
    ],
)
def test_an_agent_costs_the_sessions_own_average_six_fold_after_a_self_correction(
    costs: list[float], self_corrected: bool, expected: float
) -> None:
    assert average_agent_cost(costs, self_corrected=self_corrected, settings=SETTINGS) == expected


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=20), st.booleans())
def test_the_average_lies_between_the_costs(costs: list[float], self_corrected: bool) -> None:
    factor = 6 if self_corrected else 1
    average = average_agent_cost(costs, self_corrected=self_corrected, settings=SETTINGS) / factor
    assert min(costs) - 1e-9 <= average <= max(costs) + 1e-9


@pytest.mark.parametrize(
    ("used", "cost", "expected"),
    [
        (0, 8, 8),
        (47, 8, 2),
        (49, 8, 2),
        (57, 8, 1),
        (57.1, 8, 0),
        (58, 8, 0),
        (58, 48, 0),
        (64, 1, 1),
        (64.9, 0.1, 1),
        (58.5, 0.1, 65),
        (65, 8, 0),
        (66, 0.1, 0),
        (100, 8, 0),
        (0, 0, 650),
    ],
)
def test_agents_that_fit_are_the_floor_of_the_room_up_to_65(used: float, cost: float, expected: int) -> None:
    assert agents_that_fit(used, cost, SETTINGS) == expected


@pytest.mark.parametrize("used", [None, nan, 101, -1])
def test_nobody_knows_how_many_agents_fit_an_unknown_reading(used: float | None) -> None:
    assert agents_that_fit(used, 8, SETTINGS) is None
    assert project(used, 3, 8) is None


@given(tenths, st.integers(1, 1000).map(lambda n: n / 10))
def test_agents_that_fit_agree_with_launching_one_after_another(used: float, cost: float) -> None:
    at, step, launched = Fraction(str(used)), Fraction(str(cost)), 0
    while at + step <= 65:
        at += step
        launched += 1
    assert agents_that_fit(used, cost, SETTINGS) == launched


@given(percents, percents, st.floats(0.1, 100), st.floats(0.1, 100))
def test_fewer_agents_fit_when_more_is_used_or_they_cost_more(
    u1: float, u2: float, c1: float, c2: float
) -> None:
    roomy = agents_that_fit(min(u1, u2), min(c1, c2), SETTINGS)
    tight = agents_that_fit(max(u1, u2), max(c1, c2), SETTINGS)
    assert roomy is not None
    assert tight is not None
    assert 0 <= tight <= roomy


@given(tenths, st.integers(0, 50), st.integers(1, 1000).map(lambda n: n / 10))
def test_a_projection_adds_each_piece(used: float, pieces: int, cost: float) -> None:
    total = used
    for _ in range(pieces):
        total += cost
    assert project(used, pieces, cost) == pytest.approx(total)


def test_pieces_are_counted_from_none() -> None:
    assert project(52, 0, 8) == 52
    with pytest.raises(ValueError, match="counted from 0"):
        project(52, -1, 8)


@pytest.mark.parametrize(
    ("used", "pieces", "costs", "expected"),
    [
        (30, 1, [], True),  # 38 before, 78 after
        (20, 1, [], False),  # 28 before, 68 after
        (22, 1, [], True),  # 30 before, exactly 70 after
        (52, 4, [4.5], False),  # exactly 70 before already
        (52, 0, [], False),
        (None, 4, [], False),
    ],
)
def test_a_self_correction_breaks_an_estimate_that_was_clear_before(
    used: float | None, pieces: int, costs: list[float], expected: bool
) -> None:
    assert breaks_estimate(used, pieces, costs, SETTINGS) is expected


@pytest.mark.parametrize(
    ("used", "projected", "state"),
    [
        (52, 69, State.REVIEW_APPROVED),
        (52, 69.999, State.REVIEW_APPROVED),
        (52, 70, State.REVIEW_APPROVED),
        (52, 71, State.REVIEW_APPROVED),
        (52, 79, State.REVIEW_APPROVED),
        (52, 80, State.REVIEW_APPROVED),
        (52, 80.001, State.EXIT_REQUESTED),
        (52, 83, State.EXIT_REQUESTED),
        (64.999, 66, State.REVIEW_APPROVED),
        (65, 66, State.EXIT_REQUESTED),
        (65, None, State.EXIT_REQUESTED),
        (75, 90, State.EXIT_REQUESTED),
        (52, None, State.REVIEW_APPROVED),
        (None, None, State.REVIEW_APPROVED),
        (None, 60, State.REVIEW_APPROVED),
        (None, 85, State.EXIT_REQUESTED),
        (180, 75, State.REVIEW_APPROVED),
        (52, nan, State.REVIEW_APPROVED),
    ],
)
def test_the_conductor_answers_a_warning_by_rule(
    used: float | None, projected: float | None, state: State
) -> None:
    answer = answer_by_rule(used, projected, SETTINGS)
    assert answer.state is state
    assert answer.text.endswith(".")


def test_from_70_projected_an_approval_reaches_to_the_checkpoint_only() -> None:
    texts = [answer_by_rule(50, projected, SETTINGS).text for projected in (69.9, 70, None)]
    assert texts[0] != texts[1] == texts[2]


@given(percents, st.floats(0, 200))
def test_what_asks_is_let_through_to_the_checkpoint_and_what_presses_harder_is_not(
    used: float, projected: float
) -> None:
    stance = evaluate(used, projected, SETTINGS)
    answer = answer_by_rule(used, projected, SETTINGS)
    if stance is Stance.ASK:
        assert answer.state is State.REVIEW_APPROVED
    elif stance in (Stance.PAUSE, Stance.PREPARE_HANDOFF, Stance.EXIT):
        assert answer.state is State.EXIT_REQUESTED
    else:
        assert used < 50 or answer.state is State.REVIEW_APPROVED
