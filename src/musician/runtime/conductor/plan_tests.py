"""Runs the plan's own tests on the whole project: on the commit it begins at, and on what was merged in the end
(D27).
"""

from musician.plans.model import Plan, Require, TaskSpec
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.baselines import Baselines, clear_tree
from musician.runtime.world import World
from musician.store.port import Store
from musician.trees.root import Root
from musician.verification.baseline import Baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTest:
    """How one command ended ``before`` the plan, and how it ends ``now``."""

    before: Baseline
    now: Baseline

    @property
    def is_green(self) -> bool:
        return not self.now.why

    @property
    def mended(self) -> tuple[str, ...]:
        """The names of tests that failed then and pass now."""
        can_tell = not self.now.is_empty and (self.is_green or self.now.failed)
        return tuple(name for name in self.before.failed if name not in self.now.failed) if can_tell else ()

    @property
    def new(self) -> tuple[str, ...]:
        """The tests that fail now and did not then, as far as tests have names."""
        is_known = not self.before.why or bool(self.before.failed)
        return tuple(name for name in self.now.failed if name not in self.before.failed) if is_known else ()


async def try_all(
    root: Root,
    store: Store,
    plan: Plan,
    commit: str,
    *,
    settings: Settings,
    world: World,
    is_end: bool = False,
) -> tuple[Baseline, ...]:
    """Run every command that verifies the plan's tasks on a commit; none if nothing is merged.

    With ``is_end`` the result must be green, so a red one is tried again.
    """
    first: dict[tuple[str | None, str], TaskSpec] = {}
    for task in plan.tasks:
        if task.test is not None and task.tests_the_whole:
            first.setdefault((task.setup, task.test), task)
    found = []
    try:
        for (_, command), task in first.items():
            known = Baselines(
                root=root,
                store=store,
                settings=settings,
                task=task,
                plan_id=plan.plan_id,
                world=world,
                keeps_tree=True,
            )
            is_green_due = is_end and plan.require is Require.GREEN
            found.append(await known.ended(commit, command, is_green_due=is_green_due))
    finally:
        await clear_tree(root, plan.plan_id)
    return tuple(found)
