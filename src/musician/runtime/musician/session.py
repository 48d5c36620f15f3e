"""The driver of one session: feeds the engine, stores its records, then does its acts (``protocol.ready``).

Database calls run in threads, one at a time. A piece plays in an async task of its own (``player``), so that a
message, a signal or a lost claim is heard meanwhile. Everything a piece tells reaches the engine before the piece's
end does, because both go through one queue.
"""

import math
from dataclasses import field
from functools import partial
from typing import Self

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.to_thread import run_sync

from musician import service
from musician.agents.hearing import plain
from musician.processes.life_lock import held_by, person_path
from musician.processes.transcript import Kind, Transcript
from musician.protocol.errors import ClaimLost, IllegalEvent
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step, takes
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.states import State
from musician.protocol.values import dataclass, replace
from musician.runtime.claimed import ClaimedSession
from musician.runtime.musician.player import PlayedBy, Player
from musician.runtime.musician.watching import Watcher
from musician.runtime.recording import store_record

_KEPT: dict[type[object], Kind] = {
    i.VerificationEnded: Kind.VERIFICATION,
    i.VerdictArrived: Kind.VERDICT,
    i.MessageArrived: Kind.MESSAGE,
    i.PauseAsked: Kind.MESSAGE,
    i.PauseLifted: Kind.MESSAGE,
    i.PlanPaused: Kind.MESSAGE,
    i.PlanResumed: Kind.MESSAGE,
    i.ExitWasRequested: Kind.MESSAGE,
    i.Steered: Kind.HEARD,
    i.StopAsked: Kind.MESSAGE,
    i.LimitLifted: Kind.LIMIT,
    i.ClaimWasLost: Kind.MESSAGE,
}
"""What else stands in the transcript; what an agent tells stands there already."""

_LEADS_ON = (
    i.PieceEnded
    | i.VerificationEnded
    | i.VerdictArrived
    | i.MessageArrived
    | i.PauseLifted
    | i.LimitLifted
    | i.PersonLeft
)
"""What a piece may be begun after."""

_PAUSED = frozenset({Mode.AWAITING_VERDICT, Mode.AWAITING_ANSWER, Mode.PAUSED})


@dataclass(kw_only=True)
class Session:
    """Everything one session needs, and its queue of inputs."""

    claimed: ClaimedSession
    played_by: PlayedBy
    transcript: Transcript
    state: MusicianState = field(init=False)
    _send: MemoryObjectSendStream[i.Input] = field(init=False)
    _receive: MemoryObjectReceiveStream[i.Input] = field(init=False)
    _group: anyio.abc.TaskGroup = field(init=False)
    _player: Player = field(init=False)
    _watcher: Watcher = field(init=False)
    _end: r.End | None = None
    _asked_id: int = 0

    def __post_init__(self) -> None:
        claimed = self.claimed
        self.state = MusicianState(program=claimed.program, settings=claimed.settings)
        self._send, self._receive = anyio.create_memory_object_stream[i.Input](math.inf)
        self._player = Player(
            claimed=claimed,
            played_by=self.played_by,
            transcript=self.transcript,
            tell=self._send.send,
        )
        self._watcher = Watcher(
            store=claimed.store,
            claim=claimed.claim,
            settings=claimed.settings,
            tell=self._send.send,
            wanted_by=partial(held_by, person_path(claimed.root.locks_dir, claimed.claim.task_id)),
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
        started = replace(started, plan_pause=await self._plan_pause())
        self._watcher.last_seen_id, self._watcher.plan_pause = last_seen_id, started.plan_pause
        async with anyio.create_task_group() as self._group:
            self._player.group = self._group
            await self._take(started)
            if self._end is None:
                self._group.start_soon(self._watcher.run)
                async for given in self._receive:
                    if not self._is_overtaken(given):
                        await self._take_in_turn(given)
                    if self._end is not None:
                        break
            self._group.cancel_scope.cancel()
        assert self._end is not None  # noqa: S101  # the queue stays open until the end
        self.transcript.write(Kind.END, ending=self._end.kind, **plain(self._end))
        return self._end

    async def _take_in_turn(self, given: i.Input) -> None:
        """Take an input, after a look whether the plan is paused if a piece may be begun because of it (PLAN-23).

        The watcher may not have looked yet, or longer ago: what it says of the plan is only a reason to look.
        """
        is_of_plan = isinstance(given, i.PlanPaused | i.PlanResumed)
        if is_of_plan or isinstance(given, _LEADS_ON):
            pause = self._watcher.plan_pause = await self._plan_pause()
            if pause != self.state.plan_pause:
                await self._take(i.PlanPaused(text=pause) if pause else i.PlanResumed())
        if not is_of_plan and self._end is None:
            await self._take(given)

    async def _plan_pause(self) -> str:
        found = await run_sync(service.pause_of_task, self.claimed.store, self.claimed.claim.task_id)
        return "" if found is None else found.text

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
            given = replace(given, commit_id=await run_sync(self._player.keep_persons))
        state, ready = step(self.state, given)
        try:
            for record in ready.records:
                if isinstance(record, r.Acknowledge | r.ExitClaim | r.CompleteTask):
                    await self._watcher.delivered()
                if isinstance(record, r.CompleteTask):
                    await self._player.restore_tree()  # changes after the submission are no part of it
                message_id = await run_sync(store_record, self.claimed, record)
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
            case r.PlayPiece() | r.ReworkPiece() | r.Verify():
                self._player.begin(act, self.state.item)
            case r.StopPiece():
                self._player.stop()
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
        await self._player.provider.limit_over()
        await self._send.send(i.LimitLifted())

    async def _release(self) -> None:
        await self._player.engaged.close()
        released = r.Write(entries=(Entry(kind=EntryKind.WITH_PERSON, text=self._watcher.person),))
        await run_sync(store_record, self.claimed, released)

    async def _steer(self, act: r.Steer) -> None:
        if await self._player.engaged.steer(act.text):
            await self._send.send(i.Steered(message_id=act.message_id))


def _kept_as(given: i.Input) -> Kind | None:
    match given:
        case i.PieceEnded(ending=i.PieceEnding.LIMITED | i.PieceEnding.REFUSED):
            return Kind.LIMIT
        case i.PieceEnded():
            return Kind.ENDED
    return _KEPT.get(type(given))
