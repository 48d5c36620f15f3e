"""Naming a process so that no other can be taken for it.

A pid is reused; a pid with its start time, on one boot of one machine, is not (D23). Everything that signals a
process recorded earlier compares the whole identity first.
"""

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

__all__ = ["ProcessIdentity", "boot_id", "host_name", "identify", "is_same_machine", "is_running"]

_START_TOLERANCE_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """``started_at_s`` is seconds since the epoch; ``pgid`` the process group it leads or belongs to."""

    pid: int
    pgid: int
    started_at_s: float
    boot_id: str
    host: str


@cache
def boot_id() -> str:
    """One value per boot of the machine; psutil's boot time where the kernel has no id."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"boot-{int(psutil.boot_time())}"


@cache
def host_name() -> str:
    return socket.gethostname()


def identify(pid: int) -> ProcessIdentity:
    """The identity of a live process; :class:`psutil.NoSuchProcess` if there is none."""
    process = psutil.Process(pid)
    return ProcessIdentity(
        pid=pid, pgid=os.getpgid(pid), started_at_s=process.create_time(), boot_id=boot_id(), host=host_name()
    )


def is_same_machine(identity: ProcessIdentity) -> bool:
    """Whether it ran on this host since its last boot; otherwise its pid says nothing here."""
    return identity.host == host_name() and identity.boot_id == boot_id()


def is_running(identity: ProcessIdentity) -> bool:
    """Whether exactly this process still runs here (a zombie does not run)."""
    if not is_same_machine(identity):
        return False
    try:
        process = psutil.Process(identity.pid)
        same = abs(process.create_time() - identity.started_at_s) < _START_TOLERANCE_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
