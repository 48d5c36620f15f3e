"""Reads a task's instruction file, and makes the program its musician plays."""

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from musician.plans.instructions import read_instructions
from musician.plans.model import AgentPiece, Checkpoint, Plan, Step, TaskSpec
from musician.plans.plan import ReadFile, load_plan, parse_plan
from musician.protocol.errors import InvalidPlan
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.rules.delegation import Extent
from musician.store.rows import TaskRow
from musician.trees.finding import find_tree
from musician.trees.root import Root
from musician.verification.select import commands_for

_MOST_PLANS = 16
"""Kept at a time, so that a look need not read them again."""


def load_task_file(root: Root, task_id: str, path: str) -> TaskSpec:
    """Read a task's instruction file by its project-relative path."""
    place = (root.path / path).resolve()
    if not place.is_relative_to(root.path):
        raise InvalidPlan(problems=(f"{path}:1: outside the project; an instruction file lies in it",))
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPlan(problems=(f"{path}:1: cannot be read ({error}); a UTF-8 text file",)) from error
    return read_instructions(text, path=path, task_id=task_id)


def program_in(root: Root, row: TaskRow) -> Program:
    """Return the program of a row's task; only a final checkpoint if the task cannot be read (one opened by
    raw SQL).
    """
    try:
        return program_of(load_task_file(root, row.task_id, row.instruction_path or ""))
    except InvalidPlan:
        only = CheckpointItem(
            item="checkpoint 1", number=1, of=1, title="final", commands=(), rework=(), final=True
        )
        return Program(task_id=row.task_id, title=row.title or row.task_id, items=(only,), is_read=False)


def read_plan(root: Root, path: Path) -> Plan:
    """Read a plan's file, seen from the current folder. :class:`InvalidPlan` with all its problems."""
    return load_plan(path, root=root.path, tree=tree_of(root, path))


def tree_of(root: Root, path: Path) -> Path:
    """Return the tree whose files stand beside ``path``, seen from the current folder: a linked one of the user's is
    one of its own.
    """
    place = Path(os.path.realpath(path))
    found = None if place.is_relative_to(root.path) else find_tree(str(place.parent))
    return root.path if found is None or Path(found[0]) != root.path else Path(found[1])


def place_in_plan(
    root: Root, item: str, *, task_id: str, plan_path: str | None, instruction_path: str
) -> str:
    """Return the place to edit ``item``, as ``file:line``.

    It is looked for in the plan as it is on disk now, or in the task's own file if it belongs to no plan;
    only the file's name is returned if the file cannot be read or does not have the item any more.
    """
    path = plan_path or instruction_path
    try:
        if plan_path is None:
            task = load_task_file(root, task_id, instruction_path)
        else:
            task = read_plan(root, root.path / plan_path).task(task_id)
    except (InvalidPlan, KeyError):
        return path
    line = next((line for name, line in _lines(task) if name == item), task.line)
    return f"{task.source_path}:{line}"


def _lines(task: TaskSpec) -> Iterator[tuple[str, int]]:
    for item in task.items:
        kind = "step" if isinstance(item, Step) else "checkpoint"
        yield f"{kind} {item.number}", item.line
        for agent in item.agents if isinstance(item, Step) else ():
            yield f"step {item.number} agent {agent.number}", agent.line


@lru_cache(maxsize=_MOST_PLANS)
def locked_plan(root: Root, path: str, text: str, sha256: str) -> Plan:  # noqa: ARG001  # what is the same
    """Return a plan as it was first read since it was locked like this."""
    return parse_plan(text, path=path, read_file=reader_in(root, path))


def reader_in(root: Root, plan_path: str) -> ReadFile:
    """Return what reads a plan's instruction files."""
    tree = tree_of(root, root.path / plan_path)

    def read_file(path: str) -> str | None:
        place = tree / path
        return place.read_text(encoding="utf-8-sig") if place.is_file() else None

    return read_file


def programs_of(plan: Plan) -> dict[str, Program]:
    return {task.task_id: program_of(task) for task in plan.tasks}


def program_of(task: TaskSpec) -> Program:
    """Return the items in document order: a step's own part, its agents' pieces, the checkpoints.

    A step that consists of agents' pieces only has no part of its own. What mends a checkpoint is its own rework
    and that of the steps since the one before it.
    """
    items: list[Play | CheckpointItem] = []
    rework: list[str] = []
    for item in task.items:
        if isinstance(item, Step):
            items.extend(_plays(item))
            rework.extend(item.rework)
        else:
            items.append(_check(task, item, (*rework, *item.rework)))
            rework.clear()
    overview = "\n\n".join(filter(None, (task.plan_overview, task.overview)))
    return Program(task_id=task.task_id, title=task.title, items=tuple(items), overview=overview)


def _plays(step: Step) -> list[Play]:
    own = Play(
        item=f"step {step.number}", title=step.title, prose=step.prose, scripts=step.run, step=step.number
    )
    pieces = [_agent_play(step, agent) for agent in step.agents]
    return pieces if pieces and not step.run else [own, *pieces]


def _agent_play(step: Step, agent: AgentPiece) -> Play:
    return Play(
        item=f"step {step.number} agent {agent.number}",
        title=agent.title,
        prose=agent.prose,
        scripts=agent.run,
        step=step.number,
        is_agent=True,
        extent=Extent(lines=agent.size, files=frozenset(agent.files)),
        well_defined=agent.well_defined,
    )


def _check(task: TaskSpec, checkpoint: Checkpoint, rework: tuple[str, ...]) -> CheckpointItem:
    return CheckpointItem(
        item=f"checkpoint {checkpoint.number}",
        number=checkpoint.number,
        of=len(task.checkpoints),
        title=checkpoint.title,
        prose=checkpoint.prose,
        commands=commands_for(task, checkpoint.number),
        rework=rework,
        final=checkpoint.final,
        may_change=task.may_change,
        may_pass_before=task.may_pass_before,
    )
