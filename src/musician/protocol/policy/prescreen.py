"""Recognises tool calls that are certainly allowed, before any module that judges them is imported (D21, DESIGN 9).

Most calls of a musician are builds, tests and edits. If a command has nothing that a shell would expand or unquote, a
forbidden act is visible in its letters, and a command without any such word need not be parsed. And a command without a
path out of the own tree writes nowhere else. In doubt the answer is "no", and
:mod:`musician.protocol.policy.tool_calls` decides. Nothing is imported here, because a hook pays for every module.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OWN_TOOLS = ("mcp__plugin_musician_comms-link__", "mcp__comms-link__")
"""How the names of this project's own tools begin; their server checks what they may do."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./:=,@%+-;&|\n")
_SHOWING = (
    *("git", "gh", "glab", "hub", "jj", "tea", "sqlite", "litecli", "musician", "claude"),
    *("publish", "push", "upload", "yank", "deploy"),
    *("release", "kubectl", "helm", "terraform", "tofu", "pulumi"),
    *("rm", "unlink", "shred", "mv", "trash", "delete", "rsync", " -i", " - ", "-o/", "--ignore-env"),
    *("memory", "temp", "head", "refs", "cd", "pushd", ".."),
)
_FILE_KEYS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
_COMMANDS = frozenset({"argv", "args", "cmd", "command", "commands", "script", "shell"})
READING = frozenset(
    {"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "ToolSearch", "TodoWrite", "Skill"}
)
"""Tools that write nothing whatever their input is, and run nothing."""


def is_harmless(
    tool_name: str,
    tool_input: object,
    *,
    cwd: str,
    tree: str,
    database: str,
    real: "Callable[[str], str]" = str,
) -> bool:
    """Whether the policy would certainly let it through. ``tree``: the own one; ``database``: its path, whose name
    shows an act too; ``real`` resolves the symlinks of a path."""
    if tool_name in READING:
        return True
    if not isinstance(tool_input, dict):
        return False
    key = "command" if tool_name == "Bash" else _FILE_KEYS.get(tool_name, "")
    text = tool_input.get(key)
    if not isinstance(text, str) or (tool_name != "Bash" and _COMMANDS & tool_input.keys()):
        return False
    shown = _command(text, cwd, tree) if tool_name == "Bash" else _file(text, cwd, tree, real)
    if not shown or not _PLAIN.issuperset(shown):
        return False
    folder, _, name = database.lower().rpartition("/")
    telling = (*_SHOWING, name, folder.rpartition("/")[2])
    return not any(word in shown.lower() for word in telling if word)


def _command(text: str, cwd: str, tree: str) -> str:
    """A command without its way into the own tree; "" where it may be played elsewhere."""
    enters = f"cd {tree} && "
    if text.startswith(enters):
        text = text.removeprefix(enters)
    elif cwd != tree and not cwd.startswith(tree + "/"):
        return ""
    return "" if " /" in f" {text}" or "=/" in text else text


def _file(path: str, cwd: str, tree: str, real: "Callable[[str], str]") -> str:
    """A path as seen from the own tree; "" where it lies elsewhere."""
    full = real(path if path.startswith("/") else f"{cwd}/{path}")
    return full.removeprefix(tree + "/") if full.startswith(tree + "/") else ""
