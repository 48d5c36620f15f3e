"""One musician session on one task: claim, find out where the last one stopped, play, end.

Order: the life lock is held before the claim, so that a session that owns a task and has died is known to be dead
at once; the process is recorded next; the tree and the journal are brought into agreement before anything is played.
"""

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from musician import service
from musician.agents.port import Agent
from musician.agents.registry import make_agent
from musician.plans.instructions import read_instructions
from musician.plans.model import TaskSpec
from musician.processes.ending import become_subreaper, end_own_descendants
from musician.processes.identity import ProcessIdentity, identify
from musician.processes.lease import lease_lost
from musician.processes.output import one_line
from musician.processes.signals import stop_requested
from musician.processes.vital import HeldBy, hold, lock_path
from musician.protocol import inputs as i
from musician.protocol import ready as r
from musician.protocol.errors import ClaimBlocked, ClaimLost, InvalidPlan, MusicianError
from musician.protocol.journal import Entry, Kind
from musician.protocol.messages import HandoffNotice
from musician.protocol.musician import MusicianState
from musician.protocol.particulars import SelfCorrection
from musician.protocol.program import Check, Program
from musician.protocol.settings import Settings
from musician.protocol.since import Since
from musician.runtime.checkpoint import run_checkpoint
from musician.runtime.handoffs import Left, what_was_left
from musician.runtime.owners import ownerless_tasks
from musician.runtime.papers import Papers
from musician.runtime.preparing import prepare_tree
from musician.runtime.program import program_of
from musician.runtime.recording import Recorder
from musician.runtime.resumption import Resumed, reconcile, resumption_message
from musician.runtime.session import Session
from musician.runtime.tasks import raising_one
from musician.runtime.tasktree import TaskTree, open_tree, setup_mark
from musician.service import Taken
from musician.store.port import Store
from musician.trees.root import Root

__all__ = ["load_task_file", "play_task"]

MOST_REASON_CHARS = 500
"""Of why a session could not go on, in its message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """What a claimed session works with."""

    root: Root
    store: Store
    settings: Settings
    taken: Taken
    task: TaskSpec
    program: Program
    tree: TaskTree
    papers: Papers
    environment: dict[str, str]
    log: Path


async def play_task(
    root: Root,
    store: Store,
    task_id: str,
    session_id: str,
    *,
    settings: Settings,
    agent: str | None = None,
    quiet: bool = False,
) -> r.End:
    """Play a task in a new session until it is complete, handed off, or somebody stops it.

    Raises :class:`ClaimBlocked` if the task is not to be had (``quiet``: without leaving a fallback row), and
    :class:`AgentUnavailable`, with nothing claimed, for an ``agent`` that is not.
    """
    if agent is not None:
        make_agent(agent)
    held = hold(lock_path(root.locks_dir, task_id), session_id=session_id)
    if isinstance(held, HeldBy):
        reason = f"session {held.session_id} lives on it in another process"
        if not quiet:
            await anyio.to_thread.run_sync(partial(service.block_claim, store, task_id, session_id, reason))
        raise ClaimBlocked(task_id=task_id, state="held", reason=reason)
    become_subreaper()
    stop = _Stop()
    with held, raising_one():
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(stop.hear_signal)
                group.start_soon(stop.hear_lease)
                claimed = partial(service.claim, store, task_id, session_id, quiet=quiet, settings=settings)
                taken = await anyio.to_thread.run_sync(claimed)
                end = await _begin(root, store, taken, stop, settings=settings, agent=agent)
                group.cancel_scope.cancel()
            return end
        finally:
            end_own_descendants(settings.time.shutdown_grace_s / 2)


class _Stop:
    """Whether this session is to end before its time, and why; known from its first moment on."""

    def __init__(self) -> None:
        self.reason = ""
        self.asked = anyio.Event()
        self.verifying = anyio.CancelScope()
        """Around what a signal must not wait for while no engine listens yet (B32)."""

    def ask(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.verifying.cancel()
        self.asked.set()

    async def hear_signal(self) -> None:
        received = await stop_requested()
        self.ask(f"interrupted by {received.name}")

    async def hear_lease(self) -> None:
        await lease_lost()
        self.ask("the conductor is gone")

    async def tell(self, session: Session) -> None:
        await self.asked.wait()
        await session.tell(i.StopAsked(reason=self.reason))


async def _begin(
    root: Root, store: Store, taken: Taken, stop: _Stop, *, settings: Settings, agent: str | None
) -> r.End:
    """Play a claim. What it cannot begin or go on with it gives back, with the reason."""
    try:
        stand = await anyio.to_thread.run_sync(partial(_prepare, root, store, taken, settings))
        session_agent = make_agent(agent or stand.task.agent)
        return await _play(stand, session_agent, stop)
    except ClaimLost:
        return r.End(kind=r.EndKind.LOST, reason="the claim was taken over")
    except (MusicianError, OSError) as error:
        await anyio.to_thread.run_sync(partial(_give_back, root, store, taken, str(error)))
        return r.End(kind=r.EndKind.EXITED, reason=f"could not go on: {error}")


def load_task_file(root: Root, task_id: str, path: str) -> TaskSpec:
    """Read a task's instruction file by its project-relative path."""
    place = (root.path / path).resolve()
    if not place.is_relative_to(root.path):
        raise InvalidPlan(problems=(f"{path}:1: outside the project; an instruction file lies in it",))
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPlan(problems=(f"{path}:1: cannot be read ({error}); a UTF-8 text file",)) from error
    return read_instructions(text, path=path, task_id=task_id).task


def _prepare(root: Root, store: Store, taken: Taken, settings: Settings) -> _Stand:
    claim = taken.claim
    identity = identify(os.getpid())
    service.record_process(store, claim, "musician", identity)
    task = load_task_file(root, claim.task_id, taken.instruction_path)
    service.describe_session(store, claim, agent=task.agent)
    row = service.task_row(store, claim.task_id)
    plan = None if row.plan_id is None else service.plan_row(store, row.plan_id)
    tree = open_tree(root, task, claim, plan_id=row.plan_id, base=None if plan is None else plan.base_commit)
    papers = Papers(root, claim.task_id)
    papers.begin()
    return _Stand(
        root=root,
        store=store,
        settings=settings,
        taken=taken,
        task=task,
        program=program_of(task),
        tree=tree,
        papers=papers,
        environment=_environment(root, store, taken, tree, identity),
        log=root.logs_dir / f"{claim.task_id}.agent.log",
    )


def _environment(
    root: Root, store: Store, taken: Taken, tree: TaskTree, identity: ProcessIdentity
) -> dict[str, str]:
    """What an agent, and whatever it starts, finds in its environment."""
    scratch = root.musician_dir / "scratch" / taken.claim.task_id
    scratch.mkdir(parents=True, exist_ok=True)
    return {
        "MUSICIAN_TASK": taken.claim.task_id,
        "MUSICIAN_SESSION": taken.claim.session_id,
        "MUSICIAN_EPOCH": str(taken.claim.epoch),
        "MUSICIAN_WORKED_BY": taken.worked_by,
        "MUSICIAN_DB": str(store.path),
        "MUSICIAN_ROOT": str(root.path),
        "MUSICIAN_TREE": str(tree.path),
        "MUSICIAN_SCRATCH": str(scratch),
        "MUSICIAN_PYTHON": sys.executable,
        "MUSICIAN_PID": str(identity.pid),
        # A step's own byte code would otherwise end up in the commit of a project without a .gitignore.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _give_back(root: Root, store: Store, taken: Taken, why: str) -> None:
    """A session that cannot go on says why and ends its claim; what it has finished is kept."""
    papers = Papers(root, taken.claim.task_id)
    reason = f"could not go on: {why}"
    about = f"- Session ID: {taken.claim.session_id}\n- Exit reason: {reason}\n"
    path = papers.relative(papers.handoff)
    notice = HandoffNotice(
        reason=one_line(reason, MOST_REASON_CHARS),
        handoff_path=path,
        context_usage_pct=None,
        self_correction=SelfCorrection(happened=None),
        last_completed_step="unknown",
        remaining_steps="unknown",
    )
    service.exit_task(
        store,
        taken.claim,
        reason=reason,
        notice=notice.render(),
        handoff_path=path,
        handoff=f"# HANDOFF: {taken.claim.task_id}\n\n## Session Info\n{about}",
    )


async def _play(stand: _Stand, agent: Agent, stop: _Stop) -> r.End:
    store, claim = stand.store, stand.taken.claim
    recorder = Recorder(
        store=store,
        claim=claim,
        papers=stand.papers,
        tree=stand.tree,
        worked_by=stand.taken.worked_by,
        title=stand.task.title,
    )
    session = Session(
        store=store,
        claim=claim,
        agent=agent,
        tree=stand.tree,
        papers=stand.papers,
        settings=stand.settings,
        state=MusicianState(program=stand.program, settings=stand.settings),
        recorder=recorder,
        log=stand.log,
        environment=stand.environment,
        setup=stand.task.setup,
    )
    with raising_one():
        async with anyio.create_task_group() as group:
            group.start_soon(stop.tell, session)
            started, last_seen_id = await _find_start(stand, recorder, stop.verifying)
            end = await session.run(started, last_seen_id=last_seen_id)
            group.cancel_scope.cancel()
    return end


async def _find_start(
    stand: _Stand, recorder: Recorder, verifying: anyio.CancelScope
) -> tuple[i.Started, int]:
    """Bring journal, git and verdicts into agreement, re-verify, and say where to go on."""
    store, claim = stand.store, stand.taken.claim
    view = await anyio.to_thread.run_sync(partial(service.task_view, store, claim.task_id))
    unread = await anyio.to_thread.run_sync(partial(service.unread, store, claim.task_id))
    resumed = await anyio.to_thread.run_sync(partial(reconcile, view, unread, stand.program, stand.tree))
    entries = (
        Entry(kind=Kind.CLAIMED, text=claim.session_id),
        Entry(kind=Kind.LOADED, text=stand.taken.instruction_path),
        *resumed.entries,
    )
    await anyio.to_thread.run_sync(partial(recorder.store_record, r.Write(entries=entries)))
    ownerless = 0
    left = what_was_left(view, stand.papers.found_handoff(), epoch=claim.epoch)
    if left is not None:
        await _announce(stand, recorder, view, resumed, left, verifying)
        count = partial(ownerless_tasks, stand.root, store, claim.task_id, stand.settings)
        ownerless = await anyio.to_thread.run_sync(count)
    if unread:  # acknowledged by the engine, once a piece has heard them (D12)
        ids = tuple(message.id for message in unread)
        await anyio.to_thread.run_sync(partial(service.deliver, store, claim, ids))
    started = i.Started(
        progress=resumed.progress,
        errors_so_far=view.error_count,
        retry_limit=view.row.retry_limit,
        report_path=stand.papers.relative(stand.papers.completion),
        advice=resumed.advice,
        feedback=resumed.feedback,
        last_message_id=resumed.last_message_id,
        since=Since().after([*map(service.as_entry, view.journal), *resumed.entries]),
        ownerless_tasks=ownerless,
    )
    return started, resumed.last_message_id


async def _announce(
    stand: _Stand,
    recorder: Recorder,
    view: service.TaskView,
    resumed: Resumed,
    left: Left,
    verifying: anyio.CancelScope,
) -> None:
    """A resumed session re-verifies, whatever anybody says (D20), and says that it takes over."""
    verification = "nothing approved yet to re-verify"
    check = _last_approved(stand.program, resumed)
    if check is not None:
        verification = f"{check.item}: interrupted"
        with verifying:  # a signal must not wait for the tests (B32)
            verification = f"{check.item}: {await _verify_anew(stand, check)}"
    remaining = stand.program.remaining(resumed.progress)
    message = resumption_message(
        view,
        resumed,
        left,
        worked_by=stand.taken.worked_by,
        verification=verification,
        remaining=remaining[0] if remaining else "the final report",
    )
    say = partial(service.announce, stand.store, stand.taken.claim, message.render())
    await anyio.to_thread.run_sync(say)
    entry = Entry(kind=Kind.RESUMED, text=message.render())
    await anyio.to_thread.run_sync(partial(recorder.store_record, r.Write(entries=(entry,))))


async def _verify_anew(stand: _Stand, check: Check) -> str:
    """What verifying an approved checkpoint again comes to, in one line."""
    tree, record = stand.tree.path, partial(_record_agent, stand)
    problem = await prepare_tree(
        stand.task.setup,
        mark=setup_mark(tree, stand.task.setup or ""),
        tree=tree,
        env=stand.environment,
        time_limit_s=stand.settings.time.step_limit_s,
        on_process=record,
    )
    if problem:
        return problem
    found = await run_checkpoint(
        stand.store,
        stand.taken.claim,
        check,
        tree=tree,
        tree_id=stand.tree.tree_id,
        start=stand.tree.start,
        log=stand.log,
        env=stand.environment,
        settings=stand.settings,
        on_process=record,
    )
    return found.result.tests_line()


def _last_approved(program: Program, resumed: Resumed) -> Check | None:
    approved = [
        item for item in program.items if isinstance(item, Check) and item.item in resumed.progress.approved
    ]
    return approved[-1] if approved else None


async def _record_agent(stand: _Stand, identity: ProcessIdentity) -> None:
    record = partial(service.record_process, stand.store, stand.taken.claim, "agent", identity)
    await anyio.to_thread.run_sync(record)
