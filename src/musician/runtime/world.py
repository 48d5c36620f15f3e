"""Everything a driver touches besides the store and the core, passed in: machine, trees, agents,
verifications.

The drivers (``conduct``, ``play_task``) import none of it, so that a simulation can run the real drivers.
Waiting and blocking calls go through anyio, whose event loop the simulation replaces as well.
"""

import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Protocol

from anyio.to_thread import run_sync

from musician.agents.port import Agent
from musician.agents.registry import make_agent
from musician.plans.model import Plan
from musician.processes.identity import ProcessIdentity
from musician.processes.machine import MACHINE, Machine
from musician.protocol.errors import PriceUnknown
from musician.protocol.rules.ceilings import Amounts, Measure, measures_of
from musician.protocol.settings import Settings
from musician.runtime.launching import fork_server_at_hand, start_musician
from musician.runtime.left_work import SaveWork, save_work
from musician.runtime.plantrees import GitPlanTrees, PlanTrees
from musician.runtime.preparing import prepare_tree
from musician.runtime.sandboxing import sandboxed
from musician.runtime.tasktree import open_tree
from musician.store.port import Store
from musician.trees.root import Root
from musician.trees.snapshot import tree_id
from musician.verification.checkpoint import verify_checkpoint
from musician.verification.oldtree import old_tree
from musician.verification.result import VerificationResult
from musician.verification.run import verify

Verify = Callable[..., Awaitable[VerificationResult]]
"""As :func:`musician.verification.run.verify` and :func:`musician.verification.checkpoint.verify_checkpoint` are."""


class Musician(Protocol):
    """A musician's process, as the conductor that launched it sees it."""

    @property
    def identity(self) -> ProcessIdentity: ...

    async def wait(self) -> int:
        """Wait for its end and return its exit code."""
        ...

    def terminate(self, by: signal.Signals) -> None:
        """Ask it to end."""
        ...


class World:
    """The real one. It has no state."""

    machine: Machine = MACHINE
    verify: Verify = staticmethod(verify)
    verify_checkpoint: Verify = staticmethod(verify_checkpoint)
    old_tree = staticmethod(old_tree)
    prepare_tree = staticmethod(prepare_tree)
    sandboxed = staticmethod(sandboxed)
    save_work: SaveWork = staticmethod(save_work)
    agent = staticmethod(make_agent)
    tree_id = staticmethod(tree_id)
    open_tree = staticmethod(open_tree)

    def agent_within(self, settings: Settings, spec: str, *budgets: Amounts) -> Agent:
        """As :meth:`agent`; :class:`PriceUnknown` if a ceiling or budget of money could not hold with it."""
        agent = self.agent(spec)
        if Measure.COST in measures_of(settings.ceilings, *budgets) and not agent.tells_price:
            raise PriceUnknown(agent=spec)
        return agent

    def launching(self) -> AbstractContextManager[None]:
        """Make the launches in this block cheap."""
        return fork_server_at_hand()

    async def launch(
        self, root: Root, store: Store, task_id: str, session_id: str, agent: str | None
    ) -> Musician:
        """Start a process that plays a task. OSError if the system has no room for it."""
        return await run_sync(start_musician, root, store, task_id, session_id, agent)

    def plan_trees(self, root: Root, plan: Plan, base: str) -> PlanTrees:
        return GitPlanTrees(root=root, plan=plan, base=base)


WORLD = World()
