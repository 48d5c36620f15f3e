"""This computer, as a driver of sessions sees it: its clock, its processes, its locks, and ids that nobody else has.

Handed in, and never reached for by module, so that a simulation can play the real drivers on a computer of its own:
one whose time jumps, and whose processes die between any two of their acts.
"""

import os
import signal
import time
import uuid
from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path

from musician.processes.belongings import described, end_belongings, find_belongings, find_standing_in
from musician.processes.ending import adopting_orphans, end_tree
from musician.processes.identity import ProcessIdentity, identify, is_running
from musician.processes.kennel import close_kennel
from musician.processes.lease import lease_lost
from musician.processes.life_lock import HeldBy, LifeLock, hold
from musician.processes.scratch import sweep_scratch
from musician.processes.signals import stop_requested

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where the system has such a clock; Linux' monotonic one stops."""


class Machine:
    """The real one. It has no state."""

    def clock_s(self) -> float:
        """Goes on evenly, whatever people and time servers set."""
        return time.clock_gettime(CLOCK)

    def new_id(self, kind: str) -> str:
        """A session's id."""
        return f"{kind}-{uuid.uuid4().hex[:12]}"

    def own_identity(self) -> ProcessIdentity:
        return identify(os.getpid())

    def is_running(self, process: ProcessIdentity) -> bool:
        return is_running(process)

    def end(self, process: ProcessIdentity, *, grace_s: float) -> bool:
        """End it with all that it has started; whether nothing of that is left. Blocks."""
        return end_tree(process, grace_s=grace_s)

    def adopting_orphans(self, grace_s: float) -> AbstractContextManager[None]:
        """For a ``with`` block whatever runs below this process is its own, and ended with it."""
        return adopting_orphans(grace_s)

    def sweep_scratch(self) -> None:
        """Drop the scratch folders of processes that were killed. Blocks."""
        sweep_scratch()

    def close_kennel(self) -> None:
        """No agent is started any more; those that run are ended."""
        close_kennel()

    def end_belongings(
        self, sessions: Collection[str], tree: Path, *, grace_s: float
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """End what sessions have left running; what was ended, and what does not end. Blocks."""
        return end_belongings(sessions, tree, grace_s=grace_s)

    def running_of(self, session_id: str, tree: Path) -> tuple[str, ...]:
        """Return what a session still has running. Blocks."""
        return tuple(described(each) for each in find_belongings({session_id}, tree))

    def standing_in(self, tree: Path) -> tuple[str, ...]:
        """Return the other processes that stand in a tree and may change it. Blocks."""
        return tuple(described(each) for each in find_standing_in(tree))

    def hold(self, path: Path, *, session_id: str) -> LifeLock | HeldBy:
        """Take a life lock, or say who has it."""
        return hold(path, session_id=session_id)

    async def stop_requested(self) -> signal.Signals:
        """Return when this process is asked to end, by which signal."""
        return await stop_requested()

    async def lease_lost(self) -> None:
        """Return when who started this process is gone; never, where it was not started so."""
        await lease_lost()


MACHINE = Machine()
