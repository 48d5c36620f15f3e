"""Identifies a process so that no other can be mistaken for it.

A pid is reused; a pid with its start time, on one boot of one machine, is not (D23). Everything that signals
a process recorded earlier compares the whole identity first.

The start time is taken from the kernel in ticks since boot where there is a ``/proc``: a time since the epoch
moves when the clock is set, and the process would be taken for another. A pid means something only inside its
pid namespace (a container), so the namespace is a part of the boot id.
"""

import os
import platform
import pwd
import socket
from functools import cache
from pathlib import Path

import psutil

from musician import __version__
from musician.protocol.values import dataclass

_START_TOLERANCE_S = 0.005
"""Half a tick of the kernel's clock (USER_HZ is 100 everywhere)."""

ENDED_STATES = frozenset((psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))
"""In these a process is still listed but does nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """``started_at_s`` is :func:`started_at_s`; ``pgid`` the process group it leads or belongs to."""

    pid: int
    pgid: int
    started_at_s: float
    boot_id: str
    host: str


@cache
def boot_id() -> str:
    """One value per boot of the machine and pid namespace; psutil's boot time where the kernel has no id."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"boot-{int(psutil.boot_time())}"


@cache
def host_name() -> str:
    return socket.gethostname()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProgram:
    """Which program this is, in which version, and what it runs on."""

    host: str
    version: str
    python: str
    system: str


@cache
def own_program() -> OwnProgram:
    return OwnProgram(
        host=host_name(),
        version=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}",
    )


@cache
def login_name() -> str:
    """Return the name of the user whose process this is; the number where there is no name, as in some containers."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def started_at_s(pid: int) -> float:
    """When a process started: seconds since boot, or since the epoch where there is no ``/proc``.

    Comparable only within one :func:`boot_id`. :class:`psutil.NoSuchProcess` if there is none.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            raise psutil.NoSuchProcess(pid) from None
        return psutil.Process(pid).create_time()
    # The name, in parentheses, may hold anything; the start is field 22, the 20th after it (proc(5)).
    return int(stat.rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def identify(pid: int) -> ProcessIdentity:
    """The identity of a live process; :class:`psutil.NoSuchProcess` if there is none."""
    try:
        group = os.getpgid(pid)
    except ProcessLookupError:
        raise psutil.NoSuchProcess(pid) from None
    return ProcessIdentity(
        pid=pid, pgid=group, started_at_s=started_at_s(pid), boot_id=boot_id(), host=host_name()
    )


def is_same_machine(identity: ProcessIdentity) -> bool:
    """Whether it ran on this host since its last boot; otherwise its pid says nothing here."""
    return identity.host == host_name() and identity.boot_id == boot_id()


def is_same_boot(identity: ProcessIdentity) -> bool:
    """Whether the machine has not been started anew since; its pid may still be of another pid namespace."""
    return identity.boot_id.partition("/")[0] == boot_id().partition("/")[0]


def is_same_start(start_s: float, identity: ProcessIdentity) -> bool:
    """Whether a :func:`started_at_s` read now is the recorded one."""
    return abs(start_s - identity.started_at_s) < _START_TOLERANCE_S


def is_running(identity: ProcessIdentity) -> bool:
    """Whether exactly this process still runs here (a zombie does not run)."""
    if not is_same_machine(identity):
        return False
    try:
        same = is_same_start(started_at_s(identity.pid), identity)
        return same and psutil.Process(identity.pid).status() not in ENDED_STATES
    except psutil.NoSuchProcess:
        return False
