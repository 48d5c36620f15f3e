"""Sets the environment of the session's shell commands, through the file that the client reads it from."""

import os
from collections.abc import Mapping


def export(values: Mapping[str, str], *, environ: Mapping[str, str] = os.environ) -> None:
    """Add variables for the commands of this session; nothing where the client offers no such file."""
    path = environ.get("CLAUDE_ENV_FILE")
    if not path:
        return
    lines = "".join(f"export {name}={quoted(value)}\n" for name, value in values.items())
    with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(lines)


def quoted(value: str) -> str:
    """One word of a shell, whatever it holds."""
    return "'" + value.replace("'", "'\\''") + "'"
