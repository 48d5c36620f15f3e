"""Draws a plan: its phases, its tasks, what waits for what, and which two are never played at once."""

from collections.abc import Iterator
from itertools import pairwise

from musician.plans.model import Plan, TaskSpec

_SPECIAL = str.maketrans({char: f"#{ord(char)};" for char in '#"<>&;`[]{}()|\\'})
"""What Mermaid or its HTML would read as its own inside a label, as Mermaid's entities."""


def draw_text(plan: Plan) -> str:
    """Return the plan as lines of text."""
    return "\n".join(_lines(plan))


def draw_mermaid(plan: Plan) -> str:
    """Return the plan as a Mermaid flowchart, for Markdown pages that draw it."""
    return "\n".join(_chart(plan))


def kept_apart(plan: Plan) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return the pairs of one phase that are never played at once, each with the files that it is for."""
    found = []
    for phase in plan.phases:
        for number, one in enumerate(phase.tasks):
            for other in phase.tasks[number + 1 :]:
                if other.task_id in plan.conflicts_of(one):
                    found.append((one.task_id, other.task_id, _reasons(one, other)))
    return tuple(found)


def _reasons(one: TaskSpec, other: TaskSpec) -> tuple[str, ...]:
    mine, theirs = {*one.danger, *one.files}, {*other.danger, *other.files}
    return tuple(sorted(mine & theirs & {*one.danger, *other.danger}))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.plan_id}: {plan.title}"
    width = max(len(task.task_id) for task in plan.tasks)
    apart = kept_apart(plan)
    for phase in plan.phases:
        yield f"│\n├─ Phase {phase.number}: {phase.title}"
        here = {task.task_id for task in phase.tasks}
        for number, task in enumerate(phase.tasks, start=1):
            corner = "└" if number == len(phase.tasks) else "├"
            after = f"  (after {', '.join(task.after)})" if task.after else ""
            yield f"│  {corner}─ {task.task_id:<{width}}  {task.title}{after}"
        for one, other, files in apart:
            if one in here:
                yield f"│     never at once: {one}, {other} ({', '.join(files)})"
    yield "│\n└─ complete"


def _chart(plan: Plan) -> Iterator[str]:
    names = {task.task_id: f"t{number}" for number, task in enumerate(plan.tasks, start=1)}
    yield "flowchart TD"
    for phase in plan.phases:
        yield f'  subgraph p{phase.number}["{_label(f"Phase {phase.number}: {phase.title}")}"]'
        for task in phase.tasks:
            yield f'    {names[task.task_id]}["{_label(f"{task.task_id}: {task.title}")}"]'
        yield "  end"
    for one, other in pairwise(plan.phases):
        yield f"  p{one.number} --> p{other.number}"
    for task in plan.tasks:
        for first in task.after:
            yield f"  {names[first]} --> {names[task.task_id]}"
    for one_id, other_id, files in kept_apart(plan):
        yield f'  {names[one_id]} -. "{_label(", ".join(files))}" .- {names[other_id]}'


def _label(text: str) -> str:
    return text.translate(_SPECIAL)
