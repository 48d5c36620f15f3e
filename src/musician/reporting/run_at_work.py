"""Tells whether a run conducts the repository, and which process that is: from the conductor's row and the run's
life lock."""

from musician import service
from musician.processes.identity import ProcessIdentity, host_name
from musician.processes.life_lock import holder, is_held, run_path
from musician.protocol.rules.liveness import Owner, heartbeat_status, owner_standing
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store
from musician.store.rows import TaskRow
from musician.trees.root import Root


def conductor_lives(root: Root, row: TaskRow) -> bool | None:
    """Whether the process that claimed the conductor's row lives; None if that cannot be seen from here."""
    path = run_path(root.locks_dir)
    signed = holder(path)
    if signed.identity is None or signed.session_id != row.session_id or signed.identity.host != host_name():
        return None
    return is_held(path)


def is_conducted(root: Root | None, store: Store, settings: Settings) -> bool:
    """Whether a run is at work. Without a root, outside of a repository, its heartbeat tells. Blocks."""
    row = service.conductor_row(store)
    if row is None or row.state is not State.WORKING:
        return False
    status = heartbeat_status(row.heartbeat_age_s, settings)
    return owner_standing(status, lock_held=None if root is None else conductor_lives(root, row)) not in (
        Owner.DEAD,
        Owner.STALE,
    )


def run_process(root: Root) -> ProcessIdentity | None:
    """The process of the run that conducts here; None if none does."""
    path = run_path(root.locks_dir)
    return holder(path).identity if is_held(path) else None
