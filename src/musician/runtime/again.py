"""A person's orders to do a task again, or to go on without it. Every surface gives them here.

They may come while a run goes on, which hears of them as of all news, and while none does. A session that is gone is
taken over first, so that neither order waits for a conductor; one that lives is ended by ``musician stop``.
"""

from musician import service
from musician.protocol.rules.liveness import Owner
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.owners import owner_of
from musician.runtime.in_force import settings_of_task
from musician.runtime.takeover import take_over
from musician.runtime.world import WORLD, World
from musician.service import Dependents, Retried, Skipped
from musician.store.port import Store
from musician.trees.removed import Removed, keep_removed
from musician.trees.root import Root


def retry_task(
    root: Root,
    store: Store,
    task_id: str,
    settings: Settings,
    text: str | None = None,
    *,
    from_start: bool = False,
    world: World = WORLD,
) -> Retried:
    """As :func:`musician.service.retry`; the task of a session that is gone is taken over. Blocks."""
    settings = settings_of_task(store, task_id, settings)
    if (
        service.task_row(store, task_id).state is not State.NEEDS_REVIEW
    ):  # its verdict outlives the session (D7)
        _take_over_if_gone(root, store, task_id, settings, world)
    patience = settings.limits.error_retries
    return service.retry(store, task_id, text, from_start=from_start, patience=patience)


def skip_task(
    root: Root,
    store: Store,
    task_id: str,
    reason: str,
    settings: Settings,
    *,
    dependents: Dependents | None = None,
    world: World = WORLD,
) -> tuple[Skipped, tuple[Removed, ...]]:
    """As :func:`musician.service.skip`, and what is kept of the work; the task of a session that is gone is taken over.
    Blocks.
    """
    _take_over_if_gone(root, store, task_id, settings_of_task(store, task_id, settings), world)
    done = service.skip(store, task_id, reason, dependents=dependents)
    plan_id = service.task_row(store, task_id).plan_id
    return done, () if plan_id is None else keep_removed(root, plan_id, done.skipped)


def _take_over_if_gone(root: Root, store: Store, task_id: str, settings: Settings, world: World) -> None:
    view = service.task_view(store, task_id)
    owner = owner_of(root, view, settings, world.machine)
    if owner in (Owner.DEAD, Owner.STALE):
        take_over(root, store, task_id, settings, is_known_dead=owner is Owner.DEAD, world=world)
