"""The one door of all hooks: which event, whose, and whether there is anything to do.

Bound as ``musician hook EVENT`` and by the plugin's boot file. The exit code is 0 on every path: what the client
is to do is said in the answer, and the client lets go on a hook that fails.

A subagent's events name its parent's session. Only what guards it, and what tells its beginning and end, hears of them:
whatever else happens in it is not the parent's (D34).
"""

import os
import sys

from musician.hooks import asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import BinaryIO, NoReturn

    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext
    from musician.hooks.kept_reader import KeptReader

EVENTS = {
    "SessionStart": "session_start",
    "UserPromptExpansion": "prompt_expansion",
    "UserPromptSubmit": "prompt_submit",
    "PreToolUse": "tool_use",
    "PostToolBatch": "tool_batch",
    "SubagentStart": "subagents",
    "SubagentStop": "subagents",
    "PreCompact": "compaction",
    "Stop": "stop",
    "StopFailure": "stop_failure",
    "SessionEnd": "session_end",
}
"""The module of ``musician.hooks`` that answers an event."""

_FOR_STRANGERS = ("SessionStart", "UserPromptExpansion")
"""Also answered for a session that has never claimed anything: here it may become a musician."""

_OF_SUBAGENTS = ("PreToolUse", "SubagentStart", "SubagentStop")

_OUR_TOOL = b"mcp__plugin_musician_comms-link__"

_MOST_BYTES = 64 * 1024 * 1024
"""Of standard input; an event with more is not read to its end, and so is none."""


def program(argv: "Sequence[str]") -> "NoReturn":
    """Answer one event of the client on this process's own streams, and end it. Nothing else gets there (B06).

    Ends at once: taking an interpreter down tidily takes a fifth of the time that a hook may take.
    """
    answer_fd = os.dup(1)
    os.dup2(2, 1)  # anything else that is printed, by a child too, goes to the log
    with os.fdopen(answer_fd, "wb") as stdout:
        code = main(argv, sys.stdin.buffer, stdout)
    os._exit(code)


def main(argv: "Sequence[str]", stdin: "BinaryIO", stdout: "BinaryIO") -> int:
    """Answer the event ``argv`` names: the client's JSON in, nothing or one JSON object out. Always 0."""
    document = stdin.read(_MOST_BYTES)
    event = argv[0] if argv else ""
    if event == asking.EVENT and asking.says_quiet(document):
        return 0
    if event not in EVENTS:
        log(f"{event or 'no event'}: not one of {', '.join(EVENTS)}")
        return 0
    answer = _answer(event, document)
    if answer is not None:
        from musician.hooks.answers import render

        try:
            stdout.write(render(answer))
            stdout.flush()
        except OSError:
            log(f"{event}: nobody reads the answer")
    return 0


def _answer(name: str, document: bytes) -> "Answer | None":
    found = _found(name, document, os.environ, _here())
    if found is None:
        return None
    event, context = found
    try:
        _look(event, context)
        return None if context.is_strangers and not _is_for_strangers(event) else _ask(event, context)
    except Exception as error:  # whatever goes wrong, the client gets an answer (B10)
        return _trouble(event, context, error)
    finally:
        context.close()


def is_quiet(
    name: str, document: bytes, environ: "Mapping[str, str]", cwd: str, reader: "KeptReader | None" = None
) -> bool:
    """Whether an event of a session that owns something has no answer, and asks for nothing to be done.

    The database is asked by the ``reader``, if there is one.
    """
    try:
        found = _found(name, document, environ, cwd)
        if found is None:
            return False
        event, context = found
        context.reader = reader
        try:
            _look(event, context)
            return bool(context.held) and bool(_module(name).is_quiet(event, context))
        finally:
            context.close()
    except Exception:  # the hook meets the same error and reports it
        return False


def _found(
    name: str, document: bytes, environ: "Mapping[str, str]", cwd: str
) -> "tuple[HookEvent, HookContext] | None":
    """An event that may be of a session of ours, and where; None for any other."""
    from musician.hooks.hook_context import find_database

    context = find_database(environ, cwd)
    if context is None or not (context.exists or context.has_marks or _asks_for_us(name, document)):
        return None
    from musician.hooks.event import as_event

    event = as_event(
        name,
        document,
        project_dir=environ.get("CLAUDE_PROJECT_DIR"),
        opened_as=environ.get("CLAUDE_CODE_SESSION_ID"),
    )
    if event.session_id is None or not (event.agent_id is None or name in _OF_SUBAGENTS):
        return None
    return event, context


def _here() -> str:
    """Where the session stands; the root of all where its folder was removed under it."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _look(event: "HookEvent", context: "HookContext") -> None:
    """Return what the session owns. Raises :class:`LookupError` if the database has lost its claim."""
    session_id = event.session_id or ""
    if context.exists:
        context.look(session_id, event.agent_id)
    if not context.held and context.is_marked(session_id):
        lost = "does not know it" if context.exists else "is gone"
        raise LookupError(f"this session plays a task, and its database {context.database} {lost}")


def _is_for_strangers(event: "HookEvent") -> bool:
    """So is a tool of ours: a session in which nobody can be asked could never claim a task with one."""
    return event.name in _FOR_STRANGERS or (event.name == "PreToolUse" and event.mentions(_OUR_TOOL))


def _asks_for_us(name: str, document: bytes) -> bool:
    """Whether somebody calls for a musician where there is no database: they are told."""
    return name == "UserPromptExpansion" and (b"musician" in document or b"conductor" in document)


def _ask(event: "HookEvent", context: "HookContext") -> "Answer | None":
    answer: Answer | None = _module(event.name).answer(event, context)
    return answer


def _trouble(event: "HookEvent", context: "HookContext", error: Exception) -> "Answer | None":
    """The event's own decision on trouble; by default it is said on standard error and the client goes on."""
    problem = _said(error, context.database)
    log(f"{event.name}: {problem}")
    try:
        decide = getattr(_module(event.name), "trouble", None)
        decided: Answer | None = decide(event, context, problem) if decide else None
    except Exception as second:
        log(f"{event.name}: {_said(second, context.database)}")
        return None
    return decided


def _said(error: Exception, database: str) -> str:
    """One line that names the database."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if database in text else f"{database}: {text}"


def _module(name: str) -> "ModuleType":
    from importlib import import_module

    return import_module(f"musician.hooks.{EVENTS[name]}")


def log(text: str) -> None:
    """Write to the client's debug log; nobody may be there to read it."""
    try:
        sys.stderr.write(f"musician hook {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return
