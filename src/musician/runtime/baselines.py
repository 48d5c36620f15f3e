"""The result of a task's verifying command on a commit, run once in this repository (D27).

A commit is tried in a tree of its own, set up as tasks' trees are, and the result is kept by commit and
commands: later askers get the answer, in other processes and later runs too. A process that asks while
another tries it waits for that one, and tries it itself if that one is killed. An accepted merge counts as
tried: it was verified. The tree is removed by the process that used it; one that a killed process leaves is
used, and removed, by the next.

A commit that could not be tried has no result: that excuses nothing, and is not kept.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.plans.model import Sandboxing, TaskSpec
from musician.protocol.errors import MusicianError
from musician.protocol.names import NO_PLAN
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.preparing import alone_with, locked_now
from musician.runtime.verifying import environment_of, nobody_records, python_environment
from musician.runtime.world import World
from musician.store.port import Store
from musician.trees.branches import BASELINE
from musician.trees.merge import baseline_tree, drop_baseline
from musician.trees.provisioning import give
from musician.trees.root import Root
from musician.verification.baseline import Baseline, Before
from musician.verification.commands import Ran, command_runner
from musician.verification.result import CommandResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Baselines:
    """Known results of the commits that a task, or its merge, may begin at."""

    root: Root
    store: Store
    settings: Settings
    task: TaskSpec
    plan_id: str | None
    world: World
    keeps_tree: bool = False
    """Whoever tries several commands clears up after the last."""

    def at(self, commit: str) -> Before:
        """Return what a verification of a change that began at ``commit`` may excuse."""
        return _At(known=self, commit=commit)

    def covers(self, command: str) -> bool:
        """Whether the command is the task's default, and not one that a checkpoint of it names."""
        named = {test for checkpoint in self.task.checkpoints for test in checkpoint.tests}
        return command == self.task.test and command not in named

    async def ended(self, commit: str, command: str, *, is_green_due: bool = False) -> Baseline:
        """Return how a command ended on a commit; it is run if nobody has run it there.

        With ``is_green_due`` a command that was not green is run again.
        """

        def look() -> Baseline | None:
            kept = self._kept(commit, command)
            return None if kept is not None and kept.why and is_green_due else kept

        found = await run_sync(look)
        if found is not None:
            return found
        try:
            async with alone_with(_lock(self.root, self.plan_id)):
                return await run_sync(look) or await self._try(commit, command)
        except (MusicianError, OSError) as error:
            return _untried(command, str(error))
        finally:
            if not self.keeps_tree:
                await clear_tree(self.root, self.plan_id)

    def keep(self, commit: str, results: Iterable[CommandResult]) -> None:
        """Keep the results of a verification of ``commit``. Blocks."""
        for result in results:
            baseline = Baseline.of(Ran(result=result, record=None, heard=""))
            is_whole = baseline.failing in (None, len(baseline.failed))  # else names are missing
            if result.command == self.task.test and is_whole:
                self._keep(commit, baseline)

    async def set_up(self, tree: Path) -> str:
        """Run the task's set-up in a tree of the program's own; return what went wrong, "" if nothing."""
        return await self.world.prepare_tree(
            self.task.setup,
            tree=tree,
            env=python_environment(),
            time_limit_s=self.settings.time.step_limit_s,
            on_process=nobody_records,
        )

    async def _try(self, commit: str, command: str) -> Baseline:
        tree = await run_sync(baseline_tree, self.root, self.plan_id or NO_PLAN, commit)
        await run_sync(partial(give, self.root, tree, copy=self.task.copy, share=self.task.share))
        if problem := await self.set_up(tree):
            return _untried(command, problem)
        with (
            self.world.sandboxed(self.root, self.task, tree),
            command_runner(
                tree=tree,
                log=base_log(self.root),
                env=environment_of(self.root, self.task),
                time_limit_s=self.settings.time.verification_limit_s,
                on_process=nobody_records,
            ) as runner,
        ):
            baseline = Baseline.of(await runner.run(command, to_the_end=True))
            if baseline.why and not baseline.is_empty:
                baseline = baseline.and_again(Baseline.of(await runner.run(command, to_the_end=True)))
        await run_sync(self._keep, commit, baseline)
        return baseline

    @property
    def _given(self) -> str:
        """All that a tree gets besides the commit, and its sandbox: the same tests may end otherwise without it."""
        task = self.task
        given = {
            "copy": task.copy,
            "share": task.share,
            "sandbox": () if task.sandbox is Sandboxing.OFF else (task.sandbox, task.network),
            "sandbox-write": task.sandbox_write,
            "reach": task.reach,
            "sandbox-read": task.sandbox_read,
        }
        more = (f"\n{key}: {', '.join(paths)}" for key, paths in given.items() if paths)
        return (task.setup or "") + "".join(more)

    def _kept(self, commit: str, command: str) -> Baseline | None:
        text = service.baseline_text(self.store, commit, setup=self._given, command=command)
        try:
            return None if text is None else Baseline.from_json(text)
        except ValueError:  # written by another version
            return None

    def _keep(self, commit: str, baseline: Baseline) -> None:
        service.keep_baseline(
            self.store,
            commit,
            setup=self._given,
            command=baseline.command,
            result=baseline.to_json(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _At:
    known: Baselines
    commit: str

    def covers(self, command: str) -> bool:
        return self.known.covers(command)

    async def ended(self, command: str) -> Baseline:
        return await self.known.ended(self.commit, command)


def base_log(root: Root) -> Path:
    """Return the log of what the tried commands print."""
    return root.logs_dir / "base.log"


async def clear_tree(root: Root, plan_id: str | None) -> None:
    """Remove the plan's tree for trying commits, unless a process uses it now, which will remove it itself."""
    with anyio.CancelScope(shield=True):
        await run_sync(_clear, root, plan_id)


def _clear(root: Root, plan_id: str | None) -> None:
    with (
        suppress(MusicianError, OSError),
        locked_now(_lock(root, plan_id)) as is_ours,
    ):  # `musician doctor` names what could not be removed
        if is_ours:
            drop_baseline(root, plan_id or NO_PLAN)


def left_behind(root: Root) -> Iterator[Path]:
    """Yield such trees that nobody uses, because their makers were killed. Blocks."""
    for place in sorted(root.trees_dir.glob(f"*/{BASELINE}")):
        with locked_now(_lock(root, place.parent.name)) as is_free:
            if is_free:
                yield place


def _lock(root: Root, plan_id: str | None) -> Path:
    root.locks_dir.mkdir(parents=True, exist_ok=True)
    return root.locks_dir / f"{plan_id or NO_PLAN}.base-lock"


def _untried(command: str, problem: str) -> Baseline:
    return Baseline(command=command, exit_code=-1, why=f"cannot run: {problem}", is_empty=True)
