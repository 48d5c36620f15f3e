"""Whose musician the server is: the session it was started in, its claim, and the life lock of that (D2).

The id comes from the environment, once; a client goes on under another after ``/clear``, and the server follows: the
successor that was written down for its own id, or what its own parent process, a client that runs one session at a
time, runs now. Never anybody else's: a session that is none of these is refused (B05).

While the server lives it holds the life lock of each claim it acts for, so that a client that is killed is known to be
dead at once. A claim that another process of the client has made, as a hook does, is taken up once it is heard of.
"""

import os
import threading
from collections.abc import Mapping

from musician import service
from musician.processes.identity import ProcessIdentity, identify
from musician.processes.life_lock import LifeLock, hold, lock_path
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked
from musician.protocol.names import check_session_id
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.settings import Settings
from musician.runtime.manual.manual_session import ManualSession
from musician.store.port import Store
from musician.trees.root import Root

_HOSTED, _OPENED = "MUSICIAN_SESSION", "CLAUDE_CODE_SESSION_ID"
"""The first that is there counts: a program of ours that hosts a client names its session itself."""


class ServedSession:
    """One server's place at one task. All calls block."""

    def __init__(self, environ: Mapping[str, str], project: Project) -> None:
        self._born_as = environ.get(_HOSTED) or environ.get(_OPENED)
        self._is_opened = not environ.get(_HOSTED)
        self._attended = environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1"
        self._hosted = bool(environ.get("MUSICIAN_HOST"))
        self._client: ProcessIdentity = identify(os.getppid())
        self._project = project
        self._signs: dict[str, LifeLock] = {}
        self._coming: set[str] = set()
        self._signing, self._opening = threading.Lock(), threading.Lock()

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
        """The client's session now. :class:`NoSession` where the server was started without one."""
        born_as = check_session_id(self._born_as)
        current = service.current_session(self.store, born_as)
        if not self._is_opened or current != born_as or service.claims_of(self.store, current):
            return current
        return service.session_of_process(self.store, self._client) or current

    @property
    def claim(self) -> Claim:
        """The session's only claim; :class:`WhichTask` without one, or with several."""
        return service.only_claim(self.store, self.session_id)

    @property
    def manual(self) -> ManualSession:
        return ManualSession(root=self.root, store=self.store, claim=self.claim, settings=self.settings)

    def context_pct(self, claim: Claim) -> float | None:
        """As measured last by whoever watches the client; None if nobody has (D15)."""
        return service.context_of(self.store, claim)

    # -- being alive ---------------------------------------------------------------------------------------------

    def beat(self, *, delegated: bool = False) -> None:
        """A tool was called: refresh the heartbeats that are due (D10).

        ``delegated``: none was, but the session waits for its subagents, whose own events say nothing of it (D34).
        """
        for claim in service.claims_of(self.store, self.session_id):
            if delegated and not service.running_subagents(self.store, claim):
                continue
            row = service.task_row(self.store, claim.task_id)
            if heartbeat_status(row.heartbeat_age_s, self.settings) is not HeartbeatStatus.OK:
                service.beat(self.store, claim)

    def sign(self, task_id: str, session_id: str) -> None:
        """Hold a task's life lock before it is claimed; :class:`ClaimBlocked` where another process lives on it.

        It is kept, whatever is owned, until :meth:`settle`.
        """
        with self._signing:
            self._coming.add(task_id)
            if task_id in self._signs:
                return
            held = hold(lock_path(self.root.locks_dir, task_id), session_id=session_id)
            if isinstance(held, LifeLock):
                self._signs[task_id] = held
                return
            self._coming.discard(task_id)
        reason = f"session {held.session_id} lives on it in another process"
        service.block_claim(self.store, task_id, session_id, reason)
        raise ClaimBlocked(task_id=task_id, state="held", reason=reason)

    def settle(self, task_id: str) -> None:
        """The claim was made, or was not: its lock is held, or let go, accordingly."""
        with self._signing:
            self._coming.discard(task_id)
        self.take_up()

    def release_lock(self, task_id: str) -> None:
        """Release a task's life lock; nothing if it is not held."""
        with self._signing:
            sign = self._signs.pop(task_id, None)
        if sign is not None:
            sign.release()

    def take_up(self) -> None:
        """Hold the locks of exactly the claims that the session has now, signed with its present id.

        One that another process holds is its driver's, or an earlier server's that has not quite ended.
        """
        session_id = self.session_id
        with self._signing:
            owned = {claim.task_id for claim in service.claims_of(self.store, session_id)}
            for task_id in set(self._signs) - owned - self._coming:
                self._signs.pop(task_id).release()
            for task_id in owned & set(self._signs):
                self._signs[task_id].sign(session_id)
            for task_id in owned - set(self._signs):
                held = hold(lock_path(self.root.locks_dir, task_id), session_id=session_id)
                if isinstance(held, LifeLock):
                    self._signs[task_id] = held

    def meet_client(self, session_id: str) -> None:
        """Write down what runs the session, where no hook of its client has."""
        if service.client_of(self.store, session_id) is None:
            met = service.Met(identity=self._client, attended=self._attended, hosted=self._hosted)
            service.meet_client(self.store, session_id, met)

    def close(self) -> None:
        for task_id in list(self._signs):
            self.release_lock(task_id)
