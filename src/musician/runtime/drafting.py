"""Looks at the user's repository for the first draft of a plan, and writes that where nothing is yet."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from musician.plans.needs import Project
from musician.protocol.errors import BadField
from musician.trees.git import Git
from musician.trees.root import Root

_MOST_BYTES = 1_000_000
"""Of a file that says how a project is tested; a larger one is something else."""


def look_at_project(root: Root) -> Project:
    """Return what git says of the user's tree. A path that is not printable UTF-8 can stand in no plan, and is left
    out.
    """
    tree = root.users_tree
    git = Git(tree)

    def listed(*options: str) -> tuple[str, ...]:
        found = git.records("ls-files", "-z", *options)
        return tuple(name for each in found if (name := _readable(each)) and not _is_ours(root, name))

    def read(path: str) -> str:
        try:
            with (tree / path).open("rb") as file:
                return file.read(_MOST_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
        except OSError:
            return ""

    ignored = listed("--others", "--ignored", "--exclude-standard", "--directory")
    untracked = listed("--others", "--directory", "--no-empty-directory")
    return Project(
        tracked=listed("--cached"),
        untracked=tuple(dict.fromkeys((*untracked, *ignored))),
        is_ignored=lambda path: git.succeeds("check-ignore", "--quiet", "--", path),
        read=read,
    )


def agent_at_hand() -> str:
    """Return the agent that a draft names: a model whose program is here, else the shell."""
    return "claude" if shutil.which("claude") and find_spec("claude_agent_sdk") else "shell"


def write_draft(path: Path, text: str) -> None:
    """Write a new file; :class:`BadField` if something is there already."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadField(field="PLAN", value=str(path), reason="it is there already; name a new file") from None


def _readable(path: bytes) -> str:
    try:
        name = path.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return name if name.isprintable() else ""


def _is_ours(root: Root, path: str) -> bool:
    own = (root.musician_dir, root.temp_dir)
    return any(os.path.normpath(root.path / path) == str(folder) for folder in own)
