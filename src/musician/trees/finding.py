"""Which repository a folder is in, told from its files alone: git takes longer to start than a hook may take.

Says nothing rather than something that git would not say. Light, for a hook asks here.
"""

import os

_MOST_SETTINGS_BYTES = 100_000


def find_tree(start: str) -> "tuple[str, str] | None":
    """The main working tree of the repository around a folder (D25), and the tree one stands in.

    None where that cannot be found without git.
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
    """Whether git keeps a repository here, or what looks like one."""
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def is_kept_from_cleaning(folder: str) -> bool:
    """Whether it is our own folder, which only looks like a repository, so that git leaves it alone."""
    return os.path.basename(folder) == ".musician" and not os.path.exists(
        os.path.join(folder, ".git", "config")
    )


def git_dir(root: str) -> str:
    """The common git folder of a main tree; its ``.git`` is a file in a submodule, and where it is kept elsewhere."""
    entry = os.path.join(root, ".git")
    said = _line(entry) if os.path.isfile(entry) else ""
    if not said.startswith("gitdir: ") or "\0" in said:
        return entry
    found = os.path.join(root, said.removeprefix("gitdir: "))
    return os.path.join(found, _line(os.path.join(found, "commondir")))


def _main_tree(here: str, entry: str) -> "str | None":
    """Where the main tree is, seen from a tree whose ``.git`` is a file: a linked worktree, or a submodule."""
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
    """The folder that a bare repository lies in and whose ``.git`` names it: there is no main tree."""
    folder = os.path.dirname(common)
    return folder if os.path.realpath(git_dir(folder)) == common else None


def _configured_tree(common: str) -> "str | None":
    """Where a repository says its working tree is, as a submodule's does."""
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
