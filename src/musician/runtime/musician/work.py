"""One musician session on one task: claim, find out where the last one stopped, play, end.

Order: the life lock is held before the claim, so that a session that owns a task and has died is known to be dead
at once; the process is recorded next; the tree and the journal are brought into agreement before anything is played.
"""

import os
from contextlib import nullcontext
from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.agents.registry import account_for, model_of_subagents
from musician.plans.model import Network, Sandboxing, TaskSpec
from musician.processes.life_lock import HeldBy, lock_path
from musician.processes.machine import Machine
from musician.processes.output import one_line
from musician.processes.redaction import Redactor
from musician.processes.transcript import Kind, Transcript
from musician.protocol.conductor.orchestra import NO_RETRY_HELPS
from musician.protocol.errors import (
    AgentUnavailable,
    ClaimLost,
    MusicianError,
    NoRepository,
    PriceUnknown,
    SandboxUnavailable,
    TreeNotReady,
)
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import SelfCorrection
from musician.protocol.messages.types import HandoffNotice
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.resumption.conversation import goes_on
from musician.protocol.settings import Settings
from musician.runtime.briefing import rules_for
from musician.runtime.claimed import ClaimedSession
from musician.runtime.claiming import block, claim_task
from musician.runtime.in_force import settings_of_task
from musician.runtime.musician.environment import session_environment
from musician.runtime.musician.player import PlayedBy
from musician.runtime.musician.session import Session
from musician.runtime.program import load_task_file, program_of
from musician.runtime.resuming.lookback import look_back
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasks import raising_one
from musician.runtime.world import WORLD, World
from musician.service import Taken
from musician.store.port import Store
from musician.store.rows import MessageRow
from musician.trees.preconditions import check_repository
from musician.trees.root import Root

_UNCHANGED_BY_TIME = (AgentUnavailable, NoRepository, PriceUnknown, SandboxUnavailable, TreeNotReady)
"""What the next session would meet as well: a person is asked at once."""
MOST_REASON_CHARS = 500
"""Of why a session could not go on, in its message."""


async def play_task(
    root: Root,
    store: Store,
    task_id: str,
    session_id: str,
    *,
    settings: Settings,
    agent: str | None = None,
    quiet: bool = False,
    out_of_turn: bool = False,
    owns_process: bool = False,
    world: World = WORLD,
) -> r.End:
    """Play a task in a new session until it is complete, handed off, or somebody stops it.

    Raises :class:`ClaimBlocked` if the task is not to be had (``quiet``: without leaving a fallback row), and
    :class:`AgentUnavailable` or :class:`PriceUnknown`, with nothing claimed, for an ``agent`` that cannot be used.

    ``owns_process``: everything that runs below this process belongs to the session, and is ended before
    another may have the task, orphans of a leash that was killed included. Without it nothing but the
    session's own leashes is ended.
    """
    settings = await run_sync(settings_of_task, store, task_id, settings)
    if agent is not None:
        world.agent_within(settings, agent)
    machine = world.machine
    held = machine.hold(lock_path(root.locks_dir, task_id), session_id=session_id)
    if isinstance(held, HeldBy):
        process = "" if held.identity is None else f" {held.identity.pid}"
        reason = f"session {held.session_id} lives on it in another process{process}"
        view = await run_sync(service.task_view, store, task_id)
        block(store, view, session_id, reason, quiet=quiet)
    ending = machine.adopting_orphans(settings.time.shutdown_grace_s / 2) if owns_process else nullcontext()
    stop = _Stop(machine)
    with held, ending, raising_one():
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(stop.hear_signal)
                group.start_soon(stop.hear_lease)
                claimed = partial(
                    claim_task,
                    root,
                    store,
                    task_id,
                    session_id,
                    quiet=quiet,
                    out_of_turn=out_of_turn,
                    reserves=not out_of_turn,
                    settings=settings,
                    world=world,
                )
                taken = await run_sync(claimed)
                end = await _begin(root, store, taken, stop, world, settings=settings, agent=agent)
                group.cancel_scope.cancel()
            return end
        finally:
            machine.close_kennel()


class _Stop:
    """Whether this session is asked to end early, and why; available from its first moment on."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.reason = ""
        self.asked = anyio.Event()
        self.verifying = anyio.CancelScope()
        """Around what a signal must not wait for while no engine listens yet (B32)."""

    def ask(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.verifying.cancel()
        self.asked.set()

    async def hear_signal(self) -> None:
        received = await self._machine.stop_requested()
        self.ask(f"interrupted by {received.name}")

    async def hear_lease(self) -> None:
        await self._machine.lease_lost()
        self.ask("the conductor is gone")

    async def tell(self, session: Session) -> None:
        await self.asked.wait()
        await session.tell(i.StopAsked(reason=self.reason))


async def _begin(
    root: Root,
    store: Store,
    taken: Taken,
    stop: _Stop,
    world: World,
    *,
    settings: Settings,
    agent: str | None,
) -> r.End:
    """Play a claim. If it cannot be begun or continued, give it back with the reason."""
    try:
        claimed, task, planned = await run_sync(_prepare, root, store, taken, settings, world, agent)
        if task.network is Network.NONE and planned != "shell":
            closed = f"`network: none` closes the way of {planned} to its provider"
            raise SandboxUnavailable(task=task.task_id, reason=closed)
        with world.sandboxed(root, task, claimed.tree.path) as why_open:
            if why_open and task.sandbox is not Sandboxing.OFF:
                note = Entry(kind=EntryKind.NOTE, text=f"played without a sandbox: {why_open}")
                await run_sync(claimed.note, note)
            return await _play(claimed, task, planned, stop)
    except ClaimLost:
        return r.End(kind=r.EndKind.LOST, reason="the claim was taken over")
    except (MusicianError, OSError) as error:
        reason = await run_sync(_why_not, root, error)
        await run_sync(_give_back, root, store, taken, reason)
        return r.End(kind=r.EndKind.EXITED, reason=reason)


def _why_not(root: Root, error: Exception) -> str:
    """Return why a session could not go on, with a note if the next one would meet the same."""
    if isinstance(error, _UNCHANGED_BY_TIME):
        return f"{NO_RETRY_HELPS}{error}"
    try:
        check_repository(root, ())
    except MusicianError as unfit:
        return f"{NO_RETRY_HELPS}{unfit}"
    return f"could not go on: {error}"


def _prepare(
    root: Root, store: Store, taken: Taken, settings: Settings, world: World, agent: str | None
) -> tuple[ClaimedSession, TaskSpec, str]:
    """Return what the session works with, its task, and the name of its agent: the plan's, unless another is
    given.
    """
    claim = taken.claim
    identity = world.machine.own_identity()
    service.record_process(store, claim, "musician", identity)
    task = load_task_file(root, claim.task_id, taken.instruction_path)
    agent = agent or task.agent
    service.describe_session(store, claim, agent=agent, account=account_for(task, agent))
    row = service.task_row(store, claim.task_id)
    base = service.base_of_plan(store, row.plan_id)
    tree = world.open_tree(root, task, claim, plan_id=row.plan_id, base=base)
    TaskFiles(root, claim.task_id).begin()
    claimed = ClaimedSession(
        root=root,
        store=store,
        settings=settings,
        claim=claim,
        worked_by=taken.worked_by,
        instruction_path=taken.instruction_path,
        plan_id=row.plan_id,
        task=task,
        program=program_of(task),
        tree=tree,
        environment=session_environment(
            root, store, claim, tree.path, worked_by=taken.worked_by, pid=identity.pid
        ),
        world=world,
    )
    return claimed, task, agent


def _give_back(root: Root, store: Store, taken: Taken, reason: str) -> None:
    """End the claim of a session that cannot go on, with the reason; finished work is kept."""
    task_files = TaskFiles(root, taken.claim.task_id)
    about = f"- Session ID: {taken.claim.session_id}\n- Exit reason: {reason}\n"
    path = task_files.relative(task_files.handoff)
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
        notice,
        handoff=f"# HANDOFF: {taken.claim.task_id}\n\n## Session Info\n{about}",
    )


def _conversation(claimed: ClaimedSession, agent: str) -> str:
    """Return the token of the conversation to resume, "" for a new one; a resumed one is this session's from
    then on.
    """
    before = service.conversation_before(claimed.store, claimed.claim)
    if before is None or not goes_on(
        agent=agent,
        last_agent=before.agent,
        exit_reason=before.exit_reason,
        context_pct=before.context_pct,
        settings=claimed.settings,
    ):
        return ""
    service.keep_conversation(claimed.store, claimed.claim, before.token)
    service.record(
        claimed.store,
        claimed.claim,
        Entry(
            kind=EntryKind.NOTE,
            text=f"{agent} goes on with its last conversation, {before.context_pct:.0f} % full",
        ),
    )
    return before.token


async def _play(claimed: ClaimedSession, task: TaskSpec, agent: str, stop: _Stop) -> r.End:
    redact = Redactor({**os.environ, **claimed.environment})
    claim = claimed.claim
    place = claimed.root.transcript(claim.task_id, claim.epoch, claim.session_id)
    transcript = await run_sync(Transcript, place, redact)
    played_by = PlayedBy(
        agent=claimed.world.agent_within(claimed.settings, agent, task.budget),
        budget=task.budget,
        model=task.model,
        subagents_model=(
            task.subagent_model
            or claimed.settings.prompts.subagent_model
            or model_of_subagents(agent)
            or task.model
        ),
        rules=rules_for(task, claimed.settings),
        account=account_for(task, agent),
        token=await run_sync(_conversation, claimed, agent),
    )
    session = Session(claimed=claimed, played_by=played_by, transcript=transcript)
    with raising_one(), transcript, session:
        transcript.write(
            Kind.BEGIN,
            task=claim.task_id,
            session=claim.session_id,
            epoch=claim.epoch,
            agent=agent,
            tree=str(claimed.tree.path),
            goes_on=bool(played_by.token),
        )
        async with anyio.create_task_group() as group:
            group.start_soon(stop.tell, session)
            started, last_seen_id = await _find_start(claimed, stop.verifying)
            end = await session.run(started, last_seen_id=last_seen_id)
            group.cancel_scope.cancel()
    return end


async def _find_start(claimed: ClaimedSession, verifying: anyio.CancelScope) -> tuple[i.Started, int]:
    """Find where to go on, and what the conductor has said meanwhile."""
    found = await look_back(claimed, verifying=verifying)
    view, resumed = found.view, found.resumed
    if found.unread:  # acknowledged by the engine, once a piece has heard them (D12)
        ids = tuple(message.id for message in found.unread)
        await run_sync(service.deliver, claimed.store, claimed.claim, ids)
    started = i.Started(
        progress=resumed.progress,
        errors_so_far=view.error_count,
        retry_limit=view.row.retry_limit,
        report_path=claimed.task_files.relative(claimed.task_files.completion),
        advice=resumed.advice,
        last_message_id=resumed.last_message_id,
        since=resumed.since,
        ownerless_tasks=found.ownerless_tasks,
        doubts=found.doubts,
        pause=_pause_in_force(view, found.unread),
    )
    return started, resumed.last_message_id


def _pause_in_force(view: service.TaskView, unread: tuple[MessageRow, ...]) -> str:
    """Return why the phase is paused. Messages since the view was taken count, because no watcher will tell
    them again.
    """
    why = view.order_to_pause
    for message in unread:
        if message.message_type == MessageType.PAUSE:
            why = message.message
        elif message.message_type == MessageType.GO_ON:
            why = ""
    return why
