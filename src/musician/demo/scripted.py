"""Surroundings in which a real agent plays the demo and meets nobody: its model is a script, on loopback.

The agent gets a home, settings and a made-up key of its own below the demo's temporary folder. Nothing of the user's is
read but the programs on the PATH. The user's second terminal, from which the emergency is sent, is played
here too.
"""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from musician.agents.registry import find_agent
from musician.demo.player import EMERGENCY, INSTRUMENTS, WAITING, Player
from musician.own_python import own_python
from musician.protocol.errors import AgentUnavailable
from musician.testing import ClientHome, ScriptedModel, until
from musician.testing.acp_homes import PACKAGES, agent_home, find_agents, path_of
from musician.trees.root import find_root

SETTINGS = "[waiting]\nlimit_s = 1.5\n"
"""So that nobody waits five minutes for a quota that is only played."""

_QUOTA_S = 1.0
"""How long the provider gives nothing, from the first refusal on."""
_CALLED_TASK = "task-01"


@contextmanager
def surroundings(agent: str, folder: Path, place: Path) -> Iterator[None]:
    """Turn this process's environment into the agent's for a while. It plays in ``folder``; its home is in
    ``place``.

    :class:`AgentUnavailable`, before anything is made, for an agent without a scripted model, or one not
    installed.
    """
    if agent not in INSTRUMENTS:
        raise AgentUnavailable(agent=agent, remedy=f"with --scripted they are {', '.join(INSTRUMENTS)}")
    call = _Call(folder)
    player = Player(INSTRUMENTS[agent], quota_s=_QUOTA_S, on_waiting=call.begin)
    before = dict(os.environ)
    try:
        with ScriptedModel(player) as model:
            env = _environment(agent, folder, place, model.url)
            os.environ.clear()
            os.environ.update(env)
            _check(agent)
            yield
            call.end()
    finally:
        call.end()
        os.environ.clear()
        os.environ.update(before)


def _environment(agent: str, folder: Path, place: Path, url: str) -> dict[str, str]:
    if agent == "claude":
        return ClientHome(place, model_url=url, trusts=[folder]).env
    modules = find_agents()
    path = os.environ.get("PATH", os.defpath) if modules is None else path_of(agent, modules)
    quiet = {"PATH": path, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    return quiet | agent_home(agent, place, model_url=url)


def _check(agent: str) -> None:
    try:
        find_agent(agent)
    except AgentUnavailable as missing:
        package = PACKAGES.get(agent)
        how = "" if package is None else f"; its program: npm install -g {package}"
        raise AgentUnavailable(agent=agent, remedy=f"{missing.remedy}{how}") from missing


class _Call:
    """Sends the emergency, as a user would, once the command runs that would take too long."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._is_over = threading.Event()
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            if self._thread.ident is None:
                self._thread.start()

    def _send(self) -> None:
        waiting = find_root(self._folder).musician_dir / "scratch" / _CALLED_TASK / WAITING
        until(lambda: waiting.exists() or self._is_over.is_set())
        if not self._is_over.is_set():
            command = own_python("-m", "musician", "send", _CALLED_TASK, EMERGENCY, "--urgent")
            subprocess.run(command, cwd=self._folder, capture_output=True, check=True)

    def end(self) -> None:
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join()
