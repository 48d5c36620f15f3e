"""Plays one piece of a task at a time, or verifies one checkpoint: all that is done around the agent.

A piece begins on the last finished state of the tree, and what it leaves is committed before its end is told. A piece
that did not end well leaves nothing: its changes are set aside under a ref. What the agent tells meanwhile is told
first, and how the piece ended once and last.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field

import anyio
import anyio.abc
from anyio.to_thread import run_sync

from musician import service
from musician.agents import port
from musician.agents.hearing import kept
from musician.processes.output import one_line
from musician.processes.transcript import Kind, Transcript
from musician.protocol.arguments import as_argument
from musician.protocol.errors import ClaimLost, DatabaseUnusable, MusicianError
from musician.protocol.journal import REWORK_BEGINS, Entry, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.program import Play
from musician.protocol.rules.ceilings import Amounts
from musician.protocol.rules.delegation import Extent
from musician.protocol.spending import Usage
from musician.protocol.values import dataclass, replace
from musician.runtime.briefing import briefing_of
from musician.runtime.checkpoint import run_checkpoint
from musician.runtime.claimed import ClaimedSession
from musician.runtime.meter import Meter
from musician.runtime.musician.engaged import Engaged
from musician.runtime.noticing import noticed
from musician.runtime.permission import note_read, why_refused
from musician.runtime.program import place_in_plan
from musician.runtime.proposing import Desk, keep_made
from musician.runtime.provider import Provider
from musician.runtime.recording import store_record
from musician.runtime.resuming.resolutions import take_up_resolution, trouble_told

_MOST_TROUBLE_CHARS = 500
_MOST_TOLD_CHARS = 4000
"""Of what a subagent told at its end, kept to be held against what is found (D19)."""
BY_PERSON = "by a person"
"""The item of a commit with what a person has changed."""


Begun = r.PlayPiece | r.ReworkPiece | r.Verify


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedBy:
    """The agent of a session, and what it is given."""

    agent: port.Agent
    model: str
    subagents_model: str
    rules: str
    """How a model is to play, for the begin of each conversation."""
    budget: Amounts
    """What its plan gives the task."""
    account: str
    """The login by which the agent has its model."""
    token: str
    """Of the conversation that is to be gone on with, "" for a new one."""


@dataclass(kw_only=True)
class Player:
    """Belongs to one session. ``tell`` queues what the engine must know; ``group`` lives as long as the session."""

    claimed: ClaimedSession
    played_by: PlayedBy
    transcript: Transcript
    tell: Callable[[i.Input], Awaitable[None]]
    group: anyio.abc.TaskGroup = field(init=False)
    engaged: Engaged = field(init=False)
    _meter: Meter = field(init=False)
    _playing: anyio.CancelScope | None = None
    _used_pct: float | None = None
    """Of the context, as was told last."""
    provider: Provider = field(init=False)
    _at: str = ""
    """The item that is played, verified or reworked."""

    def __post_init__(self) -> None:
        self.engaged = Engaged(
            agent=self.played_by.agent,
            stage=self._stage,
            token=self.played_by.token,
            keep=self._keep_conversation,
            brief=self._brief,
        )
        claimed = self.claimed
        self.provider = Provider(
            store=claimed.store, account=self.played_by.account, session_id=claimed.claim.session_id
        )
        self._meter = Meter(
            store=claimed.store,
            claim=claimed.claim,
            ceilings=claimed.settings.ceilings,
            budget=self.played_by.budget,
        )

    def begin(self, act: Begun, item: str) -> None:
        """Begin what ``act`` says; ``item`` is the name under which its end is told."""
        # The scope exists before the task runs, so that a stop which comes first is not lost.
        self._playing = anyio.CancelScope()
        self._at = (act.play if isinstance(act, r.PlayPiece) else act.check).item
        self.group.start_soon(self._busy, self._playing, act, item)

    def stop(self) -> None:
        """Have what plays end, if anything does; its end is told as always."""
        if self._playing is not None:
            self.transcript.write(Kind.INTERRUPT)
            self._halt()

    async def _busy(self, scope: anyio.CancelScope, act: Begun, item: str) -> None:
        """Run one piece or verification; tell how it ended, once and last."""
        with scope:
            ended = await self._attempt(act, item)
            with anyio.CancelScope(shield=True):
                if isinstance(ended, i.PieceEnded) and ended.ending is not i.PieceEnding.DONE:
                    await self._take_back()
                await self.tell(ended)
        if scope.cancelled_caught:
            await self._take_back()
            await self.tell(self._stopped(i.PieceEnded(item=item, ending=i.PieceEnding.STOPPED)))

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
            self.engaged.interrupt(self.group, self._playing)

    async def _take_back(self) -> None:
        """Take back what an unfinished piece has committed itself: the next begins before it."""
        with suppress(MusicianError, OSError):  # the tree is looked at again before anything else is played
            ref = await run_sync(self.claimed.tree.take_back)
            if ref is not None:
                await self._write(Entry(kind=EntryKind.SET_ASIDE, text=ref))

    async def _attempt(self, act: Begun, item: str) -> i.Input:
        """Do the work; an error that keeps a piece from being played or kept becomes its failure, reported to
        the conductor.

        Errors of the database are raised: they are not the work's fault, and could not be recorded either.
        """
        try:
            match act:
                case r.PlayPiece():
                    return await self._play(act)
                case r.ReworkPiece():
                    return await self._rework(act)
                case r.Verify():
                    return await self._verify(act)
        except ClaimLost:
            return i.ClaimWasLost()
        except DatabaseUnusable:
            raise
        except (MusicianError, OSError) as error:
            detail = one_line(str(error), _MOST_TROUBLE_CHARS)
            return i.PieceEnded(item=item, ending=i.PieceEnding.FAILED, detail=detail)

    async def _play(self, act: r.PlayPiece) -> i.Input:
        play = act.play
        if play.undoes:
            return await self._undo(play)
        piece = port.Piece(
            kind=port.PieceKind.AGENT if play.is_agent else port.PieceKind.STEP,
            task_id=self.claimed.claim.task_id,
            item=play.item,
            title=play.title,
            prose=play.prose,
            scripts=play.scripts,
            feedback=act.advice,
            files=tuple(sorted(play.extent.files)),
            tests=self.claimed.program.check_after(play.item).commands,
            time_limit_s=self.claimed.settings.time.step_limit_s,
        )
        return await self._perform(piece)

    async def _undo(self, play: Play) -> i.Input:
        """Revert a finished step by a new commit, made by the program itself."""
        await self.restore_tree()
        with anyio.CancelScope(shield=True):
            commit = await run_sync(self.claimed.tree.undo, play.undoes, play.item)
        return i.PieceEnded(item=play.item, ending=i.PieceEnding.DONE, commit_id=commit)

    async def _rework(self, act: r.ReworkPiece) -> i.Input:
        check = act.check
        view = await run_sync(service.task_view, self.claimed.store, self.claimed.claim.task_id)
        view = view.this_time
        resolved = await run_sync(take_up_resolution, view, self.claimed.tree)
        if resolved:
            await self._write(*resolved[1:])
            return i.PieceEnded(
                item=resolved[0].item,
                ending=i.PieceEnding.DONE,
                detail=resolved[0].text,
                commit_id=resolved[0].commit_id,
            )
        ended: i.PieceEnded | None = None
        in_trouble = bool(trouble_told(view))
        if in_trouble:
            await self._write(Entry(kind=EntryKind.NOTE, item=act.item, text=REWORK_BEGINS))
        try:
            piece = port.Piece(
                kind=port.PieceKind.REWORK,
                task_id=self.claimed.claim.task_id,
                item=act.item,
                title=check.title,
                prose=check.prose,
                scripts=check.rework,
                feedback=act.feedback,
                time_limit_s=self.claimed.settings.time.step_limit_s,
            )
            ended = await self._perform(piece, takes_in=in_trouble)
        finally:
            if in_trouble and (ended is None or ended.ending is not i.PieceEnding.DONE):
                with anyio.CancelScope(shield=True):  # else it would be taken for a person's resolution
                    await self.restore_tree()
        return ended

    async def _perform(self, piece: port.Piece, *, takes_in: bool = False) -> i.PieceEnded:
        """Play a piece: from the last finished state of the tree to the next one, or to a reason why not.

        ``takes_in``: merge first what others have finished.
        """
        await self.restore_tree()
        await run_sync(self.claimed.tree.look_beside)
        if takes_in:
            piece = replace(piece, prose=piece.prose + await self._take_in())
        try:
            return await self._perform_prepared(piece)
        finally:
            with anyio.CancelScope(shield=True):
                await self._tell_besides(piece.item)

    async def _tell_besides(self, item: str) -> None:
        """Tell what the piece has done besides its work."""
        claimed = self.claimed
        entries = await run_sync(
            noticed, claimed.root, claimed.store, claimed.claim.task_id, item, claimed.tree
        )
        if entries:
            await self._write(*entries)

    async def _perform_prepared(self, piece: port.Piece) -> i.PieceEnded:
        problem = await self.claimed.set_up(self._tell_set_up)
        if problem:
            return i.PieceEnded(item=piece.item, ending=i.PieceEnding.FAILED, detail=problem)
        if (found := await self._meter.look()) is not None:
            return i.PieceEnded(item=piece.item, ending=i.PieceEnding.SPENT, detail=found.text)
        if (limited_s := await self.provider.leave_to_ask()) > 0:
            detail = "its provider limits another session"
            return i.PieceEnded(
                item=piece.item, ending=i.PieceEnding.LIMITED, detail=detail, wait_s=limited_s
            )
        tell = self.provider.proving(kept(self.transcript, piece, self._heard))
        async with self._meter.running(self._halt):
            ended = self._stopped(await self.engaged.play(piece, tell, self.group))
        ended = await self.provider.told(ended)
        if ended.ending is not i.PieceEnding.DONE:
            by_subagent = piece.kind is port.PieceKind.AGENT
            left = await run_sync(self.claimed.tree.attempted) if by_subagent else Extent()
            detail = ended.detail
            if ended.ending is i.PieceEnding.UNPLAYABLE:
                detail += f"; add one at {await run_sync(self._place)}"
            return replace(ended, detail=detail, left=left)
        with anyio.CancelScope(shield=True):  # a stop that comes now finds the finished piece kept
            tree = self.claimed.tree
            commit = await run_sync(tree.keep, piece.item, piece.title)
            has_changed = commit is not None or tree.tip() is None  # nobody can tell in a shared tree
        asked = "" if has_changed else ended.asked
        return replace(ended, detail=ended.detail[-_MOST_TOLD_CHARS:], commit_id=commit, asked=asked)

    def _place(self) -> str:
        """Return the place in the plan of what is being played or reworked."""
        row = service.task_row(self.claimed.store, self.claimed.claim.task_id)
        plan = service.plan_row(self.claimed.store, row.plan_id)
        return place_in_plan(
            self.claimed.root,
            self._at,
            task_id=row.task_id,
            plan_path=None if plan is None else plan.path,
            instruction_path=row.instruction_path or "",
        )

    async def _verify(self, act: r.Verify) -> i.Input:
        await self.restore_tree()
        problem = await self.claimed.set_up(self._tell_set_up)
        if problem:
            return i.PieceEnded(item=act.check.item, ending=i.PieceEnding.FAILED, detail=problem)
        return (await run_checkpoint(self.claimed, act.check)).ended

    async def restore_tree(self) -> None:
        ref = await run_sync(self.claimed.tree.set_aside)
        if ref is not None:
            await self._write(Entry(kind=EntryKind.SET_ASIDE, text=ref))

    async def _take_in(self) -> str:
        """Take in the plan's branch; return what the agent must know of it."""
        in_conflict = await run_sync(self.claimed.tree.take_in)
        if not in_conflict:
            return "\n\nWhat is merged already is in your tree now."
        paths = " ".join(map(as_argument, in_conflict))
        return f"\n\nThe other side is in your files now, with conflict markers: resolve them, then git add {paths}"

    async def _tell_set_up(self, command: str) -> None:
        await self._write(Entry(kind=EntryKind.SETTING_UP, text=one_line(command, _MOST_TROUBLE_CHARS)))

    async def _write(self, *entries: Entry) -> None:
        await run_sync(store_record, self.claimed, r.Write(entries=entries))

    def _stage(self, is_subagents: bool) -> port.Stage:  # noqa: FBT001  # the one thing to know
        return port.Stage(
            model=self.played_by.subagents_model if is_subagents else self.played_by.model,
            tree=self.claimed.tree.path,
            env=self.claimed.environment,
            on_process=self.claimed.record_agent,
            may=self._may,
        )

    async def _may(self, call: port.ToolCall) -> str:
        if self._meter.reached is not None:  # were it answered before it is stopped, its model would go on
            await self.engaged.told_to_stop.wait()
            return self._meter.reached.text
        claimed = self.claimed
        why = await run_sync(
            why_refused, claimed.store, claimed.claim, claimed.task_files, claimed.tree, call
        )
        self.transcript.write(Kind.PERMISSION, name=call.name, given=call.given, refused=why)
        if not why and (self._used_pct or 0) >= claimed.settings.context.economy_from_pct:
            await run_sync(note_read, claimed.task_files, claimed.tree, call, self._used_pct)
        return why

    async def _keep_conversation(self, token: str) -> None:
        await run_sync(service.keep_conversation, self.claimed.store, self.claimed.claim, token)

    async def _brief(self, is_gone_on_with: bool) -> str:  # noqa: FBT001  # the one thing to know
        view = await run_sync(service.task_view, self.claimed.store, self.claimed.claim.task_id)
        handoff = await run_sync(self.claimed.task_files.found_handoff)
        return briefing_of(
            view.this_time,
            self.claimed.program,
            handoff,
            epoch=self.claimed.claim.epoch,
            is_gone_on_with=is_gone_on_with,
            rules=self.played_by.rules,
        )

    async def _heard(self, event: port.AgentEvent) -> None:
        """Handle an agent's event. What only a reviewer may say means nothing from a playing agent."""
        if isinstance(event, port.ProposalMade):  # kept at once: the engine has nothing to decide
            desk = Desk(root=self.claimed.root, store=self.claimed.store)
            await run_sync(keep_made, desk, self.claimed.claim, self.claimed.tree.path, event)
        elif isinstance(event, Usage):
            await self._meter.used(self.transcript.piece, event)
            if await self._meter.look():
                self._halt()
        elif isinstance(event, port.SelfReport):
            if isinstance(event, i.ContextTold):
                self._used_pct = event.used_pct
            await self.tell(event)

    def keep_persons(self) -> str | None:
        """Commit what a person has changed, once nothing runs any more that could change it further. Blocks."""
        machine, grace_s = self.claimed.world.machine, self.claimed.settings.time.shutdown_grace_s
        machine.end_belongings((self.claimed.claim.session_id,), self.claimed.tree.path, grace_s=grace_s)
        with suppress(MusicianError, OSError):  # the tree is looked at again before anything is played
            return self.claimed.tree.keep(BY_PERSON, "What a person has changed")
        return None
