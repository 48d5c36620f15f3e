"""The session that a server acts for: its id, its claim, and the life locks of its tasks (D2).

The id comes from the environment and is read once. After ``/clear`` the client goes on under another id, and the server
follows: to the successor that is recorded for its own id, or to the session that its parent process runs now (a client
runs one session at a time). It acts for no other session (B05).

While it lives, the server holds the life lock of each claim it acts for, so a client that is killed is known to be dead
at once. If another process of the client makes a claim, as a hook does, the server takes its lock when it hears of it.
"""

import os
import threading
from collections.abc import Mapping

from musician import service
from musician.processes.identity import ProcessIdentity, identify
from musician.processes.life_lock import LifeLock, hold, lock_path
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, NotConducting
from musician.protocol.names import check_session_id
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.settings import Settings
from musician.runtime.manual.manual_session import ManualSession
from musician.store.port import Store
from musician.trees.root import Root

_HOSTED, _OPENED = "MUSICIAN_SESSION", "CLAUDE_CODE_SESSION_ID"
"""Variables with the session's id. If both are set the first counts: it comes from a program that hosts the client."""


class ServedSession:
    """The session of one server. All calls block."""

    def __init__(self, environ: Mapping[str, str], project: Project) -> None:
        self._born_as = environ.get(_HOSTED) or environ.get(_OPENED)
        self._is_opened = not environ.get(_HOSTED)
        self._attended = environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1"
        self._hosted = bool(environ.get("MUSICIAN_HOST"))
        self._client: ProcessIdentity = identify(os.getppid())
        self._project = project
        self._locks: dict[str, LifeLock] = {}
        self._claiming: set[str] = set()
        self._locking, self._opening = threading.Lock(), threading.Lock()

    @property
    def root(self) -> Root:
        return self._project.root

    @property
    def settings(self) -> Settings:
        return self._project.settings

    @property
    def store(self) -> Store:
        with self._opening:
            return self._project.store

    @property
    def session_id(self) -> str:
        """The client's present session. Raises :class:`NoSession` if the server was started without one."""
        born_as = check_session_id(self._born_as)
        current = service.current_session(self.store, born_as)
        if not self._is_opened or current != born_as or service.claims_of(self.store, current):
            return current
        conducting = service.conducting_session(self.store)
        if conducting is not None and conducting.session_id == current:
            return current
        return service.session_of_process(self.store, self._client) or current

    @property
    def conducts(self) -> bool:
        """Whether it is the session in which a person conducts."""
        conducting = service.conducting_session(self.store)
        return conducting is not None and not self._hosted and conducting.session_id == self.session_id

    def check_conducts(self) -> None:
        """Raise :class:`NotConducting` unless it is, and plays nothing itself."""
        session_id = self.session_id
        if self._hosted:
            raise NotConducting(session_id=session_id, reason="a run plays in it")
        service.check_conducts(self.store, session_id)

    @property
    def claim(self) -> Claim:
        """The session's only claim. Raises :class:`WhichTask` if it has none or several."""
        return service.only_claim(self.store, self.session_id)

    @property
    def manual(self) -> ManualSession:
        """The session on its claim, with the context reading that the client's hooks measured last (D15)."""
        claim = self.claim
        used_pct = service.context_of(self.store, claim)
        return ManualSession.of(self._project, claim, context_pct=used_pct)

    # -- being alive ---------------------------------------------------------------------------------------------

    def beat(self, *, delegated: bool = False) -> None:
        """Refresh the heartbeats that are due, because a tool was called (D10).

        With ``delegated``, no tool was called, and only tasks with running subagents count: the session waits for them,
        and their events do not refresh its heartbeat (D34).
        """
        for claim in service.claims_of(self.store, self.session_id):
            if delegated and not service.running_subagents(self.store, claim):
                continue
            row = service.task_row(self.store, claim.task_id)
            if heartbeat_status(row.heartbeat_age_s, self.settings) is not HeartbeatStatus.OK:
                service.beat(self.store, claim)

    def lock(self, task_id: str, session_id: str) -> None:
        """Take a task's life lock before the task is claimed, and keep it until :meth:`settle`.

        Raises :class:`ClaimBlocked` if another process holds it.
        """
        with self._locking:
            self._claiming.add(task_id)
            if task_id in self._locks:
                return
            held = hold(lock_path(self.root.locks_dir, task_id), session_id=session_id)
            if isinstance(held, LifeLock):
                self._locks[task_id] = held
                return
            self._claiming.discard(task_id)
        reason = f"session {held.session_id} lives on it in another process"
        service.block_claim(self.store, task_id, session_id, reason)
        raise ClaimBlocked(task_id=task_id, state="held", reason=reason)

    def settle(self, task_id: str) -> None:
        """Keep a task's life lock if the claim was made, and release it if it was not."""
        with self._locking:
            self._claiming.discard(task_id)
        self.take_up()

    def release_lock(self, task_id: str) -> None:
        """Release a task's life lock if it is held."""
        with self._locking:
            lock = self._locks.pop(task_id, None)
        if lock is not None:
            lock.release()

    def take_up(self) -> None:
        """Hold the locks of exactly the claims that the session has now, signed with its present id.

        A lock that another process holds is skipped: that is the session's driver, or an earlier server that is ending.
        """
        session_id = self.session_id
        with self._locking:
            owned = {claim.task_id for claim in service.claims_of(self.store, session_id)}
            for task_id in set(self._locks) - owned - self._claiming:
                self._locks.pop(task_id).release()
            for task_id in owned & set(self._locks):
                self._locks[task_id].sign(session_id)
            for task_id in owned - set(self._locks):
                held = hold(lock_path(self.root.locks_dir, task_id), session_id=session_id)
                if isinstance(held, LifeLock):
                    self._locks[task_id] = held

    def meet_client(self, session_id: str) -> None:
        """Record the process that runs the session, unless a hook of its client has."""
        if service.client_of(self.store, session_id) is None:
            met = service.Met(identity=self._client, attended=self._attended, hosted=self._hosted)
            service.meet_client(self.store, session_id, met)

    def close(self) -> None:
        for task_id in list(self._locks):
            self.release_lock(task_id)
