"""A run of a plan: what is conducted, as what, and with what."""

from collections.abc import Callable

from musician.plans.model import Answers, Plan, Review
from musician.protocol.musician.program import Program
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.reporting.standing import Standing
from musician.runtime.plantrees import PlanTrees
from musician.runtime.program import programs_of
from musician.runtime.world import World
from musician.store.port import Store
from musician.store.rows import PlanRow
from musician.trees.root import Root
from musician.verification.baseline import Baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What whoever starts a run says of it. ``agent``, ``review`` and ``answers`` override what the plan says.

    With ``jobs`` 0 nobody is launched. With ``avoids_conflicts`` no task is begun that would touch what another has
    begun to touch, before that one is merged.
    """

    jobs: int
    agent: str | None = None
    review: Review | None = None
    answers: Answers | None = None
    avoids_conflicts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who hears what a run sees. ``on_look`` gets where every task stands after each look, ``on_base`` how each command
    that verifies them ended on the base, ``on_complete`` the id of each task that is complete and whose musician has
    ended (in a thread), ``on_note`` what somebody else did to the plan's branch, as a sentence.
    """

    on_look: Callable[[tuple[Standing, ...]], None] = lambda _: None
    on_base: Callable[[Baseline], None] = lambda _: None
    on_complete: Callable[[str], None] = lambda _: None
    on_note: Callable[[str], None] = lambda _: None


class PlanRun:
    """A locked plan with its settings, trees and programs. An amended one takes its place for whoever has the run."""

    plan: Plan
    row: PlanRow
    settings: Settings
    trees: PlanTrees
    programs: dict[str, Program]

    def __init__(
        self,
        root: Root,
        store: Store,
        plan: Plan,
        row: PlanRow,
        settings: Settings,
        options: RunOptions,
        world: World,
    ) -> None:
        self.root, self.store, self.options, self.world = root, store, options, world
        self.take_up(plan, row, settings)

    def take_up(self, plan: Plan, row: PlanRow, settings: Settings) -> None:
        """Go on with this plan. Blocks."""
        trees = self.world.plan_trees(self.root, plan, row.base_commit)
        self.plan, self.row, self.settings, self.trees = plan, row, settings, trees
        self.programs = programs_of(plan)
