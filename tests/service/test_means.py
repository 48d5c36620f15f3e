"""What agents have used and were granted, as the ceilings count it."""

from pathlib import Path

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.rules.ceilings import Account, Amounts, Scope
from musician.protocol.spending import Usage
from musician.reporting.asks import still_asked
from musician.store.port import Store
from tests.service.test_plan_verbs import lock, plan, task


def claim(task_id: str, epoch: int = 1) -> Claim:
    return Claim(task_id=task_id, session_id=f"of-{task_id}-{epoch}", epoch=epoch)


def use(store: Store, task_id: str, *, epoch: int = 1, item: str = "step 1") -> None:
    usage = Usage(
        model="m", input_tokens=10, cache_read_tokens=5, cache_write_tokens=3, output_tokens=2, turns=1
    )
    service.record_usage(store, claim(task_id, epoch), item, Usage(model="m", cost_usd=0.5, turns=1))
    service.record_usage(store, claim(task_id, epoch), item, usage)


USED = Amounts(cost_usd=0.5, tokens=20, turns=2)


@pytest.fixture
def locked(store: Store) -> Store:
    lock(store, plan((task("task-01"), task("task-02")), plan_id="one"))
    lock(store, plan((task("task-03"),), plan_id="two"))
    return store


def day(store: Store) -> Amounts:
    return service.accounts_of_task(store, "task-01")[Scope.DAY].used


def test_what_a_piece_tells_in_parts_is_one_row_for_each_model_and_session(locked: Store) -> None:
    """CEIL-14."""
    use(locked, "task-01")
    use(locked, "task-01")
    use(locked, "task-01", item="step 2")
    use(locked, "task-01", epoch=2)
    rows = service.task_view(locked, "task-01").usage
    assert [(row.item, row.claim_epoch, row.cost_usd, row.turns) for row in rows] == [
        ("step 1", 1, 1.0, 4),
        ("step 2", 1, 0.5, 2),
        ("step 1", 2, 0.5, 2),
    ]


def test_accounts_are_of_the_task_its_plan_and_of_all_plans_today(locked: Store) -> None:
    for task_id in ("task-01", "task-02", "task-03"):
        use(locked, task_id)
    service.record_playtime(locked, claim("task-01"), 1.5)
    service.record_playtime(locked, claim("task-01"), 1.0)
    of_one = service.accounts_of_task(locked, "task-01")
    assert of_one[Scope.TASK].used == Amounts(cost_usd=0.5, tokens=20, turns=2, time_s=2.5)
    assert of_one[Scope.PLAN].used == Amounts(cost_usd=1.0, tokens=40, turns=4, time_s=2.5)
    assert of_one[Scope.DAY].used == Amounts(cost_usd=1.5, tokens=60, turns=6, time_s=2.5)
    of_plan = service.accounts_of_plan(locked, "one")
    assert of_plan["task-01"] == of_one
    assert of_plan[""][Scope.TASK] == Account()
    assert of_plan[""][Scope.PLAN] == of_one[Scope.PLAN]
    service.open_task(locked, "alone", title="t", instruction_path="p.md")
    assert Scope.PLAN not in service.accounts_of_task(locked, "alone")


def test_a_grant_counts_for_the_task_its_plan_and_the_day_and_settles_what_was_asked_of_the_plan(
    locked: Store,
) -> None:
    """CEIL-2."""
    for task_id, kind in (("task-01", "budget"), ("task-01", "question"), ("task-03", "budget")):
        service.ask_human(locked, task_id, kind=kind, subject_id=1, text="?")
    service.send(locked, "task-02", "go on", more=Amounts(cost_usd=2.0, turns=5))
    granted = Amounts(cost_usd=2.0, turns=5)
    accounts = service.accounts_of_task(locked, "task-02")
    assert {account.granted for account in accounts.values()} == {granted}
    assert service.accounts_of_task(locked, "task-01")[Scope.TASK].granted == Amounts()
    assert [(ask.task_id, ask.kind) for ask in service.open_asks(locked)] == [
        ("task-01", "question"),
        ("task-03", "budget"),
    ]


def test_a_word_grants_nothing_and_the_question_of_a_ceiling_stays(locked: Store) -> None:
    """CEIL-17: or the task would be begun, ask again, and be begun with the next word. Whoever says it is told."""
    for kind in ("budget", "question"):
        service.ask_human(locked, "task-01", kind=kind, subject_id=2, text="it has used 5 tokens of 5")
    service.send(locked, "task-01", "go on")
    assert [ask.kind for ask in service.open_asks(locked)] == ["budget"]
    said = still_asked(locked, "task-01")
    assert 'musician send task-01 "go on" --more 2000000tokens' in said
    service.send(locked, "task-01", "go on", more=Amounts(tokens=9))
    assert still_asked(locked, "task-01") == ""
    service.ask_human(locked, "task-01", kind="budget", subject_id=2, text="it has used 14 tokens of 14")
    service.withdraw(locked, "task-01", "not any more")
    assert not service.open_asks(locked), "refused, by taking it out of the plan"


def test_a_plan_that_is_archived_restored_or_dropped_does_not_give_the_day_back(
    locked: Store, tmp_path: Path
) -> None:
    """CEIL-5."""
    use(locked, "task-01")
    use(locked, "task-03")
    both = Amounts(cost_usd=1.0, tokens=40, turns=4)
    service.archive_plan(locked, "two", tmp_path / "two.db", abandoned="no time")
    assert day(locked) == both
    assert service.accounts_of_task(locked, "task-01")[Scope.PLAN].used == USED
    service.restore_plan(locked, "two", tmp_path / "two.db")
    assert day(locked) == both
    assert service.accounts_of_task(locked, "task-03")[Scope.TASK].used == USED
    service.archive_plan(locked, "two", tmp_path / "two.db", abandoned="no time")
    service.drop_plan(locked, "two")
    assert day(locked) == both
