"""Finds what a plan may say and its author probably did not mean. Nothing here keeps a plan from being
played.
"""

from collections.abc import Iterator
from itertools import combinations

from musician.plans.model import Changes, Phase, Plan, TaskSpec
from musician.plans.touching import planned_files, shared_paths

_TESTS_NOTHING = frozenset({"", ":", "true", "echo", "exit", "printf"})
_SHELL = "shell"


def warnings_of(plan: Plan) -> tuple[str, ...]:
    """Return what is doubtful in the plan, each with the line of its task."""
    return tuple(_warnings(plan))


def _warnings(plan: Plan) -> Iterator[str]:
    for phase in plan.phases:
        yield from _meetings(plan, phase)
    for task in plan.tasks:
        yield from (f"{task.source_path}:{task.line}: {task.task_id} {text}" for text in _doubts(task))


def _meetings(plan: Plan, phase: Phase) -> Iterator[str]:
    """Yield the tasks that may be played at the same time and touch the same files."""
    before = {task.task_id: _waits_for(task, phase) for task in phase.tasks}
    for one, other in combinations(phase.tasks, 2):
        apart = one.task_id in before[other.task_id] or other.task_id in before[one.task_id]
        if apart or other.task_id in plan.conflicts_of(one):
            continue
        if both := sorted(shared_paths(planned_files(one), planned_files(other))):
            yield (
                f"{other.source_path}:{other.line}: {one.task_id} and {other.task_id} are played at the same time"
                f" and both touch {', '.join(both)}; name it under `danger` in one of them, or let one wait"
                " with `after`"
            )


def _waits_for(task: TaskSpec, phase: Phase) -> set[str]:
    """Return all that a task waits for, directly or not."""
    by_id = {each.task_id: each for each in phase.tasks}
    found: set[str] = set()
    ahead = [*task.after]
    while ahead:
        task_id = ahead.pop()
        if task_id not in found:
            found.add(task_id)
            ahead += by_id[task_id].after
    return found


def _doubts(task: TaskSpec) -> Iterator[str]:
    if len(task.steps) > 1 and len(task.checkpoints) == 1 and task.checkpoints[0].line == task.steps[-1].line:
        yield f"has {len(task.steps)} steps and no checkpoint: its work is looked at only when all of it is done"
    tests = [task.test or "", *(test for checkpoint in task.checkpoints for test in checkpoint.tests)]
    if task.changes is Changes.FILES and all(_tests_nothing(test) for test in tests):
        what = f"`test: {task.test}` tests nothing" if task.test else "no `test` and no checkpoint's test"
        yield f"is verified by nothing: {what}"
    if task.agent == _SHELL and not any(
        step.run or any(each.run for each in step.agents) for step in task.steps
    ):
        yield (
            "is played by the shell agent, and none of its steps has a `bash run` block: nothing is done; write one, or"
            " name an agent that works by the text"
        )


def _tests_nothing(command: str) -> bool:
    """Whether a command passes whatever the work is."""
    words = command.split()
    return (words[0] if words else "") in _TESTS_NOTHING and not any(
        each in command for each in ("&&", "||", ";", "|", "\n")
    )
