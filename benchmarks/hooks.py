"""What a hook of Claude Code costs, as a process, against an interpreter that does nothing (P4).

Also against a shell script that asks the same of the database with the ``sqlite3`` command, where there is one. The
client pays for a hook at every event of every session in the repository, a musician's or not.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.mcp import a_server
from benchmarks.measuring import in_turn, seconds
from benchmarks.orchestra import SETTINGS, scratch
from benchmarks.task import prepare, surroundings
from musician import service
from musician.hooks import hook_context
from musician.plugin.rendering import render, this_program
from musician.plugin.scopes import for_user
from musician.processes import client_line
from musician.processes.identity import identify
from musician.store.sqlite.store import SqliteStore

__all__ = ["TINY", "Size", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rounds: int = 31


TINY = Size(rounds=1)

_MOST, _MOST_OF_A_STRANGER = 1.2, 0.3
_PYTHON = os.path.realpath(sys.executable)
_BARE = (_PYTHON, "-I", "-S", "-c", "pass")
_OWNER, _STRANGER = "session-owner", "session-stranger"
_USAGE = {"input_tokens": 1000, "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 1000}
_ANSWER = {
    "type": "assistant",
    "isSidechain": False,
    "message": {"model": "claude-opus-5-5", "usage": _USAGE, "content": "x" * 2000},
}

_ANSWERED = "a musician's tools have run, and the tools' server is there"
_PACE_S = 0.01
_ELSEWHERE = "a session in a repository without a musician"

_SILENT = {
    "a stranger's tools have run": ("PostToolBatch", _STRANGER),
    "a stranger's tool": ("PreToolUse", _STRANGER),
    "a stranger stops": ("Stop", _STRANGER),
    "a musician's tools have run": ("PostToolBatch", _OWNER),
}
"""Nothing to say: by far the most events. These have the goal."""

_SPEAKING = {
    "a musician's tool": ("PreToolUse", _OWNER),
    "a session starts": ("SessionStart", _STRANGER),
    "a musician comes back": ("SessionStart", _OWNER),
    "a second call of the owner": ("UserPromptExpansion", _OWNER),
}


def measure(size: Size) -> tuple[Figure, ...]:
    """Wall time of whole processes, byte code warm."""
    with scratch() as folder:
        project, elsewhere = folder / "project", folder / "elsewhere"
        database = prepare(project, steps=1)
        (elsewhere / ".git").mkdir(parents=True)
        (elsewhere / ".git" / "HEAD").touch()
        said = _set_up(project, database)
        plugin = for_user({"HOME": str(folder)})
        render(plugin, this_program())
        boot = ("/bin/sh", str(plugin.plugin / "hooks" / "hook.sh"))
        environment = {k: v for k, v in surroundings(folder).items() if not k.startswith("CLAUDE")}
        bare = partial(_run, _BARE, project, environment, b"")
        silent, speaking = (
            {
                what: partial(
                    _run,
                    (*boot, event),
                    project,
                    {**environment, "CLAUDE_CODE_SESSION_ID": session},
                    said[session],
                )
                for what, (event, session) in kind.items()
            }
            for kind in (_SILENT, _SPEAKING)
        )
        silent[_ELSEWHERE] = partial(_run, (*boot, "PostToolBatch"), elsewhere, environment, said[_STRANGER])
        if shutil.which("sqlite3"):
            script = _script(folder / "hook.sh", database)
            silent["shell"] = partial(_run, ("sh", str(script)), project, environment, said[_STRANGER])
        figures = _figures(_in_turn(size, bare, silent))
        with a_server(project, {**environment, "CLAUDE_CODE_SESSION_ID": _OWNER}) as server:
            server.greet()
            server.call("siblings", {})
            while client_line.ask(os.getpid(), b"") == b"":
                time.sleep(_PACE_S)
            answered = {_ANSWERED: silent["a musician's tools have run"]}
            figures += _figures(_in_turn(size, bare, answered))[1:]
        # These write, which a stranger's hook notices.
        return (*figures, *_figures(_in_turn(size, bare, speaking))[1:])


def _in_turn(
    size: Size, bare: Callable[[], object], arms: Mapping[str, Callable[[], object]]
) -> dict[str, float]:
    every = {"bare": bare, **arms}
    for arm in every.values():
        arm()
    measured = in_turn(size.rounds, [partial(seconds, arm) for arm in every.values()])
    return dict(zip(every, measured, strict=True))


def _figures(took_s: dict[str, float]) -> tuple[Figure, ...]:
    bare, shell = took_s.pop("bare"), took_s.pop("shell", None)
    figures = [Figure(what="hook: python -I -S -c pass", median=bare * 1e3, unit="ms")]
    for what, each in took_s.items():
        aims = what not in _SPEAKING
        figures.append(
            Figure(
                what=f"hook: {what}",
                median=each * 1e3,
                unit="ms",
                ratio=each / bare,
                against="bare python",
                goal="P4" if aims else "",
                at_most=(_MOST if "musician's" in what else _MOST_OF_A_STRANGER) if aims else None,
            )
        )
    if shell is not None:
        quiet = took_s["a stranger's tools have run"]
        figures.append(
            Figure(
                what="hook: a stranger's, against sh and sqlite3",
                median=shell * 1e3,
                unit="ms",
                ratio=quiet / shell,
                against="a shell script",
            )
        )
    return tuple(figures)


def _set_up(project: Path, database: Path) -> dict[str, bytes]:
    """One session holds the task, has heard everything and is measured; what the client says of both."""
    store = SqliteStore.open(database)
    (row,) = service.open_tasks(store)
    claim = service.claim(store, row.task_id, _OWNER, settings=SETTINGS).claim
    met = service.Met(identity=identify(os.getpid()), attended=True, hosted=False)
    service.meet_client(store, _OWNER, met)
    unread = tuple(message.id for message in service.unread(store, row.task_id))
    service.deliver(store, claim, unread)
    service.acknowledge(store, claim, unread[-1])
    service.measure_context(store, claim, sum(_USAGE.values()) / 10_000)
    store.close()
    for path in database.parent.glob(f"{database.name}*"):
        os.utime(path, (0, 0))  # nobody has just written
    transcript = project / "transcript.jsonl"
    transcript.write_text((json.dumps(_ANSWER) + "\n") * 200, encoding="utf-8")
    common = {
        "transcript_path": str(transcript),
        "cwd": str(project),
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "command_name": "musician",
        "command_args": "",
        "prompt": "hello",
        "tool_calls": [{"tool_name": "Bash", "tool_response": "y" * 4000}],
    }
    return {
        session: json.dumps(
            {"session_id": session, **common, "source": source}, separators=(",", ":")
        ).encode()
        for session, source in ((_OWNER, "resume"), (_STRANGER, "startup"))
    }


def _script(path: Path, database: Path) -> Path:
    """The same question asked by the ``sqlite3`` command."""
    look = (Path(hook_context.__file__).parent / "look.sql").read_text(encoding="utf-8")
    asked = look.replace("?1", "(SELECT id FROM me)")
    me = "WITH me(id) AS MATERIALIZED (SELECT json_extract(CAST(readfile('/dev/stdin') AS TEXT), '$.session_id'))"
    query = path.with_suffix(".sql")
    query.write_text(f"{me}\n{asked}", encoding="utf-8")
    path.write_text(
        f"found=$(sqlite3 -readonly '{database}' \"$(cat '{query}')\") || exit 0\n[ -z \"$found\" ]\n",
        encoding="utf-8",
    )
    return path


def _run(command: tuple[str, ...], folder: Path, environment: dict[str, str], said: bytes) -> None:
    subprocess.run(command, cwd=folder, env=environment, input=said, check=True, capture_output=True)
