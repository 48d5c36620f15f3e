"""Checks that every part of an installation answers. A dead hook makes no noise, so each is called (B09).

Each part is started as the client starts it, from the files that the client reads, for a sample session that owns a
task in a temporary repository; nothing of the user's is touched. Some hooks must refuse the sample: a hook that lets
everything pass is as broken as one that does not start.
"""

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from musician import service
from musician.plugin.check_result import CheckResult, Level
from musician.plugin.installation import is_installed
from musician.plugin.rendering import PluginRuntime, outdated
from musician.plugin.scopes import Installation
from musician.processes.output import one_line
from musician.protocol.errors import MusicianError
from musician.protocol.settings import Settings
from musician.store.opening import create_store
from musician.trees.git import Git
from musician.trees.root import find_root

_HOOK_LIMIT_S = 20.0
_SERVER_LIMIT_S = 30.0
_SERVER_END_LIMIT_S = 30.0
_MOST_SAID_CHARS = 200
_TASK = "task-01"
_SESSION = "sample-session"
_REINSTALL = "run `musician plugin install` again"


class _Dead(Exception):
    """A part does not work. The text says what it did instead."""


Answer = Mapping[str, Any]
Part = Mapping[str, Any]
"""A hook or a server as the plugin's files describe it."""

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "musician-check", "version": "1"},
    },
}

_SAMPLES: dict[str, Mapping[str, object]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "help",
        "command_args": "",
        "command_source": "builtin",
        "prompt": "/help",
    },
    "UserPromptSubmit": {"prompt": "go on"},
    "PreToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "git -C . push", "description": "push"},
        "tool_use_id": "sample",
    },
    "PostToolBatch": {"tool_calls": []},
    "SubagentStart": {"agent_id": "sample", "agent_type": "musician:subagent"},
    "SubagentStop": {"agent_id": "sample", "agent_type": "musician:subagent", "stop_hook_active": False},
    "PreCompact": {"trigger": "manual", "custom_instructions": None},
    "StopFailure": {"error": "sample", "last_assistant_message": ""},
    "SessionEnd": {"reason": "other"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "", "background_tasks": []},
}
"""The client's input for each event, beside the keys that all events have."""

_MUST: dict[str, tuple[str, Callable[[Answer], bool]]] = {
    "SessionStart": ("name the session", lambda answer: _SESSION in _specific(answer, "additionalContext")),
    "PreToolUse": ("deny a push", lambda answer: _specific(answer, "permissionDecision") == "deny"),
    "PreCompact": ("keep a musician from being compacted", lambda answer: answer.get("decision") == "block"),
    "Stop": ("keep a working session", lambda answer: answer.get("decision") == "block"),
}


def check_plugin(installation: Installation, program: PluginRuntime) -> Iterator[CheckResult]:
    """Yield one result for each part; only one in all if the files do not exist."""
    if not installation.plugin.is_dir():
        found = f"there is nothing at {installation.plugin}"
        yield CheckResult(
            check="plugin", level=Level.FAIL, found=found, remedy="run `musician plugin install`"
        )
        return
    yield _files(installation, program)
    yield _settings(installation)
    yield _python(program)
    with tempfile.TemporaryDirectory(prefix="musician-check-") as folder:
        sample = _Sample(installation, Path(folder).resolve())
        yield from (
            _tried(f"hook {event}", partial(sample.hook, event, part)) for event, part in sample.hooks()
        )
        yield from (_tried(f"server {name}", partial(sample.server, part)) for name, part in sample.servers())


def _files(installation: Installation, program: PluginRuntime) -> CheckResult:
    old = outdated(installation, program)
    if old:
        found = f"{installation.plugin} is of another version or for another Python ({', '.join(old[:3])})"
        return CheckResult(check="plugin", level=Level.FAIL, found=found, remedy=_REINSTALL)
    return CheckResult(
        check="plugin", level=Level.OK, found=f"{installation.plugin}, version {program.version}"
    )


def _settings(installation: Installation) -> CheckResult:
    try:
        installed = is_installed(installation)
    except MusicianError as error:
        return CheckResult(check="settings", level=Level.FAIL, found=error.message, remedy=error.remedy)
    if not installed:
        return CheckResult(
            check="settings",
            level=Level.WARN,
            found=f"{installation.settings} does not turn it on",
            remedy="run `musician plugin install`, or start `claude --plugin-dir` with its path",
        )
    return CheckResult(check="settings", level=Level.OK, found=str(installation.settings))


def _python(program: PluginRuntime) -> CheckResult:
    missing = [path for path in (program.python, program.program_python) if not os.access(path, os.X_OK)]
    missing += [path for path in program.packages if not os.path.isdir(path)]
    if missing:
        return CheckResult(
            check="python", level=Level.FAIL, found=f"{', '.join(missing)} is gone", remedy=_REINSTALL
        )
    return CheckResult(check="python", level=Level.OK, found=program.python)


def _tried(check: str, attempt: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(check=check, level=Level.OK, found=attempt())
    except _Dead as error:
        return CheckResult(check=check, level=Level.FAIL, found=str(error), remedy=_REINSTALL)


class _Sample:
    """A temporary repository in which a sample session owns a task, and the parts that are called there."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self._plugin, self._folder = installation.plugin, folder
        Git(folder, finds=True).run("init", "--quiet")
        root = find_root(folder)
        root.musician_dir.mkdir()
        store = create_store(root.database)
        try:
            service.open_task(store, _TASK, title="Sample", instruction_path="sample.md")
            service.claim(store, _TASK, _SESSION, settings=Settings())
        finally:
            store.close()
        # Our environment, without the variables that would name another session.
        ours = {
            name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "MUSICIAN_"))
        }
        self._env = {
            **ours,
            "CLAUDE_PLUGIN_ROOT": str(self._plugin),
            "CLAUDE_PROJECT_DIR": str(folder),
            "CLAUDE_CODE_SESSION_ID": _SESSION,
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
        }

    def hooks(self) -> Iterator[tuple[str, Part]]:
        for event, entries in self._read("hooks", "hooks.json")["hooks"].items():
            for entry in entries:
                yield from ((event, part) for part in entry["hooks"])

    def servers(self) -> Iterator[tuple[str, Part]]:
        yield from self._read(".mcp.json")["mcpServers"].items()

    def _read(self, *names: str) -> Any:
        return json.loads(self._plugin.joinpath(*names).read_bytes())

    def _argv(self, part: Part) -> list[str]:
        words = [str(part["command"]), *map(str, part.get("args", ()))]
        return [word.replace("${CLAUDE_PLUGIN_ROOT}", str(self._plugin)) for word in words]

    def hook(self, event: str, part: Part) -> str:
        """Call a hook with its sample input, and say how it answered."""
        event_input = {
            "session_id": _SESSION,
            "transcript_path": str(self._folder / "transcript.jsonl"),
            "cwd": str(self._folder),
            "hook_event_name": event,
            **_SAMPLES.get(event, {}),
        }
        try:
            done = subprocess.run(
                self._argv(part),
                input=json.dumps(event_input).encode(),
                cwd=self._folder,
                env=self._env,
                capture_output=True,
                timeout=_HOOK_LIMIT_S,
                check=False,
            )
        except OSError as error:
            raise _Dead(f"does not start ({error.strerror})") from error
        except subprocess.TimeoutExpired as error:
            raise _Dead(f"does not answer within {_HOOK_LIMIT_S:.0f} s") from error
        answer = _read_answer(event, done)
        what, holds = _MUST.get(event, ("", lambda _: True))
        if not holds(answer):
            raise _Dead(f"lives, but does not {what}")
        return "answers" if answer else "lives"

    def server(self, part: Part) -> str:
        """Check that a server answers the client's first request, and ends when its input does."""
        with tempfile.TemporaryFile() as log:
            try:
                process = subprocess.Popen(
                    self._argv(part),
                    cwd=self._folder,
                    env=self._env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                )
            except OSError as error:
                raise _Dead(f"does not start ({error.strerror})") from error
            with process:
                try:
                    return _converse(process)
                except subprocess.TimeoutExpired as error:
                    raise _Dead(f"does not end within {_SERVER_END_LIMIT_S:.0f} s") from error
                finally:
                    process.kill()


def _read_answer(event: str, done: "subprocess.CompletedProcess[bytes]") -> Answer:
    complaint = one_line(done.stderr.decode(errors="replace"), _MOST_SAID_CHARS)
    if done.returncode or complaint:
        raise _Dead(f"ends with {done.returncode}" + (f" ({complaint})" if complaint else ""))
    if not done.stdout.strip():
        return {}
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        raise _Dead("prints something else than one JSON object") from error
    specific = answer.get("hookSpecificOutput") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or (specific is not None and specific.get("hookEventName") != event):
        raise _Dead("prints an answer that the client would not take")
    return answer


def _specific(answer: Answer, key: str) -> str:
    return str((answer.get("hookSpecificOutput") or {}).get(key, ""))


def _converse(process: "subprocess.Popen[bytes]") -> str:
    if process.stdin is None or process.stdout is None:
        raise _Dead("has no streams")
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        process.stdin.flush()
    if not select.select([process.stdout], [], [], _SERVER_LIMIT_S)[0]:
        raise _Dead(f"does not answer within {_SERVER_LIMIT_S:.0f} s")
    try:
        answer = json.loads(process.stdout.readline())
        server = answer["result"]["serverInfo"]
    except (ValueError, KeyError, TypeError) as error:
        raise _Dead("gives no answer that the client would take") from error
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.wait(_SERVER_END_LIMIT_S)
    return f"answers as {server.get('name')} {server.get('version')}"
