"""Whether a tool call can be let through at a glance, before anything is imported to judge it (D21, DESIGN 9, P4).

Most calls of a musician are builds, tests and edits. Where a text has nothing that a shell would expand or unquote, a
forbidden act shows in it by its own letters: a call without any of them needs no reader. Says "no" whenever in doubt;
:mod:`musician.protocol.policy.tool_calls` decides then. Imports nothing, because a hook pays for every module.
"""

__all__ = ["OWN_TOOLS", "READING", "is_harmless"]

OWN_TOOLS = ("mcp__plugin_musician_comms-link__", "mcp__comms-link__")
"""How the names of this project's own tools begin; their server checks what they may do."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./:=,@%+-;&|\n")
_SHOWING = (
    *("git", "gh", "glab", "hub", "jj", "sqlite", "musician", "rm", "unlink", "shred", "mv"),
    *("claude", "memory", "temp", "head", "refs"),
)
_FILE_KEYS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
READING = frozenset(
    {"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "ToolSearch", "TodoWrite", "Skill"}
)
"""Tools that write nothing whatever their input is, and run nothing."""


def is_harmless(tool_name: str, tool_input: object, *, database: str) -> bool:
    """Whether the policy would certainly let it through. ``database``: its path, whose name shows an act too."""
    if tool_name in READING:
        return True
    if not isinstance(tool_input, dict):
        return False
    if tool_name == "Bash":
        text = tool_input.get("command")
    elif tool_name in _FILE_KEYS and "command" not in tool_input and "cmd" not in tool_input:
        text = tool_input.get(_FILE_KEYS[tool_name])
    else:
        return False
    if not isinstance(text, str) or not _PLAIN.issuperset(text):
        return False
    shown = text.lower()
    folder, _, name = database.lower().rpartition("/")
    return not any(word in shown for word in (*_SHOWING, name, folder.rpartition("/")[2]) if word)
