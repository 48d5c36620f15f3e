"""What changed between a plan as it was locked and as it is now (DESIGN 7, ``plan amend``)."""

from difflib import unified_diff

from musician.plans.markdown import normalise
from musician.plans.model import Plan, Step, TaskSpec
from musician.protocol.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """Task ids, each tuple in the order of the plan that has them (the new one for ``changed``)."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def plan_difference(old_text: str, new_text: str, *, path: str) -> str:
    """A unified diff, "" if there is no difference but line ends."""
    lines = unified_diff(
        normalise(old_text).split("\n"),
        normalise(new_text).split("\n"),
        fromfile=f"{path} (locked)",
        tofile=path,
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)


def compare_tasks(old: Plan, new: Plan) -> PlanChange:
    """Which tasks came, went, or say anything else than before; a move to another phase is a change."""
    before, after = _by_id(old), _by_id(new)
    return PlanChange(
        added=tuple(task_id for task_id in after if task_id not in before),
        removed=tuple(task_id for task_id in before if task_id not in after),
        changed=tuple(
            task_id for task_id, value in after.items() if task_id in before and value != before[task_id]
        ),
    )


def without_lines(task: TaskSpec) -> TaskSpec:
    """The task with every line number 0, for comparison: a task that only moved down is the same."""
    items = tuple(
        replace(item, line=0, agents=tuple(replace(agent, line=0) for agent in item.agents))
        if isinstance(item, Step)
        else replace(item, line=0)
        for item in task.items
    )
    return replace(task, items=items, line=0)


def _by_id(plan: Plan) -> dict[str, tuple[int, TaskSpec]]:
    return {
        task.task_id: (phase.number, without_lines(task)) for phase in plan.phases for task in phase.tasks
    }
