"""A task's specification as the program its musician plays."""

from musician.plans.model import AgentPiece, Checkpoint, Step, TaskSpec
from musician.protocol.delegation import Extent
from musician.protocol.program import Check, Play, Program
from musician.verification.select import commands_for

__all__ = ["program_of"]


def program_of(task: TaskSpec) -> Program:
    """Items in document order: a step's own part, its agents' pieces, the checkpoints.

    A step that consists of agents' pieces only has no part of its own. What mends a checkpoint is its own rework
    and that of the steps since the one before it.
    """
    items: list[Play | Check] = []
    rework: list[str] = []
    for item in task.items:
        if isinstance(item, Step):
            items.extend(_plays(item))
            rework.extend(item.rework)
        else:
            items.append(_check(task, item, (*rework, *item.rework)))
            rework.clear()
    return Program(task_id=task.task_id, title=task.title, items=tuple(items))


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


def _check(task: TaskSpec, checkpoint: Checkpoint, rework: tuple[str, ...]) -> Check:
    return Check(
        item=f"checkpoint {checkpoint.number}",
        number=checkpoint.number,
        of=len(task.checkpoints),
        title=checkpoint.title,
        prose=checkpoint.prose,
        commands=commands_for(task, checkpoint.number),
        rework=rework,
        final=checkpoint.final,
    )
