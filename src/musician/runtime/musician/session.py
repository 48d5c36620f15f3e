"""The driver of one session: feeds the engine, stores its records, then does its acts (``protocol.ready``).

Database calls run in threads, one at a time. A piece plays in an async task of its own, so that a message, a
signal or a lost claim is heard meanwhile. Everything a piece tells reaches the engine before the piece's end
does, because both go through one queue.
"""

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Self

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.to_thread import run_sync

from musician import service
from musician.agents import port
from musician.agents.hearing import kept, plain
from musician.processes.identity import ProcessIdentity
from musician.processes.life_lock import held_by, person_path
from musician.processes.output import one_line
from musician.processes.transcript import Kind, Transcript
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost, DatabaseUnusable, IllegalEvent, MusicianError
from musician.protocol.journal import REWORK_BEGINS, Entry, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step, takes
from musician.protocol.musician.program import Play
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.rules.breaker import Leave
from musician.protocol.rules.delegation import Extent
from musician.protocol.settings import Settings
from musician.protocol.spending import Usage
from musician.protocol.states import State
from musician.protocol.values import dataclass, replace
from musician.runtime.baselines import Baselines
from musician.runtime.briefing import briefing_of
from musician.runtime.checkpoint import run_checkpoint
from musician.runtime.meter import Meter
from musician.runtime.musician.engaged import Engaged
from musician.runtime.musician.watching import Watcher
from musician.runtime.noticing import noticed
from musician.runtime.permission import note_read, why_refused
from musician.runtime.program import place_in_plan
from musician.runtime.proposing import Desk, keep_made
from musician.runtime.recording import Recorder
from musician.runtime.resuming.resolutions import take_up_resolution, trouble_told
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasktree import TaskTree
from musician.runtime.world import World
from musician.store.port import Store

_KEPT: dict[type[object], Kind] = {
    i.VerificationEnded: Kind.VERIFICATION,
    i.VerdictArrived: Kind.VERDICT,
    i.MessageArrived: Kind.MESSAGE,
    i.PauseAsked: Kind.MESSAGE,
    i.PauseLifted: Kind.MESSAGE,
    i.ExitWasRequested: Kind.MESSAGE,
    i.Steered: Kind.HEARD,
    i.StopAsked: Kind.MESSAGE,
    i.LimitLifted: Kind.LIMIT,
    i.ClaimWasLost: Kind.MESSAGE,
}
"""What else stands in the transcript; what an agent tells stands there already."""

LOOK_AT_LIMIT_S = 30.0
"""How often one who waits for a provider looks whether the limit is over."""
LOOK_AT_PROBE_S = 1.0
"""How often the others look whether the first that asked was given something."""
_MOST_TROUBLE_CHARS = 500
_MOST_TOLD_CHARS = 4000
"""Of what a subagent told at its end, kept to be held against what is found (D19)."""
_PAUSED = frozenset({Mode.AWAITING_VERDICT, Mode.AWAITING_ANSWER, Mode.PAUSED})
BY_PERSON = "by a person"
"""The item of a commit with what a person has changed."""
Work = Callable[[], Awaitable[i.Input]]


@dataclass(kw_only=True)
class Session:
    """Everything one session needs, and its queue of inputs."""

    store: Store
    claim: Claim
    agent: port.Agent
    tree: TaskTree
    task_files: TaskFiles
    settings: Settings
    state: MusicianState
    recorder: Recorder
    log: Path
    """Of what tests and other checks print."""
    transcript: Transcript
    environment: dict[str, str]
    setup: str | None
    """The command that must have succeeded once in this tree."""
    baselines: Baselines | None
    world: World
    rules: str
    """How a model is to play, for the begin of each conversation."""
    model: str
    subagents_model: str
    token: str = ""
    """Of the agent's conversation that is to be gone on with."""
    _send: MemoryObjectSendStream[i.Input] = field(init=False)
    _receive: MemoryObjectReceiveStream[i.Input] = field(init=False)
    _group: anyio.abc.TaskGroup = field(init=False)
    _engaged: Engaged = field(init=False)
    _meter: Meter = field(init=False)
    _playing: anyio.CancelScope | None = None
    _watcher: Watcher = field(init=False)
    _end: r.End | None = None
    _asked_id: int = 0
    _used_pct: float | None = None
    """Of the context, as was told last."""
    _is_probe: bool = False
    """It is the first to ask its provider after a limit."""

    def __post_init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[i.Input](math.inf)
        self._engaged = Engaged(
            agent=self.agent,
            stage=self._stage,
            token=self.token,
            keep=self._keep_conversation,
            brief=self._brief,
        )
        self._meter = Meter(store=self.store, claim=self.claim, ceilings=self.settings.ceilings)
        self._watcher = Watcher(
            store=self.store,
            claim=self.claim,
            settings=self.settings,
            tell=self._send.send,
            wanted_by=partial(held_by, person_path(self.task_files.root.locks_dir, self.claim.task_id)),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._send.close()
        self._receive.close()

    async def tell(self, given: i.Input) -> None:
        """Queue an input from outside: a signal, a lost lease."""
        await self._send.send(given)

    async def run(self, started: i.Started, *, last_seen_id: int) -> r.End:
        """Play to the end of the session. ``last_seen_id``: messages up to it were handed over with ``started``."""
        self._watcher.last_seen_id = last_seen_id
        async with anyio.create_task_group() as self._group:
            await self._take(started)
            if self._end is None:
                self._group.start_soon(self._watcher.run)
                async for given in self._receive:
                    if not self._is_overtaken(given):
                        await self._take(given)
                    if self._end is not None:
                        break
            self._group.cancel_scope.cancel()
        assert self._end is not None  # noqa: S101  # the queue stays open until the end
        self.transcript.write(Kind.END, ending=self._end.kind, **plain(self._end))
        return self._end

    def _is_overtaken(self, given: i.Input) -> bool:
        """Whether an input is out of date: a wait that is over, or a verdict on what was reported again
        since.
        """
        if isinstance(given, i.VerdictArrived) and self._watcher.awaiting_id is not None:
            return True
        may_be_late = i.VerdictArrived | i.WaitTimedOut | i.LimitLifted
        return isinstance(given, may_be_late) and not takes(self.state, given)

    async def _take(self, given: i.Input) -> None:
        """One turn: decide, store, act. The new state counts only once its records are stored."""
        if (kind := _kept_as(given)) is not None:
            self.transcript.write(kind, what=type(given).__name__, **plain(given))
        if isinstance(given, i.MessageArrived):  # the watcher may have seen it before the question was asked
            given = replace(given, is_answer=given.message_id > self._asked_id)
        if isinstance(given, i.PersonLeft) and self.state.mode is Mode.WITH_PERSON:
            given = replace(given, commit_id=await run_sync(self._keep_persons))
        state, ready = step(self.state, given)
        try:
            for record in ready.records:
                if isinstance(record, r.Acknowledge | r.ExitClaim | r.CompleteTask):
                    await self._watcher.delivered()
                if isinstance(record, r.CompleteTask):
                    await self._restore_tree()  # changes after the submission are no part of it
                message_id = await run_sync(partial(self.recorder.store_record, record))
                if isinstance(record, r.Ask):
                    self._asked_id = message_id or 0
                elif message_id is not None:
                    self._watcher.wait_for(message_id)
        except ClaimLost:
            if isinstance(given, i.ClaimWasLost):
                raise
            await self._take(i.ClaimWasLost())
            return
        except IllegalEvent as refused:
            # The exit was requested since the watcher's last look; a session that leaves takes what happened.
            if refused.state != State.EXIT_REQUESTED or isinstance(given, i.ExitWasRequested):
                raise
            await self._take(i.ExitWasRequested(text="", message_id=0))
            if takes(self.state, given):
                await self._take(given)
            return
        self.state = state
        self._watcher.pause(state.mode in _PAUSED)
        for act in ready.acts:
            await self._act(act)

    async def _act(self, act: r.Act) -> None:
        match act:
            case r.PlayPiece():
                self._begin(partial(self._play, act))
            case r.ReworkPiece():
                self._begin(partial(self._rework, act))
            case r.Verify():
                self._begin(partial(self._verify, act))
            case r.StopPiece():
                if self._playing is not None:
                    self.transcript.write(Kind.INTERRUPT)
                    self._engaged.interrupt(self._group, self._playing)
            case r.AwaitLimit():
                self._group.start_soon(self._await_limit)
            case r.Release():
                await self._release()
            case r.TakeBack():
                await self._send.send(i.PersonLeft())
            case r.Steer():
                self._group.start_soon(self._steer, act)
            case r.End():
                self._end = act

    async def _await_limit(self) -> None:
        """Wait for a limit's end by the database's clock, which may be set, and may stand still while the
        machine sleeps.
        """
        limited_for_s = partial(service.limited_for_s, self.store, self.claim.task_id)
        while (left_s := await run_sync(limited_for_s)) > 0:
            await anyio.sleep(min(left_s, LOOK_AT_LIMIT_S))
        await self._send.send(i.LimitLifted())

    async def _release(self) -> None:
        await self._engaged.close()
        released = r.Write(entries=(Entry(kind=EntryKind.WITH_PERSON, text=self._watcher.person),))
        await run_sync(partial(self.recorder.store_record, released))

    def _keep_persons(self) -> str | None:
        """Commit what a person has changed, once nothing runs any more that could change it further. Blocks."""
        machine, grace_s = self.world.machine, self.settings.time.shutdown_grace_s
        machine.end_belongings((self.claim.session_id,), self.tree.path, grace_s=grace_s)
        with suppress(MusicianError, OSError):  # the tree is looked at again before anything is played
            return self.tree.keep(BY_PERSON, "What a person has changed")
        return None

    async def _steer(self, act: r.Steer) -> None:
        if await self._engaged.steer(act.text):
            await self._send.send(i.Steered(message_id=act.message_id))

    def _begin(self, work: Work) -> None:
        # The scope exists before the task runs, so that a stop which comes first is not lost.
        self._playing = anyio.CancelScope()
        self._group.start_soon(self._busy, self._playing, work)

    async def _busy(self, scope: anyio.CancelScope, work: Work) -> None:
        """Run one piece or verification; tell how it ended, once and last."""
        with scope:
            ended = await self._attempt(work)
            with anyio.CancelScope(shield=True):
                if isinstance(ended, i.PieceEnded) and ended.ending is not i.PieceEnding.DONE:
                    await self._take_back()
                await self._send.send(ended)
        if scope.cancelled_caught:
            await self._take_back()
            await self._send.send(
                self._stopped(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.STOPPED))
            )

    def _stopped(self, ended: i.PieceEnded) -> i.PieceEnded:
        """Say of a piece that was stopped whether a ceiling has stopped it."""
        found = self._meter.reached
        if ended.ending is i.PieceEnding.STOPPED and found is not None:
            return replace(ended, ending=i.PieceEnding.SPENT, detail=found.text)
        if ended.ending is i.PieceEnding.SPENT and found is None:  # a ceiling of the agent's own
            return replace(ended, ending=i.PieceEnding.REFUSED)
        return ended

    def _halt(self) -> None:
        """Stop what plays: a ceiling is reached."""
        if self._playing is not None:
            self._engaged.interrupt(self._group, self._playing)

    async def _take_back(self) -> None:
        """Take back what an unfinished piece has committed itself: the next begins before it."""
        with suppress(MusicianError, OSError):  # the tree is looked at again before anything else is played
            ref = await run_sync(self.tree.take_back)
            if ref is not None:
                entry = Entry(kind=EntryKind.SET_ASIDE, text=ref)
                await run_sync(partial(self.recorder.store_record, r.Write(entries=(entry,))))

    async def _attempt(self, work: Work) -> i.Input:
        """Do the work; an error that keeps a piece from being played or kept becomes its failure, reported to
        the conductor.

        Errors of the database are raised: they are not the work's fault, and could not be recorded either.
        """
        try:
            return await work()
        except ClaimLost:
            return i.ClaimWasLost()
        except DatabaseUnusable:
            raise
        except (MusicianError, OSError) as error:
            detail = one_line(str(error), _MOST_TROUBLE_CHARS)
            return i.PieceEnded(item=self.state.item, ending=i.PieceEnding.FAILED, detail=detail)

    async def _play(self, act: r.PlayPiece) -> i.Input:
        play = act.play
        if play.undoes:
            return await self._undo(play)
        piece = port.Piece(
            kind=port.PieceKind.AGENT if play.is_agent else port.PieceKind.STEP,
            task_id=self.claim.task_id,
            item=play.item,
            title=play.title,
            prose=play.prose,
            scripts=play.scripts,
            feedback=act.advice,
            files=tuple(sorted(play.extent.files)),
            tests=self.state.program.check_after(play.item).commands,
            time_limit_s=self.settings.time.step_limit_s,
        )
        return await self._perform(piece)

    async def _undo(self, play: Play) -> i.Input:
        """Revert a finished step by a new commit, made by the program itself."""
        await self._restore_tree()
        undo = partial(self.tree.undo, play.undoes, play.item)
        with anyio.CancelScope(shield=True):
            commit = await run_sync(undo)
        return i.PieceEnded(item=play.item, ending=i.PieceEnding.DONE, commit_id=commit)

    async def _rework(self, act: r.ReworkPiece) -> i.Input:
        check = act.check
        view = await run_sync(partial(service.task_view, self.store, self.claim.task_id))
        view = view.this_time
        resolved = await run_sync(partial(take_up_resolution, view, self.tree))
        if resolved:
            await run_sync(partial(self.recorder.store_record, r.Write(entries=resolved[1:])))
            return i.PieceEnded(
                item=resolved[0].item,
                ending=i.PieceEnding.DONE,
                detail=resolved[0].text,
                commit_id=resolved[0].commit_id,
            )
        ended: i.PieceEnded | None = None
        in_trouble = bool(trouble_told(view))
        if in_trouble:
            begins = r.Write(entries=(Entry(kind=EntryKind.NOTE, item=act.item, text=REWORK_BEGINS),))
            await run_sync(partial(self.recorder.store_record, begins))
        try:
            piece = port.Piece(
                kind=port.PieceKind.REWORK,
                task_id=self.claim.task_id,
                item=act.item,
                title=check.title,
                prose=check.prose,
                scripts=check.rework,
                feedback=act.feedback,
                time_limit_s=self.settings.time.step_limit_s,
            )
            ended = await self._perform(piece, takes_in=in_trouble)
        finally:
            if in_trouble and (ended is None or ended.ending is not i.PieceEnding.DONE):
                with anyio.CancelScope(shield=True):  # else it would be taken for a person's resolution
                    await self._restore_tree()
        return ended

    async def _perform(self, piece: port.Piece, *, takes_in: bool = False) -> i.PieceEnded:
        """Play a piece: from the last finished state of the tree to the next one, or to a reason why not.

        ``takes_in``: merge first what others have finished.
        """
        await self._restore_tree()
        await run_sync(self.tree.look_beside)
        if takes_in:
            piece = replace(piece, prose=piece.prose + await self._take_in())
        try:
            return await self._perform_prepared(piece)
        finally:
            with anyio.CancelScope(shield=True):
                await self._tell_besides(piece.item)

    async def _tell_besides(self, item: str) -> None:
        """Tell what the piece has done besides its work."""
        look = partial(noticed, self.task_files.root, self.store, self.claim.task_id, item, self.tree)
        entries = await run_sync(look)
        if entries:
            await run_sync(partial(self.recorder.store_record, r.Write(entries=entries)))

    async def _perform_prepared(self, piece: port.Piece) -> i.PieceEnded:
        problem = await self._set_up_tree()
        if problem:
            return i.PieceEnded(item=piece.item, ending=i.PieceEnding.FAILED, detail=problem)
        if (found := await self._meter.look()) is not None:
            return i.PieceEnded(item=piece.item, ending=i.PieceEnding.SPENT, detail=found.text)
        if (limited_s := await self._wait_to_ask()) > 0:
            detail = "its provider limits another session"
            return i.PieceEnded(
                item=piece.item, ending=i.PieceEnding.LIMITED, detail=detail, wait_s=limited_s
            )
        tell = self._proving(kept(self.transcript, piece, self._heard))
        async with self._meter.running(self._halt):
            ended = self._stopped(await self._engaged.play(piece, tell, self._group))
        if ended.ending is not i.PieceEnding.DONE:
            by_subagent = piece.kind is port.PieceKind.AGENT
            left = await run_sync(self.tree.attempted) if by_subagent else Extent()
            detail = ended.detail
            if ended.ending is i.PieceEnding.UNPLAYABLE:
                detail += f"; add one at {await run_sync(self._place)}"
            return replace(ended, detail=detail, left=left)
        with anyio.CancelScope(shield=True):  # a stop that comes now finds the finished piece kept
            commit = await run_sync(partial(self.tree.keep, piece.item, piece.title))
            has_changed = commit is not None or self.tree.tip() is None  # nobody can tell in a shared tree
        asked = "" if has_changed else ended.asked
        return replace(ended, detail=ended.detail[-_MOST_TOLD_CHARS:], commit_id=commit, asked=asked)

    async def _wait_to_ask(self) -> float:
        """Wait while another session asks first whether a limit is over; return how long one holds, 0 if none does."""
        while (leave := await run_sync(service.leave_to_ask, self.store, self.claim)) is Leave.WAIT:
            limited_s = await run_sync(service.limited_for_s, self.store, self.claim.task_id)
            if limited_s > 0:
                return limited_s
            await anyio.sleep(LOOK_AT_PROBE_S)
        self._is_probe = leave is Leave.PROBE
        return 0.0

    def _proving(self, tell: port.Tell) -> port.Tell:
        """Return a ``tell`` that writes down that the provider gives again, once it has given something."""

        async def proved(event: port.AgentEvent) -> None:
            if self._is_probe and isinstance(event, port.Output | port.ToolUsed):
                self._is_probe = False
                await run_sync(service.prove, self.store, self.claim)
            await tell(event)

        return proved

    def _place(self) -> str:
        """Return the place in the plan of what is being played or reworked."""
        row = service.task_row(self.store, self.claim.task_id)
        plan = None if row.plan_id is None else service.plan_row(self.store, row.plan_id)
        item = "" if self.state.current is None else self.state.current.item
        return place_in_plan(
            self.task_files.root,
            item,
            task_id=row.task_id,
            plan_path=None if plan is None else plan.path,
            instruction_path=row.instruction_path or "",
        )

    async def _verify(self, act: r.Verify) -> i.Input:
        await self._restore_tree()
        problem = await self._set_up_tree()
        if problem:
            return i.PieceEnded(item=act.check.item, ending=i.PieceEnding.FAILED, detail=problem)
        found = await run_checkpoint(
            self.store,
            self.claim,
            act.check,
            tree=self.tree.path,
            tree_id=self.tree.tree_id,
            start=self.tree.start,
            baselines=self.baselines,
            verify=self.world.verify_checkpoint,
            log=self.log,
            env=self._environment_for(act.check.item),
            settings=self.settings,
            on_process=self._record_agent,
        )
        changes = await run_sync(self.tree.changes, found.result.tree_id)
        return found.ended(changes)

    async def _restore_tree(self) -> None:
        ref = await run_sync(self.tree.set_aside)
        if ref is not None:
            entry = Entry(kind=EntryKind.SET_ASIDE, text=ref)
            await run_sync(partial(self.recorder.store_record, r.Write(entries=(entry,))))

    async def _take_in(self) -> str:
        """Take in the plan's branch; return what the agent must know of it."""
        in_conflict = await run_sync(self.tree.take_in)
        if not in_conflict:
            return "\n\nWhat is merged already is in your tree now."
        paths = " ".join(in_conflict)
        return f"\n\nThe other side is in your files now, with conflict markers: resolve them, then git add {paths}"

    async def _set_up_tree(self) -> str:
        """Run the plan's set-up once in this tree; return what went wrong, "" if nothing."""
        return await self.world.prepare_tree(
            self.setup,
            tree=self.tree.path,
            env=self._environment_for("setup"),
            time_limit_s=self.settings.time.step_limit_s,
            on_process=self._record_agent,
            on_begin=self._tell_set_up,
        )

    async def _tell_set_up(self, command: str) -> None:
        entry = Entry(kind=EntryKind.SETTING_UP, text=one_line(command, _MOST_TROUBLE_CHARS))
        await run_sync(partial(self.recorder.store_record, r.Write(entries=(entry,))))

    def _stage(self, is_subagents: bool) -> port.Stage:  # noqa: FBT001  # the one thing to know
        return port.Stage(
            model=self.subagents_model if is_subagents else self.model,
            tree=self.tree.path,
            env=self.environment,
            on_process=self._record_agent,
            may=self._may,
            is_metered=self._meter.is_needed,
        )

    def _environment_for(self, item: str) -> dict[str, str]:
        return {**self.environment, "MUSICIAN_ITEM": item}

    async def _record_agent(self, identity: ProcessIdentity) -> None:
        await run_sync(partial(service.record_process, self.store, self.claim, "agent", identity))

    async def _may(self, call: port.ToolCall) -> str:
        if self._meter.reached is not None:  # were it answered before it is stopped, its model would go on
            await self._engaged.told_to_stop.wait()
            return self._meter.reached.text
        why = await run_sync(partial(why_refused, self.store, self.claim, self.task_files, self.tree, call))
        self.transcript.write(Kind.PERMISSION, name=call.name, given=call.given, refused=why)
        if not why and (self._used_pct or 0) >= self.settings.context.economy_from_pct:
            await run_sync(note_read, self.task_files, self.tree, call, self._used_pct)
        return why

    async def _keep_conversation(self, token: str) -> None:
        await run_sync(partial(service.keep_conversation, self.store, self.claim, token))

    async def _brief(self, is_gone_on_with: bool) -> str:  # noqa: FBT001  # the one thing to know
        view = await run_sync(partial(service.task_view, self.store, self.claim.task_id))
        handoff = await run_sync(self.task_files.found_handoff)
        return briefing_of(
            view.this_time,
            self.state.program,
            handoff,
            epoch=self.claim.epoch,
            is_gone_on_with=is_gone_on_with,
            rules=self.rules,
        )

    async def _heard(self, event: port.AgentEvent) -> None:
        """Handle an agent's event. What only a reviewer may say means nothing from a playing agent."""
        if isinstance(event, port.ProposalMade):  # kept at once: the engine has nothing to decide
            desk = Desk(root=self.task_files.root, store=self.store)
            await run_sync(partial(keep_made, desk, self.claim, self.tree.path, event))
        elif isinstance(event, Usage):
            await self._meter.used(self.transcript.piece, event)
            if await self._meter.look():
                self._halt()
        elif isinstance(event, port.SelfReport):
            if isinstance(event, i.ContextTold):
                self._used_pct = event.used_pct
            await self._send.send(event)


def _kept_as(given: i.Input) -> Kind | None:
    match given:
        case i.PieceEnded(ending=i.PieceEnding.LIMITED | i.PieceEnding.REFUSED):
            return Kind.LIMIT
        case i.PieceEnded():
            return Kind.ENDED
    return _KEPT.get(type(given))
