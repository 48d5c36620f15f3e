"""The conductor's own lock: one process at a time decides about a repository's plans (D13).

``musician run`` holds it to its end, and whoever changes a plan's place in its life meanwhile. Beside a run
a plan is amended so that the conductor takes it up (``locking``).
"""

from musician.processes.life_lock import HeldBy, LifeLock, lock_path
from musician.processes.machine import Machine
from musician.protocol.errors import ConductorRunning
from musician.protocol.names import CONDUCTOR
from musician.trees.root import Root


def hold_conductor_lock(root: Root, session_id: str, machine: Machine) -> LifeLock:
    """Take the lock and return it, to be released; :class:`ConductorRunning` names the process that has it."""
    held = machine.hold(lock_path(root.locks_dir, CONDUCTOR), session_id=session_id)
    if isinstance(held, HeldBy):
        pid = "" if held.identity is None else f", process {held.identity.pid}"
        raise ConductorRunning(session_id=held.session_id or "", detail=f"session {held.session_id}{pid}")
    return held
