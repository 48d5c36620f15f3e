"""Where a tree's submodules belong, as its ``.gitmodules`` names them."""

import os
from pathlib import Path

from musician.trees.git import Git, shown
from musician.trees.obstacles import GITLINK


def submodules_named(tree: Path) -> tuple[tuple[str, bytes], ...]:
    """Return name and path of each."""
    file = tree / ".gitmodules"
    if not file.is_file():
        return ()
    done = Git(tree).run(
        "config", "--file", str(file), "-z", "--get-regexp", r"^submodule\..*\.path$", accept=(0, 1)
    )
    records = (record.partition(b"\n") for record in done.stdout.split(b"\0") if record)
    return tuple(
        (shown(key).removeprefix("submodule.").removesuffix(".path"), path) for key, _, path in records
    )


def stray_in_submodules(tree: Path) -> tuple[bytes, ...]:
    """Return the paths of submodules that are not checked out, and in whose folders something lies all the same."""
    places = [
        path for _, path in submodules_named(tree) if _holds_files(os.path.join(os.fsencode(tree), path))
    ]
    if not places:
        return ()
    listed = Git(tree).records("ls-files", "--stage", "-z", "--", *map(os.fsdecode, places))
    links = {path for head, _, path in (each.partition(b"\t") for each in listed) if head.startswith(GITLINK)}
    return tuple(path for path in places if path in links)


def _holds_files(folder: bytes) -> bool:
    """Whether there is something in a folder that is no repository's."""
    if os.path.lexists(os.path.join(folder, b".git")):
        return False
    return any(files for _, _, files in os.walk(folder))
