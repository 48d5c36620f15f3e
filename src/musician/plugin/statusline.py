"""Prints a session's status line: its task, the state, the number of unread messages, the context used (CLI-22).

Claude Code runs this whenever something changes, with JSON on standard input. So it decides with one read of the
database, as a hook does, whether there is anything to print, and prints nothing if anything goes wrong. Unknown values
are left out: people would believe a guess.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, BinaryIO

    from musician.hooks.hook_context import Held, HookContext

_MOST_BYTES = 4 * 1024 * 1024
_PATIENCE_MS = 1000
_UNREAD = os.path.join(os.path.dirname(__file__), "statusline.sql")
"""The store's own query. The store's loader of queries would take longer than the whole line may."""
_USED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def program(argv: "Sequence[str]") -> int:  # noqa: ARG001  # the signature of the hooks' programs
    """Print the line for the session on standard input; nothing if it is not a musician's. Always returns 0."""
    try:
        sys.stdout.buffer.write(line_for(sys.stdin.buffer).encode())
        sys.stdout.flush()
    except Exception as error:  # the client shows whatever is printed, and an error is no status
        sys.stderr.write(f"musician statusline: {error}\n")
    return 0


def line_for(stdin: "BinaryIO") -> str:
    """Return the line with its newline, "" if there is nothing to say."""
    from musician.hooks.event import as_event
    from musician.hooks.hook_context import find_database

    event = as_event("StatusLine", stdin.read(_MOST_BYTES))
    context = find_database(os.environ, event.cwd or os.getcwd())
    if event.session_id is None or context is None or not context.exists:
        return ""
    try:
        context.look(event.session_id)
        tasks = [_about(held, context) for held in context.live or context.held[-1:]]
        if not tasks:
            return ""
        return " · ".join([*tasks, *_context(event.raw, context)]) + "\n"
    finally:
        context.close()


def _about(held: "Held", context: "HookContext") -> str:
    if not held.is_live:
        return f"{held.task_id} {held.state}, no longer this session's"
    count = _unread(context.database, held.task_id)
    return f"{held.task_id} {held.state}" + (f" · {count} unread" if count else "")


def _unread(database: str, task_id: str) -> int:
    import apsw

    connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(_PATIENCE_MS)
        with open(_UNREAD, encoding="utf-8") as file:
            ((count,),) = connection.execute(file.read(), (task_id,))
    finally:
        connection.close()
    return int(count)


def _context(status: "Mapping[str, Any]", context: "HookContext") -> "list[str]":
    """Return the context used, if the client's numbers are plausible (D15, B28)."""
    window = status.get("context_window")
    usage = window.get("current_usage") if isinstance(window, dict) else None
    if not isinstance(window, dict) or not isinstance(usage, dict):
        return []
    used = [usage.get(key, 0) for key in _USED]
    size = window.get("context_window_size")
    if not all(isinstance(each, int) for each in (*used, size)):
        return []
    from musician.protocol.rules.budget import reading_from_tokens

    reading = reading_from_tokens(sum(used), size, set_window=context.settings.context.window_tokens)
    return [] if reading.used_pct is None else [f"context {reading.used_pct:.0f} %"]
