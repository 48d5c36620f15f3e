"""A line for a task's status file, from a hook: what it writes into the journal stands there, too (D25).

A successor compares the two; a line that only one of them has is a mismatch it must look into.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.place import Place

__all__ = ["note_down"]


def note_down(place: "Place", task_id: str, line: str) -> None:
    """What cannot be written there is told by the database all the same."""
    if place.root is None:
        return
    from pathlib import Path

    from musician.trees.root import Root

    path = Root(path=Path(place.root)).status_file(task_id)
    try:
        path.parent.mkdir(exist_ok=True)  # as a session of ours would that finds it tidied away
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except OSError as error:
        sys.stderr.write(f"musician hook: {error}\n")
