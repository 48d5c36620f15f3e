"""Adds one task: to a locked plan, or as one without a plan.

A plan's file stays the whole truth about it: a task is added by writing it there and amending the plan. If that is
refused, the file is as it was.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from musician import service
from musician.plans.instructions import read_instructions
from musician.plans.model import TaskSpec
from musician.plans.plan import MAX_FILE_BYTES
from musician.plans.splicing import with_task_added
from musician.processes.whole_file import write_whole
from musician.protocol.errors import BadField, InvalidPlan, MusicianError
from musician.protocol.settings import Settings
from musician.runtime.locking import Amendment, amend_alone, changing_plans, keep_file
from musician.runtime.program import tree_of
from musician.runtime.world import WORLD, World
from musician.service.documents import keep_instructions
from musician.store.port import Store
from musician.trees.root import Root


def add_to_plan(
    root: Root,
    store: Store,
    task_id: str,
    path: Path,
    settings: Settings,
    *,
    plan_path: Path,
    phase: int | None = None,
    after: Iterable[str] = (),
    world: World = WORLD,
) -> Amendment:
    """Add the task of an instruction file to a phase, by default the last; as ``plan amend``. Blocks."""
    tree = tree_of(root, plan_path)
    name, text = _read(tree, path)
    task = read_instructions(text, path=name, task_id=task_id)
    with changing_plans(root, world) as session_id:
        _, was = _read(tree, plan_path)
        made = with_task_added(was, _section(task, name, tuple(after)), phase=phase)
        if made is None:
            raise BadField(
                field="phase", value=phase, reason="name a phase that the plan has: `## Phase N: Title`"
            )
        place = plan_path.resolve()
        write_whole(place, made.replace("\n", "\r\n") if "\r\n" in was else made)
        try:
            return amend_alone(root, store, plan_path, settings, session_id, world)
        except MusicianError:
            write_whole(place, was)
            raise


def _section(task: TaskSpec, name: str, after: tuple[str, ...]) -> str:
    waits = f"after: [{', '.join(after)}]\n" if after else ""
    keys = f"instructions: {json.dumps(name, ensure_ascii=False)}\n{waits}"
    return f"### {task.task_id}: {task.title}\n```yaml task\n{keys}```\n"


def add_task_file(root: Root, store: Store, task_id: str, path: Path, settings: Settings) -> str:
    """Open a task that belongs to no plan, from its instruction file; return the file's path in the project.

    Of a file in a linked tree of the user's a copy is kept: that tree and its branch may be gone when it is played.
    """
    tree = tree_of(root, path)
    name, text = _read(tree, path)
    task = read_instructions(text, path=name, task_id=task_id)
    if tree != root.path:
        name = keep_file(root, task.task_id, text)
    service.open_task(
        store,
        task_id,
        title=task.title,
        instruction_path=name,
        retry_limit=settings.limits.error_retries,
    )
    keep_instructions(store, {task_id: (name, text)})
    return name


def _read(tree: Path, path: Path) -> tuple[str, str]:
    """Return a file's path in a tree of the project and its text; :class:`InvalidPlan` with one problem."""
    place = path.resolve()
    if not place.is_relative_to(tree):
        raise InvalidPlan(problems=(f"{path}:1: a file outside the project; expected one inside it",))
    name = place.relative_to(tree).as_posix()
    try:
        with place.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InvalidPlan(
                problems=(f"{name}:1: a file that is too large; expected at most {MAX_FILE_BYTES} bytes",)
            )
        return name, data.decode()
    except OSError as error:
        reason = (error.strerror or "an input/output error").lower()
        raise InvalidPlan(problems=(f"{name}:1: {reason}; expected a Markdown file",)) from None
    except UnicodeDecodeError:
        raise InvalidPlan(problems=(f"{name}:1: a byte that is not UTF-8; expected UTF-8 text",)) from None
