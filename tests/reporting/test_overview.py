"""Nothing is said to run that is not known to live."""

import pytest

from musician import service
from musician.protocol.rules.liveness import Owner
from musician.protocol.states import State
from musician.reporting.overview import MOST_LINES, Lane, PlanLines, TaskLine, overview_of
from musician.store.port import Store
from tests.conftest import Walk


def lane(store: Store, owner: Owner | None, *, is_conducted: bool = True) -> Lane:
    look = overview_of(store, is_conducted=is_conducted, owner_of=lambda _: owner)
    ((task,),) = (each.tasks for each in look.plans)
    return task.lane


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (Owner.LIVE, Lane.RUNNING),
        (Owner.SILENT, Lane.UNKNOWN),
        (Owner.DOUBTFUL, Lane.UNKNOWN),
        (Owner.STALE, Lane.STANDS_STILL),
        (Owner.DEAD, Lane.STANDS_STILL),
        (None, Lane.UNKNOWN),
    ],
)
def test_a_task_at_work_stands_where_its_owner_is_known_to_be(
    store: Store, walk: Walk, owner: Owner | None, expected: Lane
) -> None:
    walk(store, "task-01", State.WORKING)
    assert lane(store, owner) is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State.WATCHING, Lane.LATER),
        (State.EXITED, Lane.STANDS_STILL),
        (State.COMPLETE, Lane.DONE),
    ],
)
def test_a_task_at_rest_needs_no_owner(store: Store, walk: Walk, state: State, expected: Lane) -> None:
    walk(store, "task-01", state)
    assert lane(store, None) is expected


def test_what_a_person_must_do_comes_before_all_else(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW)
    assert lane(store, Owner.LIVE, is_conducted=False) is Lane.NEEDS_YOU
    assert lane(store, Owner.LIVE, is_conducted=True) is Lane.RUNNING


SMALL, LARGE = MOST_LINES, MOST_LINES + 1


def plan_of(walk: Walk, store: Store, lanes: list[Lane]) -> PlanLines:
    """Tasks that stand in these lanes, five to a phase."""
    walk(store, "task-01", State.WATCHING)
    row = service.task_row(store, "task-01")
    return PlanLines(
        plan=None,
        tasks=tuple(
            TaskLine(
                row=row._replace(task_id=f"task-{number}", phase=number // 5),
                lane=lane,
                doing="",
                since="",
                context_pct=None,
                limited_until="",
            )
            for number, lane in enumerate(lanes)
        ),
    )


def shown(plan: PlanLines, *opened: str) -> list[Lane]:
    return [each.lane for phase in plan.phases(opened) for each in phase.shown]


def test_a_plan_that_can_be_overlooked_is_shown_whole(store: Store, walk: Walk) -> None:
    lanes = [Lane.DONE] * SMALL
    plan = plan_of(walk, store, lanes)
    assert shown(plan) == lanes
    assert not any(phase.folded or phase.is_opened for phase in plan.phases())


def test_of_a_large_plan_what_goes_on_is_shown_in_its_phase_and_the_others_are_counted(
    store: Store, walk: Walk
) -> None:
    lanes = [Lane.DONE] * 3 + [Lane.RUNNING, Lane.WITHDRAWN] + [Lane.LATER] * (LARGE - 6) + [Lane.NEEDS_YOU]
    plan = plan_of(walk, store, lanes)
    assert shown(plan) == [Lane.RUNNING, Lane.NEEDS_YOU]
    first = plan.phases()[0]
    assert first.folded_lanes == ((Lane.DONE, 3), (Lane.WITHDRAWN, 1))
    assert shown(plan, first.name) == [*lanes[:5], Lane.NEEDS_YOU]
    for opened in ((), (first.name,), ("no such phase",)):
        phases = plan.phases(opened)
        told = [each.row.task_id for phase in phases for each in (*phase.shown, *phase.folded)]
        assert sorted(told) == sorted(each.row.task_id for each in plan.tasks), "none is lost, or told twice"
    assert [phase.is_opened for phase in plan.phases((first.name,))][:2] == [True, False]


def test_where_more_goes_on_than_can_be_overlooked_the_most_urgent_is_shown(store: Store, walk: Walk) -> None:
    plan = plan_of(walk, store, [Lane.STANDS_STILL] * LARGE + [Lane.UNKNOWN, Lane.RUNNING, Lane.NEEDS_YOU])
    assert sorted(shown(plan), key=list(Lane).index) == [
        Lane.NEEDS_YOU,
        Lane.RUNNING,
        Lane.UNKNOWN,
        *[Lane.STANDS_STILL] * (MOST_LINES - 3),
    ]
