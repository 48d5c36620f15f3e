"""Tells which process plays a claim, and whether it lives: from row, life lock and recorded processes (D2,
D23).

A session that was opened in a client lives and dies with that client, which is the user's own: we must not
end it. For all others the lock is the surest sign: the kernel drops it with the process. If another session
has signed it since, the process recorded for the claim decides. A claim that left none of these here is
played by hand, or on another host: only its heartbeat tells.
"""

from collections.abc import Callable

from musician import service
from musician.processes.identity import (
    ProcessIdentity,
    host_name,
    is_same_machine,
)
from musician.processes.life_lock import holder, is_held, lock_path
from musician.processes.machine import Machine
from musician.protocol.rules.liveness import Owner, heartbeat_status, owner_standing
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.service import TaskView
from musician.store.port import Store
from musician.store.rows import ProcessRow
from musician.trees.root import Root

OwnerOf = Callable[[TaskView], Owner | None]
"""Tells how it is with the owner of a task's claim; None if it has none."""


def last_epoch(view: TaskView) -> int:
    """Return the epoch of the task's newest claim; a fence raises the task's own epoch above it."""
    return max((session.claim_epoch for session in view.sessions), default=view.row.claim_epoch)


def processes_of(root: Root, view: TaskView) -> tuple[ProcessIdentity, ...]:
    """Return the processes of the task's newest claim that we may end, on any machine, the musician's first."""
    signed = None if view.client is not None else _signature(root, view)
    recorded = [service.recorded_identity(row) for row in _recorded(view)]
    return tuple(dict.fromkeys([*([] if signed is None else [signed]), *recorded]))


def lives(root: Root, view: TaskView, machine: Machine) -> bool | None:
    """Whether the process that plays the owner's claim lives; None if that cannot be seen from here."""
    if view.client is not None:
        seen = service.client_lives(view.client, machine.is_running)
        if seen is not None:
            return seen
    if _signature(root, view) is not None:
        return is_held(lock_path(root.locks_dir, view.row.task_id))
    for row in _recorded(view):
        identity = service.recorded_identity(row)
        if row.role == "musician" and is_same_machine(identity):
            return machine.is_running(identity)
    return None


def driver_of(view: TaskView, machine: Machine) -> ProcessIdentity | None:
    """Return the living process on this machine that drives the newest claim; None if there is none or it
    cannot be seen.
    """
    driving = (service.recorded_identity(row) for row in _recorded(view) if row.role == "musician")
    return next((each for each in driving if is_same_machine(each) and machine.is_running(each)), None)


def owner_of(root: Root | None, view: TaskView, settings: Settings, machine: Machine) -> Owner | None:
    """Return the state of a task's owner; None if it has none. Without a root only its heartbeat tells."""
    row = view.row
    if row.session_id is None or row.state not in ACTIVE:
        return None
    status = heartbeat_status(row.heartbeat_age_s, settings)
    alive = None if root is None else lives(root, view, machine)
    if alive and view.client is not None:
        alive = None  # a client may run for days after its session was left, so its running proves nothing
    return owner_standing(status, lock_held=alive)


def owners_for(root: Root | None, settings: Settings, machine: Machine) -> OwnerOf:
    """Return :func:`owner_of` for whoever looks at many tasks."""
    return lambda view: owner_of(root, view, settings, machine)


def ownerless_tasks(root: Root, store: Store, but: str, settings: Settings, machine: Machine) -> int:
    """Return how many tasks other than ``but`` are at work without a live owner (D17). Blocks."""
    count = 0
    for row in service.open_tasks(store):
        if row.state is State.WORKING and row.task_id != but:
            owner = owner_of(root, service.task_view(store, row.task_id), settings, machine)
            count += owner in (Owner.DEAD, Owner.STALE)
    return count


def is_about_to_play(root: Root, task_id: str) -> bool:
    """Whether a process holds the life lock: it is about to claim, or is just ending."""
    return is_held(lock_path(root.locks_dir, task_id))


def _signature(root: Root, view: TaskView) -> ProcessIdentity | None:
    """Return who took the lock last, if it was the row's session on this host; that still holds after a
    reboot.
    """
    signed = holder(lock_path(root.locks_dir, view.row.task_id))
    if signed.identity is None or signed.session_id != view.row.session_id:
        return None
    return signed.identity if signed.identity.host == host_name() else None


def _recorded(view: TaskView) -> list[ProcessRow]:
    """Return the recorded processes, the musician before its agent."""
    epoch = last_epoch(view)
    rows = [row for row in view.processes if row.claim_epoch == epoch]
    return sorted(rows, key=lambda row: row.role, reverse=True)
