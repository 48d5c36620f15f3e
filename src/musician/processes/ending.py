"""Ends a recorded tree of processes, and nothing else.

What is known of an old tree is one recorded identity (D23). A number is signalled only while it is certain
whose it is: the leader's start time must match; and where the leader is gone, its group and session are still
its own as long as nobody else has its number, because the kernel gives no number away that names a group or a
session.

SIGTERM goes to the leader alone, which knows best how to end its own (a musician saves its state, a leash
ends its program); then to what it left, then SIGKILL to all. Never signalled: pids 0 and 1, this process, its
ancestors. Waiting takes nobody's exit status, so a tree of our own children may be ended too. Everything here
blocks, bounded: call it from a thread in asynchronous code.
"""

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import psutil

from musician.processes.identity import (
    ENDED_STATES,
    ProcessIdentity,
    is_same_machine,
    is_same_start,
    started_at_s,
)
from musician.processes.leash import become_subreaper, is_subreaper

KILL_LIMIT_S = 2.0
"""How long SIGKILL is repeated; what is left then survives (another user's, stuck in the kernel)."""

_PACE_S = 0.02

_Processes = set[psutil.Process]
_Find = Callable[[_Processes], _Processes]
"""The living members of a tree, given those already known of (orphans are not found a second time)."""


def end_tree(identity: ProcessIdentity, *, grace_s: float) -> bool:
    """End a recorded process, its group, its session and all below them; True when none of it runs here.

    False, with nothing touched, if it belongs to another host or boot, or is this process or an ancestor of
    it; False as well if something survived. Blocks for at most ``grace_s + KILL_LIMIT_S`` and a little.
    """
    spared = never_signalled()
    if not is_same_machine(identity) or identity.pid in spared:
        return False

    def find(known: _Processes) -> _Processes:
        return _living(_with_descendants(known.union(_recorded(identity))), spared)

    return _end(find, lambda process: process.pid == identity.pid, grace_s)


def members_of(identity: ProcessIdentity) -> frozenset[psutil.Process]:
    """Return the running processes of a recorded tree: its process, its group, its session and all below them."""
    return frozenset(_living(_with_descendants(set(_recorded(identity)))))


def end_newcomers(identity: ProcessIdentity, known: frozenset[psutil.Process], *, grace_s: float) -> bool:
    """End what has come to a recorded tree since ``known`` was of it; as :func:`end_tree`, which spares nobody."""

    def find(found: _Processes) -> _Processes:
        return _living(_with_descendants(found.union(_recorded(identity)))) - known

    return _end(find, lambda _: True, grace_s)


@contextlib.contextmanager
def adopting_orphans(grace_s: float) -> Iterator[None]:
    """Adopt orphans below this process for the duration of the block, and end all that came below it at the end.

    Whom it had before stays: it may be a program that uses ours as a library, or the demo, whose dashboard goes on.
    Afterwards this process adopts nobody, unless it did so before.
    """
    was_one, before = is_subreaper(), frozenset(psutil.Process().children())
    become_subreaper()
    try:
        yield
    finally:
        end_own_descendants(grace_s, but=before)
        become_subreaper(is_one=was_one)


def end_own_descendants(grace_s: float, *, but: frozenset[psutil.Process] = frozenset()) -> bool:
    """End everything below this process; True when nothing is left. Whole only in a subreaper.

    ``but`` are children that stay, with all below them.

    Exit statuses stay where they are: children are still to be waited for by whoever started them.
    """
    own = psutil.Process()
    spared = never_signalled()

    def find(known: _Processes) -> _Processes:
        return _living(_with_descendants(known | {own}) - _with_descendants(but), spared)

    children = {child.pid for child in own.children()}
    return _end(find, lambda process: process.pid in children, grace_s)


def _end(find: _Find, leads: Callable[[psutil.Process], bool], grace_s: float) -> bool:
    deadline = time.monotonic() + grace_s
    members = find(set())
    for part in (leads, lambda process: not leads(process)):
        told = {process for process in members if part(process)}
        signal_all(told, psutil.Process.terminate)
        while _living(told) and time.monotonic() < deadline:
            time.sleep(_PACE_S)
        members = find(members)
    deadline = time.monotonic() + KILL_LIMIT_S
    while members and time.monotonic() < deadline:
        # All are stopped first, so that no parent goes on as if its child had ended by itself.
        signal_all(members, psutil.Process.suspend)
        signal_all(members, psutil.Process.kill)
        time.sleep(_PACE_S)
        members = find(members)
    return not members


def _recorded(identity: ProcessIdentity) -> Iterator[psutil.Process]:
    """The process itself, its group and its session, if they are still its own."""
    with contextlib.suppress(psutil.NoSuchProcess):
        if not is_same_start(started_at_s(identity.pid), identity):
            return
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            of_group = identity.pgid == identity.pid and identity.pid in (os.getpgid(pid), os.getsid(pid))
            start_s = started_at_s(pid)
            if pid == identity.pid:
                belongs = is_same_start(start_s, identity)
            else:
                belongs = of_group and start_s >= identity.started_at_s
            if belongs:
                yield psutil.Process(pid)


def _with_descendants(roots: Iterable[psutil.Process]) -> _Processes:
    children = defaultdict(list)
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            children[process.ppid()].append(process)
    found: _Processes = set()
    unseen = [root for root in roots if root.is_running()]
    while unseen:
        process = unseen.pop()
        if process not in found:
            found.add(process)
            unseen.extend(children[process.pid])
    return found


def _living(processes: Iterable[psutil.Process], spared: frozenset[int] = frozenset()) -> _Processes:
    found = set()
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.pid not in spared and process.is_running() and process.status() not in ENDED_STATES:
                found.add(process)
    return found


def signal_all(processes: Iterable[psutil.Process], send: Callable[[psutil.Process], None]) -> None:
    """psutil compares the start time once more before it signals."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            send(process)


def never_signalled() -> frozenset[int]:
    """Return the pids that are never signalled."""
    own = psutil.Process()
    return frozenset({0, 1, own.pid, *(ancestor.pid for ancestor in own.parents())})
