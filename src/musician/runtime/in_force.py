"""The settings a plan is played with: those of its lock, whatever becomes of the file meanwhile.

A step may write to the settings file, and a person may want to change it: the first must have no effect and
be reported, the second is done by `musician plan amend`, which reads the file anew. A task without a plan
goes by the file.
"""

from musician import service
from musician.config import parse_settings
from musician.protocol.arguments import as_argument
from musician.protocol.errors import WrongSettings
from musician.protocol.settings import Settings
from musician.store.port import Store
from musician.trees.root import Root


def settings_file_text(root: Root) -> str:
    """Return the settings file's text as it is now; "" if it cannot be read."""
    try:
        return root.config.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def settings_of_plan(store: Store, plan_id: str, now: Settings) -> Settings:
    """Return a locked plan's settings; ``now``, the file's, if none were kept. Blocks."""
    return _read(service.settings_text(store, plan_id=plan_id), now)


def settings_of_task(store: Store, task_id: str, now: Settings) -> Settings:
    """Return the settings of a task's plan; ``now`` for a task without one. Blocks."""
    return _read(service.settings_text(store, task_id=task_id), now)


def since_the_file_was_locked(root: Root, store: Store, plan_id: str) -> tuple[str, ...]:
    """Return a sentence that says that the file differs now; () if it does not. Blocks."""
    locked = service.settings_text(store, plan_id=plan_id)
    if locked is None or locked == settings_file_text(root):
        return ()
    changed = f"{root.config.name} has changed since {plan_id} was locked, and the change is not in force"
    row = service.plan_row(store, plan_id)
    file = "PLAN" if row is None else as_argument(row.path)
    return (f"{changed}; if it is meant: musician plan amend {file}",)


def _read(text: str | None, now: Settings) -> Settings:
    if text is None:
        return now
    try:
        return parse_settings(text, name="the settings of the lock")
    except WrongSettings:  # written by an older program, with a setting that no longer exists
        return now
