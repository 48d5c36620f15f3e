"""Finds what agents' sessions have left running, by its environment and its working folder (D41).

No tree of processes leads to it: a client that is killed takes nothing along, and a program may have left its group and
session. But what an agent runs has the session's id in its environment, with a word that only an agent's commands
have: the client's own, whose ids nobody else has, or the tree that the session was given. A shell that a person opened
never has both, and neither has what serves the agent, but for the monitors of a client's plugins: those are known by
what they run. So that alone is ended. What merely stands in a folder is named,
because it may be anybody's.
"""

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import psutil

from musician.processes.ending import KILL_LIMIT_S, never_signalled, signal_all
from musician.processes.identity import ENDED_STATES

_MOST_SHOWN_CHARS = 80
_PACE_S = 0.02
_DEEPEST_SCRIPT = 3
"""How many folders below its plugin's top a script is looked for."""


def find_belongings(session_ids: Collection[str], tree: Path) -> tuple[psutil.Process, ...]:
    """Return the running commands of these sessions, among them those that we started in ``tree``."""

    def belongs(process: psutil.Process) -> bool:
        return _belongs(process.environ(), session_ids, str(tree)) and not _is_a_plugins(
            process.cmdline(), tree
        )

    return _others(belongs)


def find_standing_in(folder: Path) -> tuple[psutil.Process, ...]:
    """Return the processes that have their working folder inside one of these."""
    return _others(lambda process: Path(process.cwd()).is_relative_to(folder))


def find_users_of(folder: Path) -> tuple[psutil.Process, ...]:
    """Return every process that stands in a folder or has a file of it open, this one and those above it among them."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            places = [process.cwd(), *(file.path for file in process.open_files())]
            if any(Path(place).is_relative_to(folder) for place in places):
                found.append(process)
    return tuple(found)


def _others(is_such: Callable[[psutil.Process], bool]) -> tuple[psutil.Process, ...]:
    """What runs here and is such a process; never this one, its ancestors or its group, nor what it started where it
    is such a one itself. (What a conductor has below it may be the orphans of a musician that was killed.)"""
    own = psutil.Process()
    kept = never_signalled()
    if is_such(own):
        kept |= {child.pid for child in own.children(recursive=True)}
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid in kept or os.getpgid(process.pid) == os.getpgid(0):
                continue
            if process.status() not in ENDED_STATES and is_such(process):
                found.append(process)
    return tuple(found)


def end_belongings(
    session_ids: Collection[str], tree: Path, *, grace_s: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """End what these sessions' commands run: what was found, and what of it survived. Blocks, bounded.

    What starts anew meanwhile is ended too: it is looked for until nothing is there.
    """
    deadline = time.monotonic() + grace_s
    told: dict[int, str] = {}
    members = find_belongings(session_ids, tree)
    signal_all(members, psutil.Process.terminate)
    while members and time.monotonic() < deadline + KILL_LIMIT_S:
        told.update((process.pid, described(process)) for process in members if process.pid not in told)
        time.sleep(_PACE_S)
        members = find_belongings(session_ids, tree)
        if time.monotonic() >= deadline:
            signal_all(members, psutil.Process.kill)
    return tuple(told.values()), tuple(described(process) for process in members)


def described(process: psutil.Process) -> str:
    """For a person: what it runs, and its number."""
    try:
        line = " ".join(shlex.join(process.cmdline()).split()) or process.name()
    except psutil.Error:
        line = "a process"
    shown = line if len(line) <= _MOST_SHOWN_CHARS else f"{line[: _MOST_SHOWN_CHARS - 2]} …"
    return f"{shown} (process {process.pid})"


def _belongs(environ: Mapping[str, str], session_ids: Collection[str], tree: str) -> bool:
    if "CLAUDE_CODE_CHILD_SESSION" in environ and environ.get("CLAUDE_CODE_SESSION_ID") in session_ids:
        return True
    return environ.get("MUSICIAN_TREE") == tree and environ.get("MUSICIAN_SESSION") in session_ids


def _is_a_plugins(cmdline: Sequence[str], tree: Path) -> bool:
    """A monitor or hook of a plugin of the client's: it looks like the session's own command, and lives as long.

    A project may be a plugin itself: what runs out of the session's own tree is the session's.
    """
    return any(
        (folder / ".claude-plugin").is_dir()
        for part in cmdline
        if part.startswith("/") and not Path(part).is_relative_to(tree)
        for folder in Path(part).parents[:_DEEPEST_SCRIPT]
    )
