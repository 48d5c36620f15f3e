"""A plan is locked once and amended with care; ids are unique per database (D4, D8, DESIGN 7)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from musician import service
from musician.plans.model import Checkpoint, Phase, Plan, TaskSpec
from musician.protocol.errors import BadId, ClaimBlocked, IllegalEvent, PlanChanged, StillPlayed, UnknownPlan
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.queries.plans import Plans
from tests.conftest import Walk, every_task
from tests.said import evidence, submission

Untouched = Callable[[], AbstractContextManager[None]]


def task(task_id: str, *, after: tuple[str, ...] = (), danger: tuple[str, ...] = ()) -> TaskSpec:
    final = Checkpoint(number=1, title="", prose="", tests=(), rework=(), final=True, line=1)
    return TaskSpec(
        task_id=task_id,
        title=f"Title of {task_id}",
        overview="",
        items=(final,),
        danger=danger,
        after=after,
        source_path="PLAN.md",
        line=1,
    )


def plan(*phases: tuple[TaskSpec, ...], plan_id: str = "greeter", text: str = "as it was") -> Plan:
    return Plan(
        plan_id=plan_id,
        title="Greeter",
        overview="",
        phases=tuple(
            Phase(number=number, title=f"Phase {number}", tasks=tasks)
            for number, tasks in enumerate(phases, start=1)
        ),
        path="PLAN.md",
        text=text,
        sha256=text,
    )


def paths(of: Plan, *, suffix: str = "") -> dict[str, str]:
    return {each.task_id: f".musician/{each.task_id}{suffix}.md" for each in of.tasks}


def lock(store: Store, of: Plan) -> bool:
    return service.lock_plan(
        store, of, base_branch="main", base_commit="c0", instructions=paths(of), retry_limit=3
    )


def amend(store: Store, to: Plan, *, suffix: str = "", withdrawn: tuple[str, ...] = ()) -> None:
    service.amend_plan(store, to, instructions=paths(to, suffix=suffix), withdrawn=withdrawn)


def instructions(store: Store, task_id: str) -> list[tuple[str, str]]:
    return [(message.message_type, message.message) for message in service.messages_of(store, task_id)]


PLAN = plan((task("task-01"), task("task-02", after=("task-01",))), (task("task-03"),))


def dependencies(store: Store) -> tuple[object, ...]:
    return store.ask("SELECT task_id, after FROM dependencies", most_rows=9, most_bytes=999).rows


def test_locking_opens_every_task_with_its_instruction(store: Store) -> None:
    with Bell(Path(store.name), "task-00") as bell:
        assert lock(store, PLAN)
        assert bell.drain()
    rows = service.tasks_of(store, "greeter")
    assert [(row.task_id, row.phase, row.position, row.state, row.retry_limit) for row in rows] == [
        ("task-01", 1, 1, State.WATCHING, 3),
        ("task-02", 1, 2, State.WATCHING, 3),
        ("task-03", 2, 1, State.WATCHING, 3),
    ]
    assert instructions(store, "task-02") == [("instruction", ".musician/task-02.md")]
    opened = service.history_of(store, "task-02")[0]
    assert (opened.from_state, opened.to_state, opened.who, opened.message_type) == (
        None,
        State.WATCHING,
        "task-00",
        MessageType.INSTRUCTION,
    )
    locked = service.plan_row(store, "greeter")
    assert locked is not None
    assert (locked.sha256, locked.base_branch, locked.base_commit) == ("as it was", "main", "c0")
    with store.read() as tx:
        assert [row.title for row in tx.all(Plans.phases, plan_id="greeter")] == ["Phase 1", "Phase 2"]
    assert dependencies(store) == (("task-02", "task-01"),)


def test_locking_the_same_plan_again_changes_nothing(store: Store, untouched: Untouched) -> None:
    lock(store, PLAN)
    with untouched():
        assert not lock(store, PLAN)


def test_a_changed_plan_is_refused(store: Store, untouched: Untouched) -> None:
    lock(store, PLAN)
    with untouched(), pytest.raises(PlanChanged) as changed:
        lock(store, plan((task("task-01"),), text="another"))
    assert changed.value.plan_id == "greeter"


@pytest.mark.parametrize("task_id", ["task-00", "fallback-x", "../x", "CON"])
def test_a_plan_with_a_bad_id_opens_nothing(store: Store, untouched: Untouched, task_id: str) -> None:
    with untouched(), pytest.raises(BadId):
        lock(store, plan((task("task-01"), task(task_id))))


def test_two_plans_cannot_have_one_task(store: Store, untouched: Untouched) -> None:
    lock(store, PLAN)
    other = plan((task("task-10"), task("task-01")), plan_id="other")
    with untouched(), pytest.raises(IllegalEvent):
        lock(store, other)
    lock(store, plan((task("task-10"),), plan_id="other"))
    with untouched(), pytest.raises(IllegalEvent):
        amend(store, other)
    assert [row.plan_id for row in service.all_plans(store)] == ["greeter", "other"]


def test_an_amended_plan_keeps_what_is_done_and_takes_up_the_rest(store: Store) -> None:
    lock(store, PLAN)
    service.claim(store, "task-01", "a", settings=Settings())
    new = plan((task("task-04"), task("task-01")), (task("task-02"),), text="new")
    amend(store, new, suffix=".new", withdrawn=("task-03",))
    rows = {row.task_id: row for row in service.tasks_of(store, "greeter")}
    assert (rows["task-01"].state, rows["task-01"].position) == (State.WORKING, 2)
    assert (rows["task-02"].phase, rows["task-02"].instruction_path) == (2, ".musician/task-02.new.md")
    assert rows["task-03"].state is State.EXITED
    assert rows["task-04"].state is State.WATCHING
    for task_id in ("task-01", "task-02"):
        assert instructions(store, task_id) == [
            ("instruction_superseded", f".musician/{task_id}.md"),
            ("instruction", f".musician/{task_id}.new.md"),
        ]
    assert dependencies(store) == ()
    locked = service.plan_row(store, "greeter")
    assert locked is not None
    assert locked.sha256 == "new"


def test_unchanged_instructions_are_not_sent_again(store: Store) -> None:
    lock(store, PLAN)
    amend(store, plan(*(phase.tasks for phase in PLAN.phases), text="a comment more"))
    assert len(instructions(store, "task-01")) == 1


def test_a_complete_task_keeps_its_instructions_and_takes_its_new_place(store: Store, walk: Walk) -> None:
    lock(store, plan((task("task-01"),)))
    claim = service.claim(store, "task-01", "a", settings=Settings()).claim
    service.submit(store, claim, submission(MessageType.COMPLETION, "x"), verified=evidence())
    service.judge(store, "task-01", State.REVIEW_APPROVED, "x")
    service.complete(store, claim, report_path="p", report="r", notice="n")
    amend(store, plan((task("task-02"),), (task("task-01"),), text="new"), suffix=".new")
    row = service.task_row(store, "task-01")
    assert (row.state, row.phase) == (State.COMPLETE, 2)
    assert [kind for kind, _ in instructions(store, "task-01") if kind.startswith("instruction")] == [
        "instruction"
    ]


def test_a_claimed_task_cannot_be_withdrawn_and_the_amendment_is_refused_whole(
    store: Store, untouched: Untouched
) -> None:
    lock(store, PLAN)
    service.claim(store, "task-03", "a", out_of_turn=True, settings=Settings())
    with untouched(), pytest.raises(StillPlayed) as refused:
        amend(store, plan((task("task-01"), task("task-05")), text="new"), withdrawn=("task-02", "task-03"))
    assert refused.value.task_id == "task-03"


def test_what_was_never_there_needs_no_withdrawing(store: Store) -> None:
    lock(store, PLAN)
    amend(store, PLAN, withdrawn=("task-99",))
    assert [row.task_id for row in every_task(store)] == ["task-01", "task-02", "task-03"]


def test_a_plan_that_was_never_locked_is_not_amended(store: Store, untouched: Untouched) -> None:
    with untouched(), pytest.raises(UnknownPlan):
        amend(store, PLAN)
    assert service.plan_row(store, "greeter") is None


def test_a_task_without_a_plan_stands_by_itself(store: Store, untouched: Untouched) -> None:
    service.open_task(store, "task-07", title="T", instruction_path="a.md", retry_limit=2)
    row = service.task_row(store, "task-07")
    assert (row.plan_id, row.phase, row.retry_limit, row.state) == (None, None, 2, State.WATCHING)
    with untouched(), pytest.raises(IllegalEvent):
        service.open_task(store, "task-07", title="T", instruction_path="b.md")
    for bad in ("task-00", "fallback-a", "../a"):
        with untouched(), pytest.raises(BadId):
            service.open_task(store, bad, title="T", instruction_path="a.md")


def test_what_shares_a_dangerous_file_is_known_anew_after_an_amendment(store: Store) -> None:
    """PLAN-11: a task is claimed while another is at work on its files only if the plan no longer says so."""
    shared = plan((task("task-01", danger=("a.toml",)), task("task-02", danger=("a.toml",))))
    lock(store, shared)
    service.claim(store, "task-01", "s1", settings=Settings())
    with pytest.raises(ClaimBlocked) as blocked:
        service.claim(store, "task-02", "s2", quiet=True, settings=Settings())
    assert blocked.value.reason == "task-01 is at work on the same dangerous files"
    apart = plan((task("task-01", danger=("a.toml",)), task("task-02", danger=("b.toml",))), text="apart")
    paths = {each.task_id: f"docs/{each.task_id}.md" for each in apart.tasks}
    service.amend_plan(store, apart, instructions=paths, withdrawn=())
    assert service.claim(store, "task-02", "s2", settings=Settings()).is_new
