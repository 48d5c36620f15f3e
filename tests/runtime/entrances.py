"""The ways into a task (D30): a process that plays it, commands, a client's tools, the client's hooks, and SQL.

Each is told a story in the same words. What a driven run's agent says with lines of its output, a session by hand says
with verbs; of these words the process that plays it hears none.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from musician import service
from musician.mcp_server import acts, verifying
from musician.mcp_server.served_session import ServedSession
from musician.mcp_server.tools import TOOLS
from musician.project import Project
from musician.protocol.errors import EvidenceMissing
from musician.protocol.states import State
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root
from tests.runtime.conftest import Stage

TASK = "task-01"
CLAIM = (
    "UPDATE orchestration_tasks SET state = 'working', session_id = 's1', worked_by = 'musician-task-01',"
    " started_at = datetime('now'), last_heartbeat = datetime('now')"
    " WHERE task_id = 'task-01' AND state IN ('watching', 'fix_proposed', 'exit_requested')"
)
SAY = (
    "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
    " VALUES ('task-01', 's1', :kind, :text)"
)
MOVE = (
    "UPDATE orchestration_tasks SET state = :state, last_heartbeat = datetime('now')"
    " WHERE task_id = 'task-01' AND session_id = 's1'"
)


@contextmanager
def opened(folder: Path, plan: str) -> Iterator[Stage]:
    folder.mkdir()
    stage = Stage(folder)
    try:
        stage.write(plan)
        stage.lock()
        yield stage
    finally:
        stage.clear()


def say(stage: Stage, kind: str, text: str, state: State) -> None:
    stage.raw(SAY, kind=kind, text=text)
    stage.raw(MOVE, state=state.value)


class Client:
    """The tools of a session, called as the server calls them."""

    def __init__(self, stage: Stage, session: str = "s1") -> None:
        environ = {"MUSICIAN_SESSION": session}
        self._place = Project(str(stage.root))
        self._served = ServedSession(environ, self._place)

    def call(self, name: str, **given: object) -> str:
        arguments = TOOLS[name].parse(given)
        if TOOLS[name].runs_tests:
            return str(anyio.run(partial(getattr(verifying, name), self._served, **arguments)))
        said = getattr(acts, name)(self._served, **arguments)
        if isinstance(said, acts.Reply):
            said.once_delivered()
        return str(said)

    def close(self) -> None:
        self._served.close()
        self._place.close()


class Life:
    """One session's acts. Those that a process does by itself are nothing here."""

    def __init__(self, stage: Stage, session: str = "s1") -> None:
        self.stage, self.session = stage, session

    def claim(self) -> None: ...
    def step(self, number: int, act: str) -> None: ...
    def agent(self, piece: int, act: str) -> None: ...
    def deviation(self, severity: str, text: str) -> None: ...
    def question(self, text: str) -> None: ...
    def context(self, used_pct: float) -> None: ...
    def error(self, text: str) -> None: ...
    def warn(self) -> None: ...
    def hear(self) -> None: ...
    def write(self, name: str) -> None: ...
    def checkpoint(self) -> None: ...
    def handoff(self) -> None: ...
    def complete(self) -> None: ...
    def close(self) -> None: ...

    def judge(self, verdict: State, text: str) -> None:
        """What its conductor says."""
        service.judge(self.stage.store, TASK, verdict, text)

    def refused(self, act: Callable[[], object]) -> None:
        """What a process does not do by itself it need not be kept from."""

    def until(self, condition: Callable[[service.TaskView], object]) -> None:
        assert condition(self.stage.view(TASK))

    def play(self, number: int, *names: str) -> None:
        self.step(number, "start")
        for name in names:
            self.write(name)
        self.step(number, "done")


class Driven(Life):
    def claim(self) -> None:
        self._started = self.stage.start("work", TASK, "--session", self.session)

    def until(self, condition: Callable[[service.TaskView], object]) -> None:
        self.stage.until(lambda: condition(self.stage.view(TASK)))

    def complete(self) -> None:
        assert self.stage.end(self._started).code == 0

    def close(self) -> None:
        """From a wait for an answer that does not come, too."""
        self._started.terminate()
        self.stage.end(self._started)


class Conducted(Driven):
    """`musician run`: its conductor launches the session, and judges by its rules."""

    def claim(self) -> None:
        self._started = self.stage.start("run", "PLAN.md")

    def judge(self, verdict: State, text: str) -> None: ...

    def until(self, condition: Callable[[service.TaskView], object]) -> None:
        """Its moments are the conductor's."""


class ByHand(Life):
    """``do`` is one verb, by its name as a tool."""

    def do(self, name: str, **given: object) -> None: ...

    def refused(self, act: Callable[[], object]) -> None:
        with pytest.raises((EvidenceMissing, AssertionError)):
            act()

    def claim(self) -> None:
        self.do("claim", task=TASK)

    def step(self, number: int, act: str) -> None:
        self.do("step", n=number, act=act)

    def agent(self, piece: int, act: str) -> None:
        self.do("agent", piece=f"{piece}.1", act=act)

    def deviation(self, severity: str, text: str) -> None:
        self.do("deviation", severity=severity, text=text)

    def error(self, text: str) -> None:
        self.do("error", text=text)

    def hear(self) -> None:
        self.do("inbox")

    def write(self, name: str) -> None:
        place = find_root(self.stage.root).trees_dir / "entrances" / TASK / name
        place.write_text(f"{name}\n")

    def checkpoint(self) -> None:
        self.do("checkpoint", summary="all")

    def handoff(self) -> None:
        self.do("handoff", reason="context")

    def complete(self) -> None:
        self.do("complete")


class ByCommands(ByHand):
    _used_pct: float | None = None

    def context(self, used_pct: float) -> None:
        self._used_pct = used_pct

    def warn(self) -> None:
        self._run("error", "--context-warning")

    def do(self, name: str, **given: object) -> None:
        match name:
            case "claim" | "complete" | "checkpoint":
                self._run(name)
            case "inbox":
                self._run(name, "--ack")
            case "handoff":
                self._run("exit", "--reason", str(given["reason"]))
            case "agent":
                step, piece = str(given["piece"]).split(".")
                act = "start" if given["act"] == "launched" else "done"
                self._run("step", act, step, "--agent", piece)
            case "step":
                commit = ("--commit",) if given["act"] == "done" else ()
                self._run("step", str(given["act"]), str(given["n"]), *commit)
            case _:
                self._run(name, *map(str, given.values()))

    def _run(self, name: str, *words: str) -> None:
        takes = name not in ("claim", "complete", "inbox") and self._used_pct is not None
        context = ("--context", str(self._used_pct)) if takes else ()
        done = self.stage.run(name, TASK, *words, *context, MUSICIAN_SESSION=self.session)
        assert done.code == 0, (name, done)


class ByTools(ByHand):
    def __init__(self, stage: Stage, session: str = "s1") -> None:
        super().__init__(stage, session)
        self._client = Client(stage, session)

    def do(self, name: str, **given: object) -> None:
        self._client.call(name, **given)

    def question(self, text: str) -> None:
        self.do("ask_conductor", text=text)

    def context(self, used_pct: float) -> None:
        claim = service.only_claim(self.stage.store, self.session)
        service.measure_context(self.stage.store, claim, used_pct)

    def warn(self) -> None:
        self.do("error")

    def close(self) -> None:
        self._client.close()


class ByHooks(ByTools):
    """As a client does it: its hooks hear of the prompt, and of every call before and after."""

    def __init__(self, stage: Stage, session: str = "s1") -> None:
        super().__init__(stage, session)
        self._transcript = stage.hall / "transcript.jsonl"

    def hook(self, event: str, **said: object) -> dict[str, Any]:
        """What the hook answers, {} for nothing."""
        document = {"hook_event_name": event, "session_id": self.session, "cwd": str(self.stage.root), **said}
        done = subprocess.run(
            [sys.executable, "-m", "musician", "hook", event],
            input=json.dumps({**document, "transcript_path": str(self._transcript)}),
            cwd=self.stage.root,
            env={**self.stage.env, "CLAUDE_CODE_SESSION_ATTENDED": "1"},
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        answer: dict[str, Any] = json.loads(done.stdout or "{}")
        return answer

    def do(self, name: str, **given: object) -> None:
        used = {"tool_name": f"mcp__plugin_musician_comms-link__{name}", "tool_input": given}
        specific = self.hook("PreToolUse", **used).get("hookSpecificOutput", {})
        assert specific.get("permissionDecision") != "deny", specific
        super().do(name, **given)
        self.hook("PostToolBatch", tool_calls=[])

    def claim(self) -> None:
        typed = {"command_name": "musician", "command_args": TASK, "prompt": f"/musician {TASK}"}
        said = self.hook("UserPromptExpansion", expansion_type="slash_command", **typed)
        assert TASK in said["hookSpecificOutput"]["additionalContext"], said

    def context(self, used_pct: float) -> None:
        usage = {"input_tokens": int(used_pct * 10_000)}
        spoken = {"model": "claude-opus-5-5", "content": "x", "usage": usage}
        line = {"isSidechain": False, "message": spoken, "type": "assistant"}
        self._transcript.write_text(json.dumps(line) + "\n", encoding="utf-8")
        self.hook("PostToolBatch", tool_calls=[])

    def agent(self, piece: int, act: str) -> None:
        event = "SubagentStart" if act == "launched" else "SubagentStop"
        if act == "launched":
            super().agent(piece, act)
        self.hook(event, agent_id="a1", agent_type="musician:subagent")
        if act != "launched":
            super().agent(piece, act)

    def until(self, condition: Callable[[service.TaskView], object]) -> None:
        """The session's turn ends, and nothing keeps it: its monitor wakes it."""
        if service.claims_of(self.stage.store, self.session):
            self.hear()
        monitor = {"type": "monitor", "description": "the conductor's messages and verdicts"}
        stopped = self.hook("Stop", stop_hook_active=False, background_tasks=[monitor])
        assert stopped.get("decision") != "block", stopped
        super().until(condition)


class InSql(Life):
    """As the sources' scripts do: the message, then the state. No journal is kept."""

    def claim(self) -> None:
        self.stage.raw(CLAIM)

    def error(self, text: str) -> None:
        say(self.stage, "error", text, State.ERROR)

    def checkpoint(self) -> None:
        self.stage.raw(MOVE, state="working")
        say(self.stage, "completion", "TASK COMPLETE", State.NEEDS_REVIEW)

    def complete(self) -> None:
        say(self.stage, "completed", "done", State.COMPLETE)
