"""Notices the end of the process that started this one, for programs that must not outlive it."""

import os
from contextlib import AbstractContextManager, suppress


class Parent(AbstractContextManager["Parent"]):
    """A context manager. ``end`` has the descriptor that becomes readable at its end; none where there is no such."""

    def __init__(self) -> None:
        self.pid = os.getppid()
        self.end: tuple[int, ...] = ()
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self.end = (os.pidfd_open(self.pid),)

    @property
    def is_gone(self) -> bool:
        return os.getppid() != self.pid

    def __exit__(self, *_: object) -> None:
        for descriptor in self.end:
            os.close(descriptor)
