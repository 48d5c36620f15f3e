"""The barrier: a checkpoint at which the other musicians of the phase pause until it is judged.

Theory (sources "Parallel Execution Coordination", ``pause-siblings-at``). A barrier is up while a submission of such a
checkpoint waits for its verdict. Any verdict takes it down, and a resubmission puts it up again. While it is up:

- each sibling with an owner is told once to pause; it plays to its next boundary and stops there;
- no sibling is given a musician;
- the submission is judged once all siblings stand still, and not before.

A task stands still if nobody plays it: it has no owner, it waits for a verdict or a person, it has ended, or it has
paused. A session by hand with nothing under way counts as paused as soon as it is told to, because it may not begin
anything then. So there is no deadlock: two checkpoints that name each other both count as standing still, and whatever
else a sibling plays ends at its time limit at the latest. When no barrier holds a task that was told to pause, it is
told to go on, even if its session has ended meanwhile; otherwise the successor would begin with a pause.
"""

from collections.abc import Iterable

from musician.protocol.conductor.acts import GoOn, Pause
from musician.protocol.conductor.orchestra import TaskFacts, is_at_work, is_finished
from musician.protocol.rules.liveness import Owner
from musician.protocol.states import ACTIVE, TERMINAL, WAITING, State


def holder_of(task: TaskFacts, tasks: Iterable[TaskFacts]) -> TaskFacts | None:
    """Return the first sibling in the plan whose checkpoint holds the task; None if there is none."""
    return next((each for each in _siblings(task, tasks) if _is_at_barrier(each)), None)


def pause_due(task: TaskFacts, tasks: Iterable[TaskFacts]) -> Pause | GoOn | None:
    """Return what the task must be told now, if anything."""
    if is_finished(task):
        return None
    holder = holder_of(task, tasks)
    if holder is None:
        return GoOn(task_id=task.task_id) if task.is_told_to_pause else None
    if not _is_to_be_told(task):
        return None
    text = f"{holder.task_id} has come to a checkpoint at which all of its phase pause until it is judged"
    return Pause(task_id=task.task_id, text=text)


def is_held_up(task: TaskFacts, tasks: Iterable[TaskFacts]) -> bool:
    """Whether the task's submission cannot be judged yet because a sibling still plays."""
    return _is_at_barrier(task) and any(
        _is_to_be_told(each) or not stands_still(each) for each in _siblings(task, tasks)
    )


def stands_still(task: TaskFacts) -> bool:
    """Whether nobody plays the task now."""
    is_idle = task.state in WAITING | TERMINAL or task.is_paused or task.owner is Owner.DEAD
    asks = task.has_open_ask and not (task.is_playing and task.owner is not None and task.owner.lives)
    return is_idle or asks or not is_at_work(task)


def _is_at_barrier(task: TaskFacts) -> bool:
    return task.state is State.NEEDS_REVIEW and task.submitted is not None and task.submitted.is_barrier


def _is_to_be_told(task: TaskFacts) -> bool:
    has_owner = task.state in ACTIVE and task.owner not in (None, Owner.DEAD)
    return has_owner and not task.is_told_to_pause


def _siblings(task: TaskFacts, tasks: Iterable[TaskFacts]) -> Iterable[TaskFacts]:
    return (each for each in tasks if each.phase == task.phase and each.task_id != task.task_id)
