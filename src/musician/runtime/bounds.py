"""What a task may use, for who looks: by its plan's settings or its budget, and what it has used of that."""

from contextlib import suppress

from musician import service
from musician.protocol.errors import InvalidPlan
from musician.protocol.rules.ceilings import Amounts, Bound, Scope, bounds_of, within_budget
from musician.protocol.settings import Settings
from musician.runtime.in_force import settings_of_task
from musician.runtime.program import load_task_file
from musician.store.port import Store
from musician.store.rows import TaskRow
from musician.trees.root import Root


def bounds_of_task(root: Root, store: Store, settings: Settings, row: TaskRow) -> tuple[Bound, ...]:
    """Return the ceilings over this task alone, reached or not. Blocks."""
    budget = Amounts()
    with suppress(InvalidPlan):  # one opened by raw SQL may have no instructions
        budget = load_task_file(root, row.task_id, row.instruction_path or "").budget
    accounts = within_budget(service.accounts_of_task(store, row.task_id), budget)
    ceilings = settings_of_task(store, row.task_id, settings).ceilings
    return tuple(each for each in bounds_of(accounts, ceilings) if each.scope is Scope.TASK)


def say_bounds(bounds: tuple[Bound, ...]) -> str:
    """Return them on one line, such as ``$1.20 of $5.00, 12 turns of 50 turns``; "" where there are none."""
    return ", ".join(each.share for each in bounds)
