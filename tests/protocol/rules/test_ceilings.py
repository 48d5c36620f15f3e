"""Ceilings: what is reached, who fits in beside whom, and what a grant helps."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import BadField
from musician.protocol.rules.ceilings import (
    NUMBERED,
    Account,
    Accounts,
    Amounts,
    Measure,
    Scope,
    example_of,
    fits_beside,
    left_of,
    measures_of,
    reached,
    read_amounts,
    within_budget,
    write_amounts,
)
from musician.protocol.settings import Ceilings

NONE = Ceilings()
LARGE = 10**5


def amounts(measure: Measure, amount: float) -> Amounts:
    return Amounts(**{measure.value: amount})  # type: ignore[arg-type]


def used(measure: Measure, amount: float, granted: float = 0.0) -> Account:
    return Account(used=amounts(measure, amount), granted=amounts(measure, granted))


def ceilings(**given: float) -> Ceilings:
    return Ceilings(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scope", "measure"), NUMBERED)
def test_a_ceiling_is_reached_from_its_amount_on_and_by_its_own_measure_and_scope_alone(
    scope: Scope, measure: Measure
) -> None:
    """CEIL-1: each of the twelve, just below, on it and above; and no other amount counts towards it."""
    one = ceilings(**{f"{scope}_{measure}": 10})
    for amount, is_reached in ((9, False), (10, True), (11, True)):
        found = reached({scope: used(measure, amount)}, one)
        assert (found is not None) == is_reached
        if found is not None:
            assert (found.scope, found.measure, found.used, found.ceiling) == (scope, measure, amount, 10)
            assert NUMBERED[found.number - 1] == (scope, measure)
            assert found.setting == f"ceilings.{scope}_{measure}"
            assert found.setting in found.text
    for other_scope, other in product(Scope, Measure):
        if (other_scope, other) != (scope, measure):
            assert reached({other_scope: used(other, LARGE)}, one) is None


def test_what_is_0_is_no_ceiling_and_a_grant_makes_none_of_it() -> None:
    everything = {scope: used(measure, LARGE, granted=1) for scope, measure in NUMBERED}
    assert reached(everything, NONE) is None
    assert reached({}, ceilings(task_turns=1)) is None


def test_the_narrowest_ceiling_is_told_first() -> None:
    accounts: Accounts = {scope: used(Measure.COST, 5) for scope in Scope}
    found = reached(accounts, ceilings(task_cost_usd=5, plan_cost_usd=5, day_cost_usd=5))
    assert found is not None
    assert found.text == "it has used $5.00 of $5.00 (ceilings.task_cost_usd)"
    found = reached(accounts, ceilings(plan_cost_usd=5))
    assert found is not None
    assert found.text == "its plan has used $5.00 of $5.00 (ceilings.plan_cost_usd)"


@pytest.mark.parametrize(
    ("measure", "amount", "said"),
    [
        (Measure.COST, 0.004, "$0.0040 of"),
        (Measure.COST, 12.345, "$12.35 of"),
        (Measure.TOKENS, 1_234_567, "1,234,567 tokens of"),
        (Measure.TURNS, 3, "3 turns of"),
        (Measure.TIME, 61.4, "61 s of"),
    ],
)
def test_amounts_are_said_in_their_unit(measure: Measure, amount: float, said: str) -> None:
    found = reached(
        {Scope.DAY: used(measure, amount)}, ceilings(**{f"day_{measure}": 1 if amount >= 1 else 0.001})
    )
    assert found is not None
    assert f"this day has used {said}" in found.text


def test_a_grant_raises_every_ceiling_in_its_way() -> None:
    """CEIL-2: what was granted is added to the setting, and used up like it."""
    both = ceilings(task_turns=10, plan_turns=10)
    given = {scope: used(Measure.TURNS, 10, granted=5) for scope in (Scope.TASK, Scope.PLAN)}
    assert reached(given, both) is None
    more = reached({scope: used(Measure.TURNS, 15, granted=5) for scope in given}, both)
    assert more is not None
    assert (more.used, more.ceiling) == (15, 15)


def test_what_tasks_at_work_may_still_use_is_reserved() -> None:
    """CEIL-3: launched beside others is only what fits in as well; alone, a task is played with what is left."""
    limits = ceilings(task_cost_usd=5, plan_cost_usd=10)
    fresh: Accounts = {Scope.PLAN: used(Measure.COST, 0)}
    assert fits_beside(fresh, [Account()], limits)
    assert not fits_beside(fresh, [Account(), Account()], limits)
    begun: Accounts = {Scope.PLAN: used(Measure.COST, 3)}
    assert not fits_beside(begun, [used(Measure.COST, 2)], limits)  # 3 used, 3 reserved, 4 left
    assert fits_beside({Scope.PLAN: used(Measure.COST, 2)}, [used(Measure.COST, 2)], limits)
    assert fits_beside({Scope.PLAN: used(Measure.COST, 9.5)}, [], limits)


def test_of_a_task_that_has_begun_what_it_has_used_is_not_reserved_again() -> None:
    limits = ceilings(task_tokens=100, plan_tokens=150)
    own: Accounts = {Scope.TASK: used(Measure.TOKENS, 60), Scope.PLAN: used(Measure.TOKENS, 70)}
    assert fits_beside(own, [used(Measure.TOKENS, 60)], limits)  # 80 left, 40 reserved, 40 needed
    assert not fits_beside(own, [used(Measure.TOKENS, 59)], limits)
    assert fits_beside(own, [used(Measure.TOKENS, 200)], limits)  # one that is over reserves nothing


def test_without_a_ceiling_of_its_own_a_task_reserves_nothing() -> None:
    plan = {Scope.PLAN: used(Measure.TIME, 5)}
    assert fits_beside(plan, [Account()] * 50, ceilings(plan_time_s=6))
    assert fits_beside(plan, [Account()], ceilings(task_cost_usd=1))


@given(
    st.lists(st.integers(0, 20), max_size=6),
    st.integers(1, 20),
    st.integers(20, 60),
)
def test_what_is_launched_together_never_exceeds_the_plans_ceiling(
    at_work: list[int], task: int, plan: int
) -> None:
    """Whoever fits in can use all of its own ceiling, and so can the others."""
    limits = ceilings(task_turns=task, plan_turns=plan)
    own = {Scope.PLAN: used(Measure.TURNS, sum(at_work))}
    others = [used(Measure.TURNS, each) for each in at_work]
    if others and fits_beside(own, others, limits):
        assert sum(max(task, each) for each in at_work) + task <= plan


@pytest.mark.parametrize(
    ("texts", "amounts"),
    [
        (("5usd",), Amounts(cost_usd=5)),
        (("0.25 USD", "1usd"), Amounts(cost_usd=1.25)),
        (("2000000tokens", "50turns", "3600s"), Amounts(tokens=2_000_000, turns=50, time_s=3600)),
        ((), Amounts()),
    ],
)
def test_what_a_person_grants_is_written_with_its_unit(texts: tuple[str, ...], amounts: Amounts) -> None:
    assert read_amounts(texts) == amounts


@pytest.mark.parametrize(
    "text", ["5", "usd", "-5usd", "0usd", "5eur", "nanusd", "1e9tokens", "", "5usd more", "٥usd"]
)
def test_what_is_no_amount_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(BadField, match="2000000tokens"):
        read_amounts([text])


@pytest.mark.parametrize("text", ["0.5tokens", "1.25turns"])
def test_half_a_token_is_refused_and_not_granted_as_none(text: str) -> None:
    """CEIL-17."""
    with pytest.raises(BadField, match="counted whole"):
        read_amounts([text])
    assert read_amounts(["2.0turns", "0.5s"]) == Amounts(turns=2, time_s=0.5)


@pytest.mark.parametrize("number", range(1, 13))
def test_every_ceiling_has_an_example_of_a_grant_that_helps(number: int) -> None:
    scope, measure = NUMBERED[number - 1]
    granted = read_amounts([example_of(number)])
    at_it = Account(used=amounts(measure, 1), granted=granted)
    assert reached({scope: at_it}, ceilings(**{f"{scope}_{measure}": 1})) is None


def test_what_is_set_and_what_it_leaves() -> None:
    limits = ceilings(task_time_s=10, day_time_s=100, plan_tokens=5)
    assert measures_of(limits) == {Measure.TIME, Measure.TOKENS}
    assert measures_of(NONE) == frozenset()
    accounts = {Scope.TASK: used(Measure.TIME, 4, granted=1)}
    assert list(left_of(Measure.TIME, accounts, limits)) == [7, 100]
    assert list(left_of(Measure.COST, accounts, limits)) == []


def test_a_budget_is_the_tasks_ceiling_for_what_it_says_and_the_settings_are_for_the_rest() -> None:
    """CEIL-18."""
    limits = ceilings(task_turns=10, task_tokens=100, plan_turns=30)
    mine = within_budget({Scope.TASK: used(Measure.TURNS, 12, granted=1)}, Amounts(turns=12, time_s=5))
    assert reached(mine, limits) is None
    found = reached(within_budget({Scope.TASK: used(Measure.TURNS, 12)}, Amounts(turns=12)), limits)
    assert found is not None
    assert (found.is_budget, found.ceiling, found.text) == (
        True,
        12,
        "it has used 12 turns of 12 turns (the task's budget)",
    )
    assert reached(within_budget({Scope.TASK: used(Measure.TOKENS, 100)}, Amounts(turns=12)), limits)
    assert measures_of(NONE, Amounts(), Amounts(time_s=5)) == {Measure.TIME}
    assert list(left_of(Measure.TIME, mine, NONE)) == [5]


def test_a_budget_is_reserved_of_the_plans_ceiling() -> None:
    """CEIL-18: without it a task reserved nothing."""
    limits = ceilings(plan_turns=30)
    twenty = Account(budget=Amounts(turns=20))
    assert fits_beside({}, [twenty], limits)
    assert not fits_beside({Scope.TASK: twenty}, [twenty], limits)
    assert fits_beside({Scope.TASK: Account(budget=Amounts(turns=10))}, [twenty], limits)


AMOUNTS = st.builds(
    Amounts,
    cost_usd=st.integers(0, 10**15).map(lambda millionths: millionths / 10**6),
    tokens=st.integers(0, 10**11),
    turns=st.integers(0, 10**9),
    time_s=st.integers(0, 10**12).map(lambda thousandths: thousandths / 1000),
)


@given(AMOUNTS)
def test_amounts_are_read_as_they_are_written(amounts: Amounts) -> None:
    assert read_amounts(write_amounts(amounts)) == amounts
