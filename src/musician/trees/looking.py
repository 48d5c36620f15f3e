"""A task's work for a person to try: a scratch tree with it.

Theory. What git is told to run for a difference (an external program, a text conversion, a tool) stands in
configurations, and an agent may have written that of the repository. So the change is shown without such programs
(``diffs``), and tools run in the scratch tree: a clone that shares the repository's objects and has a configuration of
its own. It belongs to the person; nothing in it reaches the task.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from musician.protocol.errors import NoWork, ScratchTreeInUse
from musician.trees.git import Git, shown
from musician.trees.root import Root
from musician.trees.status import read_status
from musician.trees.task_work import Work


def scratch_tree(root: Root, task_id: str) -> Path:
    """Return where a task's scratch tree is or would be."""
    return root.musician_dir / "checkouts" / task_id


def checkouts(root: Root) -> Iterator[Path]:
    """Yield the scratch trees there are."""
    return (place for place in scratch_tree(root, "").glob("*") if place.is_dir())


def check_out(root: Root, task_id: str, work: Work) -> Path:
    """Make the scratch tree, or bring it up to date; :class:`ScratchTreeInUse` if that would lose something."""
    place = scratch_tree(root, task_id)
    if place.exists():
        remove_scratch_tree(root, task_id)
    place.parent.mkdir(exist_ok=True)
    Git(place.parent, finds=True).run(
        "clone", "--quiet", "--shared", "--no-checkout", "--origin=musician", str(root.path), str(place)
    )
    Git(place).run("checkout", "--quiet", "--detach", work.commit)
    return place


def remove_scratch_tree(root: Root, task_id: str) -> None:
    """Remove the scratch tree; :class:`ScratchTreeInUse` if something in it is nowhere else, :class:`NoWork` if there
    is none.
    """
    place = scratch_tree(root, task_id)
    if not place.exists():
        raise NoWork(
            task_id=task_id, what="scratch tree", remedy=f"`musician review checkout {task_id}` makes one"
        )
    held = unsaved_in_scratch_tree(place)
    if held:
        raise ScratchTreeInUse(place=str(place), held=held)
    shutil.rmtree(place)


def unsaved_in_scratch_tree(place: Path) -> str:
    """Return what is in the tree and nowhere else, "" if nothing is; a tree that git cannot read holds everything."""
    if read_status(place).unsaved:
        return "changed or new files"
    own = Git(place).text("rev-list", "--max-count=1", "--all", "HEAD", "--not", "--remotes")
    return "commits" if own else ""


def tool_environment() -> dict[str, str]:
    """Return the environment for a person's own tools in a scratch tree: theirs, without what aims git elsewhere."""
    aims = (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
    )
    return {name: value for name, value in os.environ.items() if name not in aims}


def users_setting(root: Root, name: str) -> str:
    """Return a setting of the user's own configuration, not the repository's; "" if it has none."""
    done = Git(root.path).run("config", "--global", "--includes", "--get", name, accept=(0, 1))
    return shown(done.stdout).strip()
