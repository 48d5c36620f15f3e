"""Starts ``musician run`` beside the session that asks for it, so that it outlives that session; ends it on request.

It is a process of its own, in a session of its own, with its output in a log. Nothing of the client's session is in its
environment: what it starts would be taken for the session's. It is found again by the conductor's lock (D13), whoever
started it.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from musician.own_python import own_python
from musician.processes.identity import ProcessIdentity, is_running
from musician.processes.of_session import without_session
from musician.protocol.values import dataclass
from musician.reporting.run_at_work import run_process
from musician.trees.root import Root

STARTS_WITHIN_S = 60.0
"""How long a run may take to lock its plan and its repository; one that takes longer is not waited for."""

_PACE_S = 0.05
_TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """``pid`` is the run's. ``said`` is the end of what it printed if it has ended already, "" if it is at work."""

    pid: int
    said: str
    log: Path


def start_run(root: Root, plan: str, environ: Mapping[str, str]) -> Started:
    """Start a run of the plan, and return once it conducts or has ended. Blocks.

    Raises :class:`OSError` if no process or log can be made.
    """
    log = root.logs_dir / "run.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        begin = output.tell()
        run = subprocess.Popen(
            own_python("-m", "musician", "run", "--", plan),
            cwd=root.users_tree,
            env=without_session(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    threading.Thread(target=run.wait, daemon=True, name="run").start()  # or it stays a zombie
    deadline = time.monotonic() + STARTS_WITHIN_S
    while run.poll() is None and time.monotonic() < deadline:
        holder = run_process(root)
        if holder is not None and holder.pid == run.pid:
            break
        time.sleep(_PACE_S)
    return Started(pid=run.pid, said="" if run.returncode is None else _tail(log, begin), log=log)


def wait_for_end(root: Root, *, is_at_work: Callable[[], bool]) -> ProcessIdentity | None:
    """Return the process of the run that is at work, None if none is; one that is just ending is waited for."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while (holder := run_process(root)) is not None and not is_at_work() and time.monotonic() < deadline:
        time.sleep(_PACE_S)
    return holder


def stop_run(root: Root) -> ProcessIdentity | None:
    """Ask the run to end, as Ctrl-C does: nothing is lost. Return its process; None if none is at work here."""
    holder = run_process(root)
    if holder is None or not is_running(holder):
        return None
    os.kill(holder.pid, signal.SIGINT)
    return holder


def _tail(log: Path, begin: int) -> str:
    with log.open("rb") as file:
        file.seek(max(begin, log.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", "replace").strip() or "it said nothing"
