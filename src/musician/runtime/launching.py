"""Starts a conductor's musicians: from its fork server, or each by itself if there can be none."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from musician.own_python import own_python
from musician.processes.fork_server import ForkServer
from musician.processes.running import Running, RunningFork, fork_program, start_program
from musician.store.port import Store
from musician.trees.root import Root

_TITLE_BYTES = 512
"""The room for a fork's own command line in the server's, which is reserved by an argument of this length."""

_CAN_FORK = sys.platform == "linux" and hasattr(os, "pidfd_open")


@contextmanager
def fork_server_at_hand() -> Iterator[None]:
    """Run a fork server: it starts importing now, in parallel to what comes before the first launch, and ends
    with the block.
    """
    if _CAN_FORK:
        with suppress(OSError):  # the first launch reports it
            _server.warm()
    try:
        yield
    finally:
        _server.close()


def start_musician(
    root: Root, store: Store, task_id: str, session_id: str, agent: str | None
) -> Running | RunningFork:
    """Start a process that plays a task. OSError if the system has no room for it. Blocks while the server
    starts.
    """
    words = ["--db", store.url, "work", task_id, "--session", session_id, "--quiet"]
    if agent is not None:
        words += ["--agent", agent]
    env, log = dict(os.environ), root.logs_dir / f"{task_id}.musician.log"
    if _CAN_FORK:
        try:
            return fork_program(_server, words, cwd=root.path, env=env, log=log)
        except OSError as error:
            why = f"musician: the fork server cannot be asked ({error}): this session starts by itself\n"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(why)
    return start_program(own_python("-m", "musician", *words), cwd=root.path, env=env, log=log)


_server = ForkServer(own_python("-m", "musician.forking", " " * _TITLE_BYTES))
