"""Processes that share this one's modules and start in milliseconds, and that always end."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

__all__ = ["FORK", "forked"]

FORK = multiprocessing.get_context("fork")
"""No connection to a database may be open in this process while it forks, and no thread may run."""

_END_LIMIT_S = 10.0


@contextmanager
def forked(jobs: Sequence[Callable[[], None]]) -> Iterator[list[int]]:
    """Each job in a process of its own; their ids. On leaving, each is waited for a while, then killed."""
    processes = [FORK.Process(target=job, daemon=True) for job in jobs]
    started = []
    try:
        for process in processes:
            process.start()
            started.append(process)
        yield [process.pid or 0 for process in started]
    finally:
        for process in started:
            process.join(_END_LIMIT_S)
            process.kill()
            process.join()
