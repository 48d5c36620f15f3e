"""Lines for status files, from a hook: what it writes into a journal stands there, too (D25)."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.hook_context import HookContext
    from musician.protocol.journal import Written


def note_down(context: "HookContext", written: "Written") -> None:
    """Append to the status file. An error is ignored, because the database has the entry."""
    if context.tree is None:
        return

    from musician.protocol.journal import status_line

    for task_id, entry in written:
        path = context.root.status_file(task_id)
        try:
            path.parent.mkdir(exist_ok=True)  # somebody may have removed the folder
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{status_line(entry)}\n")
        except OSError as error:
            sys.stderr.write(f"musician hook: {error}\n")
