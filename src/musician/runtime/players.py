"""Whether those that a plan names can play it here: one rule for a run, which refuses, and for whoever changes a plan,
who is warned. Another agent may be named when the plan is run, and it may be run elsewhere.
"""

from collections.abc import Iterator

from musician.plans.model import Plan, TaskSpec
from musician.plans.tasks import without_script
from musician.protocol.errors import AgentUnavailable, InvalidPlan, PriceUnknown
from musician.protocol.settings import Settings
from musician.runtime.world import World


def check_players(
    plan: Plan, settings: Settings, world: World, agent: str | None, *, plays: bool = True
) -> None:
    """Raise :class:`AgentUnavailable` or :class:`PriceUnknown` for the first agent that cannot play its task, and
    :class:`InvalidPlan` for those that lack a script; ``agent`` plays all of them, and with ``plays`` false none does.
    """
    for task in plan.tasks if plays else ():
        world.agent_within(settings, agent or task.agent, task.budget)
    if problems := without_script(plan, agent):
        raise InvalidPlan(problems=problems)


def doubts_of_players(plan: Plan, settings: Settings, world: World) -> tuple[str, ...]:
    """Return what a run would refuse if it took the plan's own agents, as lines with their places."""
    return (*_unfit(plan, settings, world), *without_script(plan))


def _unfit(plan: Plan, settings: Settings, world: World) -> Iterator[str]:
    told: set[str] = set()
    for task in plan.tasks:
        why = _why_unfit(task, settings, world)
        if why and why not in told:  # once for all tasks of an agent
            told.add(why)
            yield f"{task.source_path}:{task.line}: {task.task_id}: {why}"


def _why_unfit(task: TaskSpec, settings: Settings, world: World) -> str:
    try:
        world.agent_within(settings, task.agent, task.budget)
    except (AgentUnavailable, PriceUnknown) as error:
        return str(error)
    return ""
