"""Wakes an idle session when its conductor has written, with one line on standard output (D11, D12).

Claude Code starts the monitor when the skill is invoked, and passes each of its lines to the session. The client gives
such a line no authority, so it only points to the inbox; the hooks deliver the message once the session is awake. A
session that is working gets its messages from the hooks. The monitor reports one of them only if they have not
delivered it within ``PATIENCE_S``, as during a long tool call or after an interruption.

The monitor is the session's watcher: it lives as long as the client, so it refreshes the heartbeat, and it follows the
claim when ``/clear`` gives the conversation a new id.
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
"""How long the hooks of a working session may take to deliver before the monitor reports."""

POLL_S = 5.0
"""How often it checks the database if nothing wakes it."""

_INIT = 1
"""The parent's pid if the client ended before the monitor began."""

_CALLING = VERDICTS | {State.EXIT_REQUESTED}
"""The states that the conductor sets and that a session has to act on."""


@dataclass(slots=True, kw_only=True)
class _Watched:
    """One task as it was at the last check, and what the session was told of it.

    ``is_called`` is true if the conductor has set a state that the session was not told of. ``new_since_s`` is when
    something new was seen first, ``message_id`` the newest message that the session was told of. ``is_held``: its plan
    was paused.
    """

    state: str
    message_id: int = 0
    is_called: bool = False
    new_since_s: float | None = None
    waits_since_s: float | None = None
    is_held: bool = False


@dataclass(slots=True)
class Monitor:
    """Watches the tasks of one session; ``session_id`` is the session it was started for."""

    context: HookContext
    session_id: str
    store: Store
    settings: Settings
    _watched: dict[str, _Watched] = field(default_factory=dict)

    def due(self, now_s: float) -> list[str]:
        """Check the session's tasks and return the lines that are due. ``now_s`` is of any monotonic clock."""
        self.context.look(service.current_session(self.store, self.session_id))
        held = [each for each in self.context.held if each.task_id != CONDUCTOR]
        lost = [self._lost(each) for each in held if each.task_id in self._watched and not each.is_live]
        live = [each for each in held if each.is_live]
        for task_id in self._watched.keys() - {each.task_id for each in live}:
            del self._watched[task_id]
        return [line for line in [*lost, *(self._about(each, now_s) for each in live)] if line]

    @property
    def tasks(self) -> frozenset[str]:
        """The ids of the session's tasks at the last check."""
        return frozenset(self._watched)

    @staticmethod
    def _lost(held: Held) -> str:
        if held.state in TERMINAL:
            return ""
        return f"{held.task_id} was taken from this session: write nothing more for it"

    def _about(self, held: Held, now_s: float) -> str:
        task = self._watched.setdefault(held.task_id, _Watched(state=held.state))
        self._keep_alive(held)
        if held.state != task.state:
            task.state, task.is_called, task.waits_since_s = held.state, held.state in _CALLING, None
        if (paused := self._pause(held, task)) is not None:
            return paused
        newest = self._newest(held) if held.undelivered else 0
        if not task.is_called and newest <= task.message_id:
            task.new_since_s = None  # nothing is new, or the hooks have delivered it
            return self._check_conductor(held, task, now_s)
        task.new_since_s = now_s if task.new_since_s is None else task.new_since_s
        if held.state == State.WORKING and now_s < task.new_since_s + PATIENCE_S:
            return ""
        task.is_called, task.new_since_s, task.message_id = False, None, max(newest, task.message_id)
        about = f"message {newest}, " if newest else ""
        return f"{held.task_id} is {held.state}: {about}call inbox"

    def _pause(self, held: Held, task: _Watched) -> str | None:
        """Return what to print because of the plan's pause, nothing while it lasts; None if there is none (PLAN-23).

        A model is not prompted meanwhile, but to leave. Whoever stood still is woken once the plan goes on.
        """
        was_held, pause = task.is_held, service.pause_of_task(self.store, held.task_id)
        task.is_held = pause is not None and held.state != State.EXIT_REQUESTED
        if task.is_held:
            return ""
        if was_held and held.state == State.WORKING:
            return f"{held.task_id} is {held.state}: its plan goes on, call claim for where it stands"
        return None

    def _newest(self, held: Held) -> int:
        return max((message.id for message in service.unread(self.store, held.task_id)), default=0)

    def _claim(self, held: Held) -> Claim:
        session = service.current_session(self.store, self.session_id)
        return Claim(task_id=held.task_id, session_id=session, epoch=held.epoch)

    def _keep_alive(self, held: Held) -> None:
        if heartbeat_status(held.heartbeat_age_s, self.settings) is not HeartbeatStatus.OK:
            service.beat(self.store, self._claim(held))

    def _check_conductor(self, held: Held, task: _Watched, now_s: float) -> str:
        """Return a line if a wait has timed out and the conductor is gone. A wait for a person never times out."""
        if held.state not in WAITING:
            task.waits_since_s = None
            return ""
        task.waits_since_s = now_s if task.waits_since_s is None else task.waits_since_s
        if now_s - task.waits_since_s < self.settings.waiting.timeout_s:
            return ""
        task.waits_since_s = now_s
        seen = service.observe(self.store, self._claim(held), awaiting_id=None)
        gone = heartbeat_status(seen.conductor_age_s, self.settings) is HeartbeatStatus.STALE
        if seen.waits_for_human or not gone:
            return ""
        return f"{held.task_id} is {held.state}: the conductor shows no life, call conductor_health"


def program(argv: Sequence[str]) -> int:
    """Print the lines for the session that the environment names, until its client ends. Always returns 0.

    ``conductor``: what waits for a session that conducts; otherwise what its conductor says to a musician's.
    """
    session_id = session_of(os.environ.get("CLAUDE_CODE_SESSION_ID"))
    context = find_database(os.environ, os.getcwd())
    if session_id is None or context is None or not context.exists:
        return 0
    try:
        with Parent() as client:
            if list(argv) == ["conductor"]:
                _watch_for_conductor(context, session_id, client)
            else:
                _watch(Monitor(context, session_id, context.store, context.settings), client)
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


def _watch_for_conductor(context: HookContext, born_as: str, client: Parent) -> None:
    """Print one line for everything new that waits for the session that conducts, under whatever id it goes on."""
    from musician.processes.machine import MACHINE
    from musician.reporting.conducting import news

    with context.store.listen() as ear:
        while not client.is_gone and client.pid != _INIT:
            try:
                session_id = service.current_session(context.store, born_as)
                lines, _ = news(context.root, context.store, context.settings, session_id, MACHINE)
            except (MusicianError, apsw.Error) as error:  # the database is locked: try again
                sys.stderr.write(f"musician monitor: {error}\n")
                lines = ()
            if lines:
                sys.stdout.write(f"{'; '.join(lines)}: call needs_me\n")
                sys.stdout.flush()
            ear.wait(POLL_S, besides=client.end)


def _look(monitor: Monitor) -> frozenset[str]:
    """Print the lines that are due and return the session's tasks."""
    try:
        lines = monitor.due(time.monotonic())
    except (
        MusicianError,
        apsw.Error,
    ) as error:  # the database is locked, or a claim was lost meanwhile: try again
        sys.stderr.write(f"musician monitor: {error}\n")
        lines = []
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return monitor.tasks
