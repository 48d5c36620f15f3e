"""Claims a task, for every surface: checks what only this machine can see before the database decides (D2,
D4, D38).

A task whose owner is known dead is taken over first, whoever claims it; a task whose process lives here stays
its owner's, however old its heartbeat looks; and a task whose instruction cannot be read is never given out.
"""

from collections.abc import Mapping
from typing import NoReturn

from musician import service
from musician.processes.identity import own_program
from musician.protocol.errors import ClaimBlocked, InvalidPlan
from musician.protocol.names import check_session_id, check_task_id
from musician.protocol.rules.ceilings import Amounts
from musician.protocol.rules.liveness import Owner
from musician.protocol.settings import Settings
from musician.protocol.states import CLAIMABLE
from musician.reporting.owners import owner_of
from musician.runtime.program import load_task_file, locked_plan
from musician.runtime.takeover import inherit
from musician.runtime.world import World
from musician.service import Taken, TaskView
from musician.store.port import Store
from musician.trees.root import Root


def claim_task(
    root: Root,
    store: Store,
    task_id: str,
    session_id: str | None,
    *,
    settings: Settings,
    quiet: bool = False,
    out_of_turn: bool = False,
    reserves: bool = False,
    world: World,
) -> Taken:
    """Claim a task by :func:`musician.service.claim`, after all other checks. :class:`ClaimBlocked` if one
    fails. Blocks.

    ``reserves``: it is claimed only if its ceilings fit in beside what is at work. Whoever has looked before may have
    been overtaken.
    """
    check_task_id(task_id)
    session = check_session_id(session_id)
    inherit(root, store, task_id, session, settings, world)
    view = service.task_view(store, task_id)
    reason = _why_blocked(root, view, session, settings, world)
    if reason:
        block(store, view, session, reason, quiet=quiet)
    taken = service.claim(
        store,
        task_id,
        session,
        quiet=quiet,
        out_of_turn=out_of_turn,
        budgets=_budgets(root, store, view) if reserves else None,
        settings=settings,
    )
    service.register_program(store, task_id, taken.claim.epoch, own_program())
    return taken


def block(store: Store, view: TaskView, session_id: str, reason: str, *, quiet: bool) -> NoReturn:
    """Raise :class:`ClaimBlocked` for a claim that was not tried; record it, unless ``quiet``."""
    if not quiet:
        service.block_claim(store, view.row.task_id, session_id, reason)
    raise ClaimBlocked(
        task_id=view.row.task_id, state=view.row.state, reason=reason, owner=view.row.session_id
    )


def _budgets(root: Root, store: Store, view: TaskView) -> Mapping[str, Amounts]:
    """Return what a task's plan gives its tasks."""
    row = service.plan_row(store, view.row.plan_id)
    if row is None:
        return {}
    return {task.task_id: task.budget for task in locked_plan(root, row.path, row.text, row.sha256).tasks}


def _why_blocked(root: Root, view: TaskView, session_id: str, settings: Settings, world: World) -> str:
    if view.row.session_id == session_id or view.row.state not in CLAIMABLE:
        return ""  # already its own, or a refusal that the service words best
    if view.row.session_id is not None and owner_of(root, view, settings, world.machine) is Owner.SILENT:
        return f"session {view.row.session_id} is silent, but its process lives"
    if not view.row.instruction_path:
        return ""
    try:
        load_task_file(root, view.row.task_id, view.row.instruction_path)
    except InvalidPlan as error:
        return f"its instruction cannot be read: {error.message}"
    return ""
