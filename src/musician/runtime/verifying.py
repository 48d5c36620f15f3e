"""The conductor's own verifications: of a trial merge, and of a submission before it is judged (D18, D24).

The plain run of the commands, on purpose. The stages look at a change line by line (which tests it concerns,
whether new ones can fail, coverage, what was left behind), and have done so on this very change, at the
checkpoint that was submitted; all tests are run here anyway, so there is none to select. A raw writer's
submission has been through no stage: it goes through all of them here. What a merge can break besides tests
is how the files hold together: two changes that are each sound can close an import cycle. With ``since`` that
is looked at too.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from anyio.to_thread import run_sync

from musician.plans.model import TaskSpec
from musician.processes.identity import ProcessIdentity
from musician.protocol.settings import Settings
from musician.runtime.world import World
from musician.trees.root import Root
from musician.verification.baseline import Before
from musician.verification.earlier import earlier_of
from musician.verification.result import VerificationResult
from musician.verification.select import full_commands


async def verify_by_hand(
    root: Root,
    task: TaskSpec,
    commands: Sequence[str],
    *,
    tree: Path,
    log: Path,
    checkpoint: int,
    settings: Settings,
    since: str | None = None,
    before: Before | None = None,
    world: World,
) -> VerificationResult:
    """Verify everything up to ``checkpoint`` of ``task`` in ``tree`` as it is; ``since`` is the commit that
    was merged onto.

    Failures from ``before`` are excused.
    """
    with world.sandboxed(root, task, tree):
        return await world.verify(
            commands,
            tree=tree,
            tree_id=await run_sync(world.tree_id, tree),
            log=log,
            env=environment_of(root, task),
            time_limit_s=settings.time.verification_limit_s,
            checkpoint=checkpoint,
            full=True,
            on_process=nobody_records,
            since=since,
            before=before,
        )


async def verify_unseen(
    root: Root,
    task: TaskSpec,
    *,
    tree: Path,
    start: str,
    log: Path,
    checkpoint: int,
    settings: Settings,
    before: Before | None = None,
    world: World,
) -> VerificationResult:
    """Verify work that no session of ours has verified: by all stages, over everything since ``start``, where
    it began (D26).
    """
    with world.sandboxed(root, task, tree):
        return await world.verify_checkpoint(
            full_commands(task, checkpoint),
            tree=tree,
            tree_id=await run_sync(world.tree_id, tree),
            log=log,
            env=environment_of(root, task),
            settings=settings,
            checkpoint=checkpoint,
            final=True,
            on_process=nobody_records,
            earlier=earlier_of((), checkpoint=checkpoint, start=start),
            may_change=task.may_change,
            may_pass_before=task.may_pass_before,
            before=before,
        )


def environment_of(root: Root, task: TaskSpec) -> dict[str, str]:
    """Return the variables of a command that verifies a task in a tree of the program's own."""
    return {"MUSICIAN_TASK": task.task_id, "MUSICIAN_ROOT": str(root.path), **python_environment()}


def python_environment() -> dict[str, str]:
    """Return the variables that a test command gets besides the user's own environment."""
    return {"MUSICIAN_PYTHON": sys.executable}


async def nobody_records(_: ProcessIdentity) -> None:
    """Record nothing: the leash dies with this process, and nobody else takes over what it started."""
