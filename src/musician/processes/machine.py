"""This computer, as a driver of sessions sees it: its clock, its processes, its locks, and ids that nobody else has.

Handed in, and never reached for by module, so that a simulation can play the real drivers on a computer of its own:
one whose time jumps, and whose processes die between any two of their acts.
"""

import os
import time
import uuid
from contextlib import AbstractContextManager
from pathlib import Path

from musician.processes.belongings import (
    described,
    end_belongings,
    find_belongings,
    find_standing_in,
    find_users_of,
)
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

    is_running = staticmethod(is_running)
    end = staticmethod(end_tree)
    sweep_scratch = staticmethod(sweep_scratch)
    close_kennel = staticmethod(close_kennel)
    end_belongings = staticmethod(end_belongings)
    stop_requested = staticmethod(stop_requested)
    lease_lost = staticmethod(lease_lost)

    def adopting_orphans(self, grace_s: float) -> AbstractContextManager[None]:
        return adopting_orphans(grace_s)

    def running_of(self, session_id: str, tree: Path) -> tuple[str, ...]:
        """Return what a session still has running. Blocks."""
        return tuple(described(each) for each in find_belongings({session_id}, tree))

    def standing_in(self, tree: Path) -> tuple[str, ...]:
        """Return the other processes that stand in a tree and may change it. Blocks."""
        return tuple(described(each) for each in find_standing_in(tree))

    def using(self, tree: Path) -> tuple[str, ...]:
        """Return every process, this one and those above it too, that stands in a tree or has a file of it open."""
        return tuple(described(each) for each in find_users_of(tree))

    def hold(self, path: Path, *, session_id: str) -> LifeLock | HeldBy:
        """Take a life lock, or say who has it."""
        return hold(path, session_id=session_id)


MACHINE = Machine()
