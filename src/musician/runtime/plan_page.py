"""Keeps the page on a plan that is complete, beside its tasks' reports.

It is a file in the user's repository. So it is written only where `musician init` has made the folder for
reports, never over what git tracks (a run would find its own work uncommitted next time), and over no file
but one that it wrote itself.
"""

import os

from musician.processes.whole_file import write_whole
from musician.trees.git import Git
from musician.trees.root import Root

_MARK = "<!-- Written by Musician at the plan's end; a later run of the plan writes it anew. -->\n"


def page_path(root: Root, plan_id: str) -> str:
    """Return where the page is kept, from the project's root."""
    return (root.reports_dir / f"{plan_id}-summary.md").relative_to(root.path).as_posix()


def keep_page(root: Root, plan_id: str, text: str) -> bool:
    """Write the page; return whether it may be written and was."""
    name = page_path(root, plan_id)
    path = root.path / name
    if not path.parent.is_dir() or Git(root.path).records("ls-files", "-z", "--", f":(literal){name}"):
        return False
    is_there = os.path.lexists(path)
    try:
        if is_there and (path.is_symlink() or not path.read_bytes().endswith(_MARK.encode())):
            return False
        write_whole(path, text + "\n" + _MARK)
    except OSError:  # the plan is complete, with its page or without
        return False
    return True
