"""Finds the repository a folder is in by reading files only: starting git takes longer than a hook may take.

In doubt it answers None rather than something that git would not say. Imports little, because hooks call it.
"""

import os

_MOST_SETTINGS_BYTES = 100_000


def find_tree(start: str) -> "tuple[str, str] | None":
    """Return the main working tree of the repository around a folder (D25), and the working tree that holds
    the folder.

    None if they cannot be found without git.
    """
    here = os.path.realpath(start)
    while True:
        entry = os.path.join(here, ".git")
        if os.path.isfile(entry):
            found = _main_tree(here, entry)
            return None if found is None else (found, here)
        if is_git_dir(entry) and not is_kept_from_cleaning(here):
            configured = _configured_tree(entry)
            return (here, here) if configured in (None, here) else None
        if is_git_dir(here) and os.path.basename(here) != ".git":
            return None  # a bare one, or one whose tree is elsewhere
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def is_git_dir(folder: str) -> bool:
    """Whether this folder is a git repository's folder, or looks like one."""
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def is_kept_from_cleaning(folder: str) -> bool:
    """Whether this is our own folder, which looks like a repository only to keep ``git clean`` away."""
    return os.path.basename(folder) == ".musician" and not os.path.exists(
        os.path.join(folder, ".git", "config")
    )


def git_dir(root: str) -> str:
    """Return the common git folder of a main tree. ``.git`` is a file in a submodule, or if the git folder is
    elsewhere.
    """
    entry = os.path.join(root, ".git")
    said = _line(entry) if os.path.isfile(entry) else ""
    if not said.startswith("gitdir: ") or "\0" in said:
        return entry
    found = os.path.join(root, said.removeprefix("gitdir: "))
    return os.path.join(found, _line(os.path.join(found, "commondir")))


def _main_tree(here: str, entry: str) -> "str | None":
    """Return the main tree, seen from a tree whose ``.git`` is a file: a linked worktree or a submodule."""
    said = _line(entry)
    if not said.startswith("gitdir: ") or "\0" in said:
        return None
    own = os.path.realpath(os.path.join(here, said.removeprefix("gitdir: ")))
    said = _line(os.path.join(own, "commondir"))
    common = os.path.realpath(os.path.join(own, said))
    if not is_git_dir(common):
        return None
    if not said:
        return here
    around = os.path.dirname(common)
    if os.path.basename(common) == ".git":
        return around if _configured_tree(common) in (None, around) else None
    return _configured_tree(common) or _folder_around(common)


def _folder_around(common: str) -> "str | None":
    """Return the folder around a bare repository, if its ``.git`` points to that repository: there is no main
    tree.
    """
    folder = os.path.dirname(common)
    return folder if os.path.realpath(git_dir(folder)) == common else None


def _configured_tree(common: str) -> "str | None":
    """Return the working tree that the repository's configuration names, as in a submodule."""
    try:
        with open(os.path.join(common, "config"), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(_MOST_SETTINGS_BYTES).splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip().lower() == "worktree":
            return os.path.realpath(os.path.join(common, value.strip().strip('"')))
    return None


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(os.pathconf("/", "PC_PATH_MAX") + 100).rstrip("\r\n")
    except OSError:
        return ""
