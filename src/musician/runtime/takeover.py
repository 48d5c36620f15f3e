"""Takes a task over from a dead session: fence, end, save, reopen (D23).

Each of the four steps can be repeated, so that a kill in between loses nothing. The conductor does it, and so
does anybody who claims by hand a task of a session that is *known* dead: there is one rule for that
(``owners``), and one way to inherit. One at a time does it for a task: a lock says who.
"""

from musician import service
from musician.processes.identity import host_name, is_same_machine
from musician.processes.life_lock import HeldBy, lock_path
from musician.processes.machine import Machine
from musician.processes.whole_file import write_whole
from musician.protocol.errors import StillPlayed
from musician.protocol.names import NO_PLAN
from musician.protocol.resumption.handoff import HandoffKind, classify
from musician.protocol.rules.liveness import Owner, holds_claim
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.reporting.owners import last_epoch, lives, owner_of, processes_of
from musician.runtime.belongings import end_what_runs
from musician.runtime.left_work import LeftWork
from musician.runtime.program import program_in
from musician.runtime.resuming.handoffs import handoff_after_crash, why_gone
from musician.runtime.task_files import TaskFiles
from musician.runtime.world import WORLD, World
from musician.service import TaskView
from musician.service.documents import latest_document
from musician.store.port import Store
from musician.trees.branches import branch_of
from musician.trees.root import Root
from musician.trees.worktree import place_of


def take_over(
    root: Root,
    store: Store,
    task_id: str,
    settings: Settings,
    *,
    is_known_dead: bool,
    world: World,
    is_seen_to: bool = False,
) -> str:
    """Reopen a task whose owner is gone; return what a person must see to first, "" if it is open. Blocks.

    Processes that cannot be ended from here are fenced all the same; ``is_seen_to``: a person has dealt with
    them. Nothing is done while another process does it.
    """
    mine = world.machine.hold(lock_path(root.locks_dir / "takeover", task_id), session_id="takeover")
    if isinstance(mine, HeldBy):
        return ""
    with mine:
        view = service.task_view(store, task_id)
        if view.row.session_id is None:
            return ""
        epoch = last_epoch(view)
        service.fence(store, task_id, epoch=epoch)
        survivor = _end_old(root, view, settings, world.machine)
        if survivor and not is_seen_to:
            return survivor
        place = place_of(root, branch_of(view.row.plan_id or NO_PLAN, task_id))
        ended = end_what_runs(store, view, place, settings, machine=world.machine)
        saved = world.save_work(root, store, view, epoch)
        reason, handoff = _what_is_left(root, store, view, saved, is_known_dead=is_known_dead)
        left = f"Its unfinished work is kept at {saved.ref}." if saved.ref else "It left no unfinished work."
        text = f"The last session {reason}. {left}{f' Before that: {ended}.' if ended else ''}"
        service.take_over(store, task_id, text, reason=reason, handoff=handoff)
    return ""


def inherit(
    root: Root, store: Store, task_id: str, session_id: str, settings: Settings, world: World
) -> None:
    """Take the task over from another session if that one is known dead, so that it can be claimed. Blocks."""
    view = service.task_view(store, task_id)
    is_anothers = view.row.session_id not in (None, session_id)
    if is_anothers and owner_of(root, view, settings, world.machine) is Owner.DEAD:
        take_over(root, store, task_id, settings, is_known_dead=True, world=world)


def hand_over(
    root: Root, store: Store, task_id: str, text: str | None, settings: Settings, world: World = WORLD
) -> tuple[int, State]:
    """As :func:`musician.service.hand_over`, except that the task of a dead session is taken over."""
    view = service.task_view(store, task_id)
    owner = owner_of(root, view, settings, world.machine)
    if owner in (Owner.DEAD, Owner.STALE):
        take_over(root, store, task_id, settings, is_known_dead=owner is Owner.DEAD, world=world)
    return service.hand_over(store, task_id, text)


def _end_old(root: Root, view: TaskView, settings: Settings, machine: Machine) -> str:
    """End the old claim's processes; return what a person must see to, "" if none of them can still run."""
    known = processes_of(root, view)
    here = [identity for identity in known if is_same_machine(identity)]
    ended = [machine.end(identity, grace_s=settings.time.shutdown_grace_s) for identity in here]
    who = f"session {view.row.session_id} is silent and shut out"
    if not all(ended) or lives(root, view, machine):
        numbers = ", ".join(str(identity.pid) for identity in here)
        return f"{who}, but what it runs here does not end (process {numbers}): end it, then send a note"
    is_foreign = any(identity.host != host_name() for identity in known)
    if (not known and lives(root, view, machine) is not False) or is_foreign:
        return f"{who}; it is not this program's to end: see that it has ended, then send a note"
    return ""


def _what_is_left(
    root: Root, store: Store, view: TaskView, saved: LeftWork, *, is_known_dead: bool
) -> tuple[str, tuple[str, str] | None]:
    """Return why the session is gone and, if it left no HANDOFF, one that is marked as the program's (D20)."""
    last = view.sessions[-1]
    task_files = TaskFiles(root, view.row.task_id)
    found = latest_document(store, view.row.task_id, "handoff")
    kind = classify(
        None if found is None else found.body, task_id=last.task_id, last_session_id=last.session_id
    )
    has_left = kind is HandoffKind.WHOLE and found is not None and found.claim_epoch == last.claim_epoch
    reason = why_gone(view, is_known_dead=is_known_dead, has_left=has_left)
    if has_left:
        return reason, None
    text = handoff_after_crash(
        view,
        program_in(root, view.row),
        reason=reason,
        at=service.now(store),
        commit=saved.commit or "none",
        set_aside=saved.ref,
    ).render()
    write_whole(task_files.handoff, text)
    return reason, (task_files.relative(task_files.handoff), text)


def free(root: Root, store: Store, task_id: str, settings: Settings, *, why: str, world: World) -> None:
    """Free a task from a session that died without a word; :class:`StillPlayed` if its owner lives."""
    view = service.task_view(store, task_id)
    owner = owner_of(root, view, settings, world.machine)
    if owner is not None and not holds_claim(owner):
        take_over(root, store, task_id, settings, is_known_dead=owner is Owner.DEAD, world=world)
    elif owner is not None:
        raise StillPlayed(task_id=task_id, session_id=view.row.session_id or "")
    elif view.row.state in ACTIVE - CLAIMABLE:  # by raw SQL: nobody can be asked to end
        service.request_exit(store, task_id, why, urgent=False)
