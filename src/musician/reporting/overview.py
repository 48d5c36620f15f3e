"""Gives the whole state at a glance: which tasks there are, what each needs next, and what is wanted of a person.

One fold for every surface that shows more than one task. A task stands in the lane of what it needs next, not of its
state's name: "running" is said only of a session whose owner is known to live, and "stands still" of one that is
known to be gone. What nobody can tell is a lane of its own.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from musician import service
from musician.protocol.rules.liveness import Owner
from musician.protocol.states import ACTIVE, WAITING, State
from musician.protocol.values import dataclass, replace
from musician.reporting.ahead import Met, met_ahead, met_by
from musician.reporting.needs_me import Need, needs_in, standings_in
from musician.reporting.owners import OwnerOf
from musician.reporting.standing import Standing
from musician.reporting.tally import Tally, tally_of
from musician.service import ClosedAccount, Snapshot
from musician.store.port import Store
from musician.store.rows import PauseRow, PlanRow, TaskRow
from musician.store.rows.sessions import CostRow


class Lane(StrEnum):
    """What a task needs next."""

    NEEDS_YOU = "needs you"
    RUNNING = "running"
    UNKNOWN = "not known to run"
    STANDS_STILL = "stands still"
    LATER = "not begun"
    DONE = "done"
    SKIPPED = "skipped"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One task. ``since`` is when its state last changed, "" if it never did; ``doing`` what it is at, in words."""

    row: TaskRow
    lane: Lane
    doing: str
    since: str
    context_pct: float | None
    limited_until: str
    ahead: tuple[Met, ...] = ()
    """The conflicts that it will have when it is merged, and whom it waits for so that it has none."""
    after: tuple[str, ...] = ()
    """The tasks that are not finished, and that the plan says it is to be played after."""
    cost: CostRow | None = None


MOST_LINES = 60
"""Tasks of a plan that are shown at first: of a larger one only what goes on, the most urgent of that."""
_AT_REST = frozenset({Lane.LATER, Lane.DONE, Lane.SKIPPED, Lane.WITHDRAWN})
_BY_URGENCY = tuple(Lane)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLines:
    """The tasks of a phase, in the plan's order: those ``shown``, and those ``folded`` until they are asked for."""

    number: int | None
    title: str
    name: str
    """By which it is asked for whole; no other phase has it."""
    shown: tuple[TaskLine, ...]
    folded: tuple[TaskLine, ...]
    is_opened: bool
    """Whether it was asked for whole."""

    @property
    def folded_lanes(self) -> tuple[tuple[Lane, int], ...]:
        """How many of those folded stand in which lane."""
        counted = Counter(each.lane for each in self.folded)
        return tuple((lane, counted[lane]) for lane in _BY_URGENCY if counted[lane])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLines:
    """A plan with its tasks, in the plan's order; ``plan`` is None for the tasks without one."""

    plan: PlanRow | None
    tasks: tuple[TaskLine, ...]
    titles: Mapping[int, str] = MappingProxyType({})
    """Of its phases, by their numbers."""
    paused: PauseRow | None = None

    @property
    def costs(self) -> tuple[CostRow, ...]:
        """What its tasks have used, a row for each that has used anything."""
        return tuple(each.cost for each in self.tasks if each.cost is not None)

    @property
    def tally(self) -> Tally:
        return tally_of(each.row for each in self.tasks)

    def count(self, *lanes: Lane) -> int:
        return sum(each.lane in lanes for each in self.tasks)

    def phases(self, opened: Collection[str] = ()) -> tuple[PhaseLines, ...]:
        """Return the phases in order; those ``opened``, by their names, are not folded."""
        at_hand = self._at_hand
        of_number: dict[int | None, list[TaskLine]] = {}
        for each in self.tasks:
            of_number.setdefault(each.row.phase, []).append(each)
        return tuple(self._phase(number, tasks, at_hand, opened) for number, tasks in of_number.items())

    def _phase(
        self, number: int | None, tasks: Iterable[TaskLine], at_hand: Collection[str], opened: Collection[str]
    ) -> PhaseLines:
        name = f"{self.plan.plan_id if self.plan else ''}:{'' if number is None else number}"
        is_opened = name in opened
        shown: dict[bool, list[TaskLine]] = {True: [], False: []}
        for each in tasks:
            shown[is_opened or each.row.task_id in at_hand].append(each)
        return PhaseLines(
            number=number,
            title="" if number is None else self.titles.get(number, ""),
            name=name,
            shown=tuple(shown[True]),
            folded=tuple(shown[False]),
            is_opened=is_opened,
        )

    @property
    def _at_hand(self) -> frozenset[str]:
        tasks = self.tasks
        if len(tasks) > MOST_LINES:
            going_on = (each for each in tasks if each.lane not in _AT_REST)
            tasks = tuple(sorted(going_on, key=lambda each: _BY_URGENCY.index(each.lane))[:MOST_LINES])
        return frozenset(each.row.task_id for each in tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """``seq`` is how far the one order had come before the look, so that nothing after it is missed."""

    seq: int
    at: str
    is_conducted: bool
    needs: tuple[Need, ...]
    plans: tuple[PlanLines, ...]
    closed: tuple[ClosedAccount, ...]
    """The accounts of agents that are given nothing, or may not be."""

    @property
    def lanes(self) -> Mapping[str, Lane]:
        """Return the lane of each task, by its id."""
        return {each.row.task_id: each.lane for plan in self.plans for each in plan.tasks}

    def count(self, *lanes: Lane) -> int:
        return sum(each.count(*lanes) for each in self.plans)


def overview_of(store: Store, *, is_conducted: bool, owner_of: OwnerOf) -> Overview:
    """Return the overview of the plans that are not finished, and of the one in which something happened last."""
    seen = service.snapshot_of(store)
    standings = standings_in(seen)
    needs = needs_in(seen, standings, is_conducted=is_conducted, owner_of=owner_of)
    wanted = {need.task_id for need in needs}

    ahead = met_ahead(seen.foreseen)

    def line(row: TaskRow) -> TaskLine:
        found = bare(row)
        return replace(found, ahead=met_by(row.task_id, ahead)) if ahead else found

    def bare(row: TaskRow) -> TaskLine:
        standing, is_wanted = standings.get(row.task_id), row.task_id in wanted
        if standing is None or not (is_wanted or row.state in ACTIVE):
            return _resting_line(row)
        return _line(standing, is_wanted=is_wanted, owner_of=owner_of)

    return _overview(seen, line, is_conducted=is_conducted, needs=needs)


def archived_overview(store: Store) -> Overview:
    """Return the overview of an archived plan's database: nothing is at work in it, or asked."""
    return _overview(service.snapshot_of(store), _resting_line)


def _overview(
    seen: Snapshot,
    line: Callable[[TaskRow], TaskLine],
    *,
    is_conducted: bool = False,
    needs: tuple[Need, ...] = (),
) -> Overview:
    lines = [_plan_lines(seen, plan, line) for plan in (*seen.plans, None)]
    return Overview(
        seq=seen.seq,
        at=seen.at,
        is_conducted=is_conducted,
        needs=needs,
        plans=tuple(each for each in lines if each.plan is not None or each.tasks),
        closed=seen.closed,
    )


def _plan_lines(seen: Snapshot, plan: PlanRow | None, line: Callable[[TaskRow], TaskLine]) -> PlanLines:
    if plan is None:
        return PlanLines(plan=None, tasks=tuple(map(line, seen.rows[None])))
    after, costs = seen.waits[plan.plan_id].named, seen.costs

    def whole(row: TaskRow) -> TaskLine:
        found, task_id = line(row), row.task_id
        if task_id not in after and task_id not in costs:
            return found
        return replace(found, after=after.get(task_id, ()), cost=costs.get(task_id))

    return PlanLines(
        plan=plan,
        tasks=tuple(map(whole, seen.rows[plan.plan_id])),
        titles=seen.titles[plan.plan_id],
        paused=seen.paused.get(plan.plan_id),
    )


def _resting_line(row: TaskRow) -> TaskLine:
    """Nothing is at work on it: its row says all there is."""
    return TaskLine(
        row=row,
        lane=_resting(row),
        doing=row.state.replace("_", " "),
        since=row.completed_at or "",
        context_pct=None,
        limited_until="",
    )


def _line(standing: Standing, *, is_wanted: bool, owner_of: OwnerOf) -> TaskLine:
    view = standing.view
    return TaskLine(
        row=view.row,
        lane=Lane.NEEDS_YOU if is_wanted else lane_of(standing, owner_of(view)),
        doing=doing(standing),
        since=view.history[-1].at if view.history else "",
        context_pct=standing.context_pct,
        limited_until=view.limited_until,
    )


def lane_of(standing: Standing, owner: Owner | None) -> Lane:
    """Return the lane of a task that nothing is asked of a person for."""
    if standing.state not in ACTIVE:
        return _resting(standing.view.row)
    match owner:
        case Owner.LIVE:
            return Lane.RUNNING
        case Owner.DEAD | Owner.STALE:
            return Lane.STANDS_STILL
        case _:
            return Lane.UNKNOWN


def _resting(row: TaskRow) -> Lane:
    if row.is_withdrawn:
        return Lane.WITHDRAWN
    if row.skipped is not None:
        return Lane.SKIPPED
    match row.state:
        case State.COMPLETE:
            return Lane.DONE
        case State.WATCHING:
            return Lane.LATER
    return Lane.STANDS_STILL


def doing(standing: Standing) -> str:
    """Return what a task is at, in a few words, such as ``step 2`` or ``waits for a verdict``."""
    if standing.view.limited_until:
        return "waits for its agent's provider"
    if standing.is_paused:
        return "paused with its phase" if standing.view.plan_pause is None else "paused with its plan"
    if standing.state in WAITING:
        return "waits for a verdict" if standing.state is State.NEEDS_REVIEW else "waits for an answer"
    if standing.state is not State.WORKING:
        return str(standing.state).replace("_", " ")
    last = next((entry.item for entry in reversed(standing.entries) if entry.item), "")
    return last or "begins"
