"""Processes of a simulated machine: tasks of one event loop, each of which can be killed between any two of its acts.

A process that was killed does nothing more: its locks are free at that moment, and whatever it still calls on its way
out is refused. Only what goes through a blocking call, or through the machine, counts as an act.
"""

import random
import signal
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

import anyio

from musician.processes.identity import ProcessIdentity, boot_id, host_name
from musician.processes.life_lock import HeldBy, LifeLock, hold
from musician.processes.machine import Machine

T = TypeVar("T")

_CURRENT: ContextVar["Process | None"] = ContextVar("process", default=None)


class Killed(BaseException):
    """The process is gone: nothing of it may go on."""


class Process(Machine):
    """One process, and the machine as it sees it."""

    def __init__(self, computer: "Computer", pid: int) -> None:
        self._computer = computer
        self.pid = pid
        self.is_dead = False
        self.ended = anyio.Event()
        self.stopped_by: signal.Signals | None = None
        self._stop = anyio.Event()
        self._parent_gone = anyio.Event()
        self._scope = anyio.CancelScope()
        self._signs: list[LifeLock] = []
        self.children: list[Process] = []

    # -- as the conductor and the simulation see it --------------------------------------------------------------

    @property
    def identity(self) -> ProcessIdentity:
        return ProcessIdentity(
            pid=self.pid, pgid=self.pid, started_at_s=float(self.pid), boot_id=boot_id(), host=host_name()
        )

    async def run(self, play: Callable[[], Awaitable[object]]) -> None:
        """Run until it has ended in any way. An error it raises is the simulation's failure, unless it was
        killed.
        """
        _CURRENT.set(self)
        try:
            with self._scope:
                await play()
        except BaseException:
            if not self.is_dead:
                raise
        finally:
            self.kill()
            self.ended.set()

    async def wait(self) -> int:
        await self.ended.wait()
        return 0

    def terminate(self, by: signal.Signals = signal.SIGTERM) -> None:
        self.stopped_by = by
        self._stop.set()

    def kill(self) -> None:
        """Kill it: it does nothing more from this moment on. Processes it has started lose their lease."""
        self.is_dead = True
        for sign in self._signs:
            sign.release()
        for child in self.children:
            child._parent_gone.set()
        self._scope.cancel()

    # -- as the process itself sees it ---------------------------------------------------------------------------

    def clock_s(self) -> float:
        return anyio.current_time()

    def new_id(self, kind: str) -> str:
        return f"{kind}-{self._computer.number():012x}"

    def own_identity(self) -> ProcessIdentity:
        return self.identity

    def is_running(self, process: ProcessIdentity) -> bool:
        return not self._computer.process(process.pid).is_dead

    def end(self, process: ProcessIdentity, *, grace_s: float) -> bool:
        self._computer.process(process.pid).kill()
        return True

    def adopting_orphans(self, grace_s: float) -> AbstractContextManager[None]:
        return nullcontext()

    def sweep_scratch(self) -> tuple[str, ...]:
        return ()

    def close_kennel(self) -> None:
        pass

    def end_belongings(
        self,
        sessions: Collection[str],
        tree: Path,
        *,
        grace_s: float,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()

    def running_of(self, session_id: str, tree: Path) -> tuple[str, ...]:
        return ()

    def standing_in(self, tree: Path) -> tuple[str, ...]:
        return ()

    def using(self, tree: Path) -> tuple[str, ...]:
        return ()

    def hold(self, path: Path, *, session_id: str) -> LifeLock | HeldBy:
        held = hold(path, session_id=session_id, identity=self.identity)
        if isinstance(held, LifeLock):
            self._signs.append(held)
        return held

    async def stop_requested(self) -> signal.Signals:
        await self._stop.wait()
        return self.stopped_by or signal.SIGTERM

    async def lease_lost(self) -> None:
        await self._parent_gone.wait()


class Computer:
    """All processes, and the moments at which they die. ``deaths`` is how many are left to happen."""

    def __init__(self, dice: random.Random, *, deaths: int, chance: float) -> None:
        self._dice, self.deaths, self._chance = dice, deaths, chance
        self._processes: dict[int, Process] = {}
        self._numbers = 0

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def process(self, pid: int) -> Process:
        return self._processes[pid]

    def start(self) -> Process:
        """Start a new process, as a child of the caller."""
        process = Process(self, 1000 + self.number())
        self._processes[process.pid] = process
        parent = _CURRENT.get()
        if parent is not None:
            parent.children.append(process)
        return process

    def call(self, act: Callable[[], T]) -> T:
        """Do an act of the calling process, which may die before it, or after it and before it gets the
        result.
        """
        process = _CURRENT.get()
        if process is None:
            return act()
        self._may_die(process)
        done = act()
        self._may_die(process)
        return done

    def _may_die(self, process: Process) -> None:
        if self.deaths > 0 and not process.is_dead and self._dice.random() < self._chance:
            self.deaths -= 1
            process.kill()
        if process.is_dead:
            raise Killed
