"""The conductor's own lock: one process at a time decides about a repository's plans (D13).

``musician run`` holds it to its end, and whoever changes a plan's place in its life meanwhile. Beside a run
a plan is amended so that the conductor takes it up (``locking``).

Whether a run lives is told by a life lock of the run's own: a command that has decided something for a moment after a
run was killed is no run, and must not hide who the run was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from musician.processes.life_lock import HeldBy, LifeLock, lock_path, run_path
from musician.processes.machine import Machine
from musician.protocol.errors import ConductorRunning
from musician.protocol.names import CONDUCTOR
from musician.trees.root import Root


def hold_conductor_lock(root: Root, session_id: str, machine: Machine) -> LifeLock:
    """Take the lock and return it, to be released; :class:`ConductorRunning` names the process that has it."""
    return _hold(lock_path(root.locks_dir, CONDUCTOR), session_id, machine)


@contextmanager
def conducting_run(root: Root, session_id: str, machine: Machine) -> Iterator[None]:
    """Hold the lock as a run does: it is seen to live meanwhile."""
    with (
        hold_conductor_lock(root, session_id, machine),
        _hold(run_path(root.locks_dir), session_id, machine),
    ):
        yield


def _hold(path: Path, session_id: str, machine: Machine) -> LifeLock:
    held = machine.hold(path, session_id=session_id)
    if isinstance(held, HeldBy):
        pid = "" if held.identity is None else f", process {held.identity.pid}"
        raise ConductorRunning(session_id=held.session_id or "", detail=f"session {held.session_id}{pid}")
    return held
