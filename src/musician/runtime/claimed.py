"""A claim, and what it is played with: the same for whoever plays it, driven or by hand (D30)."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from anyio.to_thread import run_sync

from musician import service
from musician.plans.model import TaskSpec
from musician.processes.identity import ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry
from musician.protocol.musician.program import Program
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.baselines import Baselines
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasktree import TaskTree
from musician.runtime.world import World
from musician.store.port import Store
from musician.trees.root import Root


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedSession:
    """``task`` is None if its instructions cannot be read: then there is nothing to set up, and nothing to excuse.

    ``environment`` is that of all that is started for it.
    """

    root: Root
    store: Store
    settings: Settings
    claim: Claim
    worked_by: str
    instruction_path: str
    plan_id: str | None
    task: TaskSpec | None
    program: Program
    tree: TaskTree
    environment: dict[str, str]
    world: World

    @property
    def task_files(self) -> TaskFiles:
        return TaskFiles(self.root, self.claim.task_id)

    @property
    def log(self) -> Path:
        """Where what its checks print is kept."""
        return self.root.checks_log(self.claim.task_id)

    @property
    def baselines(self) -> Baselines | None:
        """What failed before the task began."""
        if self.task is None:
            return None
        return Baselines(
            root=self.root,
            store=self.store,
            settings=self.settings,
            task=self.task,
            plan_id=self.plan_id,
            world=self.world,
        )

    def environment_for(self, item: str) -> dict[str, str]:
        return {**self.environment, "MUSICIAN_ITEM": item}

    def note(self, *entries: Entry) -> None:
        """Write entries into the journal and the files in ``temp/``. Blocks."""
        service.record(self.store, self.claim, *entries)
        self.task_files.note(entries)

    async def record_agent(self, identity: ProcessIdentity) -> None:
        await run_sync(service.record_process, self.store, self.claim, "agent", identity)

    async def set_up(self, on_begin: Callable[[str], Awaitable[None]] | None = None) -> str:
        """Run the plan's set-up, once in this tree; return what went wrong, "" if nothing."""
        return await self.world.prepare_tree(
            None if self.task is None else self.task.setup,
            tree=self.tree.path,
            env=self.environment_for("setup"),
            time_limit_s=self.settings.time.step_limit_s,
            on_process=self.record_agent,
            on_begin=on_begin,
        )
