"""Wakes an idle session when its conductor has spoken: one line on standard output, a pointer and no more (D11, D12).

Claude Code starts it when the skill is invoked and hands each line to the session. It delivers nothing: what wakes a
session this way has no authority, so it says only where to look, and the hooks that see the session awake deliver. A
session that is at work is left to them; it is told here only of what they have not delivered within ``PATIENCE_S``,
as in one long tool call or after an interruption.

It is the watcher of such a session: it refreshes the heartbeat, for it lives exactly as long as the client does, and
follows a claim to the id that ``/clear`` gave the conversation.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import field

import apsw

from musician import service
from musician.hooks.event import session_of
from musician.hooks.hook_context import Held, HookContext, find_database
from musician.processes.parent import Parent
from musician.protocol.claim import Claim
from musician.protocol.errors import MusicianError
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.settings import Settings
from musician.protocol.states import TERMINAL, VERDICTS, WAITING, State
from musician.protocol.values import dataclass
from musician.store.port import Store

PATIENCE_S = 60.0
"""How long a session at work is left to its hooks before it is told here."""

POLL_S = 5.0
"""How often it looks by itself."""

_INIT = 1
"""Whose child it is when its client had ended before it began."""

_CALLING = VERDICTS | {State.EXIT_REQUESTED}
"""States that the conductor sets and a session has to act on."""


@dataclass(slots=True, kw_only=True)
class _Told:
    """What is known of one task: the state when it was last looked at, and what the session was told.

    ``is_called``: the conductor has set a state that the session has not heard of. ``new_since_s``: something is.
    """

    state: str
    message_id: int = 0
    is_called: bool = False
    new_since_s: float | None = None
    waits_since_s: float | None = None


@dataclass(slots=True)
class Monitor:
    """Looks for one session; ``session_id`` is the one it was started for."""

    context: HookContext
    session_id: str
    store: Store
    settings: Settings
    _told: dict[str, _Told] = field(default_factory=dict)

    def look(self, now_s: float) -> list[str]:
        """The lines that are due. ``now_s`` is any clock that only goes forward."""
        self.context.look(service.current_session(self.store, self.session_id))
        held = [each for each in self.context.held if each.task_id != CONDUCTOR]
        lost = [self._lost(each) for each in held if each.task_id in self._told and not each.is_live]
        live = [each for each in held if each.is_live]
        for task_id in self._told.keys() - {each.task_id for each in live}:
            del self._told[task_id]
        return [line for line in [*lost, *(self._about(each, now_s) for each in live)] if line]

    @property
    def tasks(self) -> frozenset[str]:
        """What the session had when it was looked at last."""
        return frozenset(self._told)

    @staticmethod
    def _lost(held: Held) -> str:
        if held.state in TERMINAL:
            return ""
        return f"{held.task_id} was taken from this session: write nothing more for it"

    def _about(self, held: Held, now_s: float) -> str:
        told = self._told.setdefault(held.task_id, _Told(state=held.state))
        self._keep_alive(held)
        if held.state != told.state:
            told.state, told.is_called, told.waits_since_s = held.state, held.state in _CALLING, None
        newest = self._newest(held) if held.undelivered else 0
        if not told.is_called and newest <= told.message_id:
            told.new_since_s = None  # nothing, or the hooks were here first
            return self._mind_the_wait(held, told, now_s)
        told.new_since_s = now_s if told.new_since_s is None else told.new_since_s
        if held.state == State.WORKING and now_s < told.new_since_s + PATIENCE_S:
            return ""
        told.is_called, told.new_since_s, told.message_id = False, None, max(newest, told.message_id)
        about = f"message {newest}, " if newest else ""
        return f"{held.task_id} is {held.state}: {about}call inbox"

    def _newest(self, held: Held) -> int:
        return max((message.id for message in service.unread(self.store, held.task_id)), default=0)

    def _claim(self, held: Held) -> Claim:
        session = service.current_session(self.store, self.session_id)
        return Claim(task_id=held.task_id, session_id=session, epoch=held.epoch)

    def _keep_alive(self, held: Held) -> None:
        if heartbeat_status(held.heartbeat_age_s, self.settings) is not HeartbeatStatus.OK:
            service.beat(self.store, self._claim(held))

    def _mind_the_wait(self, held: Held, told: _Told, now_s: float) -> str:
        """Once in a wait that takes too long, whether anybody is there to answer it; a person may take their time."""
        if held.state not in WAITING:
            told.waits_since_s = None
            return ""
        told.waits_since_s = now_s if told.waits_since_s is None else told.waits_since_s
        if now_s - told.waits_since_s < self.settings.waiting.timeout_s:
            return ""
        told.waits_since_s = now_s
        seen = service.observe(self.store, self._claim(held), awaiting_id=None)
        gone = heartbeat_status(seen.conductor_age_s, self.settings) is HeartbeatStatus.STALE
        if seen.waits_for_human or not gone:
            return ""
        return f"{held.task_id} is {held.state}: the conductor shows no life, call conductor_health"


def program(argv: Sequence[str]) -> int:  # noqa: ARG001  # as the hooks are called
    """Print a line whenever the session of the environment is called for, until its client ends. Always 0."""
    session_id = session_of(os.environ.get("CLAUDE_CODE_SESSION_ID"))
    context = find_database(os.environ, os.getcwd())
    if session_id is None or context is None or not context.exists:
        return 0
    try:
        monitor = Monitor(context, session_id, context.store, context.settings)
        with Parent() as client:
            _watch(monitor, client)
    except (MusicianError, BrokenPipeError) as error:
        sys.stderr.write(f"musician monitor: {error}\n")
    finally:
        context.close()
    return 0


def _watch(monitor: Monitor, client: Parent) -> None:
    while not client.is_gone and client.pid != _INIT:
        tasks = monitor.tasks
        with monitor.store.listen(*tasks) as ear:
            while _look(monitor) == tasks and not client.is_gone:
                ear.wait(POLL_S, besides=client.end)


def _look(monitor: Monitor) -> frozenset[str]:
    """Print what is due; the tasks that are the session's now."""
    try:
        lines = monitor.look(time.monotonic())
    except (MusicianError, apsw.Error) as error:  # locked, or lost between two looks: look again
        sys.stderr.write(f"musician monitor: {error}\n")
        lines = []
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return monitor.tasks
