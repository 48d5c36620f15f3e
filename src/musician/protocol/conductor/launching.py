"""Which tasks are given a musician, and which are held back for those they would meet."""

from collections.abc import Collection, Iterable, Iterator

from musician.protocol.conductor.acts import Act, Launch
from musician.protocol.conductor.barrier import holder_of
from musician.protocol.conductor.means import Means
from musician.protocol.conductor.orchestra import (
    Orchestra,
    TaskFacts,
    current_phase,
    is_at_work,
    is_finished,
    is_open,
    waits_for_person,
)
from musician.protocol.messages.forecasts import Meeting


def given_musicians(ready: Iterable[TaskFacts], means: Means, orchestra: Orchestra) -> Iterator[Act]:
    """Yield a launch for each as long as there are places and means, and what is to be asked of a person first."""
    taken = sum(task.is_running and not waits_for_person(task) for task in orchestra.tasks)
    places = max(0, orchestra.jobs - taken)
    for task in ready:
        act = means.allowed(task, Launch(task_id=task.task_id)) if places else None
        if act is not None:
            yield act
        places -= isinstance(act, Launch)


def ready_to_play(orchestra: Orchestra, idle: Collection[TaskFacts]) -> Iterator[TaskFacts]:
    """Yield the idle tasks that could be played now, by phase and in the plan's order."""
    finished = frozenset(task.task_id for task in orchestra.tasks if is_finished(task))
    phase = current_phase(orchestra.tasks)
    played = [
        task
        for task in idle
        if task.phase == phase
        and is_open(task)
        and not (task.has_open_ask or task.is_limited or task.is_refused)
    ]
    at_work, begun = {task.task_id for task in orchestra.tasks if is_at_work(task)}, _begun(orchestra)
    for task in played:
        if holder_of(task, orchestra.tasks) is not None:
            continue
        if task.after <= finished and not task.conflicts & (at_work | _holders(task, orchestra, finished)):
            if _met(task, at_work | begun):
                continue
            at_work.add(task.task_id)
            yield task


def held_back(orchestra: Orchestra) -> dict[str, tuple[Meeting, ...]]:
    """Return the tasks that could be begun but for those they would meet, each with those.

    Only what nobody has begun is held back, and only by what was begun: so nothing waits for itself.
    """
    phase, begun = current_phase(orchestra.tasks), _begun(orchestra)
    waiting = (task for task in orchestra.tasks if task.phase == phase and is_open(task))
    return {task.task_id: met for task in waiting if (met := _met(task, begun))}


def _begun(orchestra: Orchestra) -> set[str]:
    return {
        task.task_id
        for task in orchestra.tasks
        if not is_finished(task) and (is_at_work(task) or task.was_claimed)
    }


def _met(task: TaskFacts, begun: Collection[str]) -> tuple[Meeting, ...]:
    return () if task.was_claimed else tuple(each for each in task.meets if each.other in begun)


def _holders(task: TaskFacts, orchestra: Orchestra, finished: frozenset[str]) -> set[str]:
    """Return the conflicting siblings that have begun: they keep their danger files until they are finished.

    If several have begun, as they can by hand, the first in the plan goes on.
    """
    ids = [each.task_id for each in orchestra.tasks]
    begun = [
        each.task_id
        for each in orchestra.tasks
        if each.phase == task.phase and each.was_claimed and each.after <= finished
    ]
    earlier = ids[: ids.index(task.task_id)]
    return {each for each in begun if each not in finished and (not task.was_claimed or each in earlier)}
