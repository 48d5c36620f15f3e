"""The guards of the database, which bind every writer, as data. Each database has a renderer (``sqlite/guards.py``).

Theory. Whoever has the file can write it: the ``sqlite3`` shell, another program, an agent with raw SQL. What must
hold for them too (D6) is therefore said in triggers, and these are derived from ``protocol.transitions`` instead of
being written a second time:

- a task's own row: legality, the claim, its owner, verdict, takeover and completion (``tasks``);
- a plan's pauses (``pausing``);
- history and the one order, written for every writer (``chronicle``, ``ordering``), what is kept for good
  (``permanence``), and what a value may be (``bounds``).

What they do not know is who is writing. Identity and epochs hold through the service only. What is let through does not
depend on the order in which triggers fire; which of two guards speaks, where both hold, does: the one made last.
"""

from collections.abc import Iterator

from musician.store.guards.bounds import bounding_guards
from musician.store.guards.chronicle import chronicle_guards
from musician.store.guards.guard import Guard
from musician.store.guards.ordering import ordering_guards
from musician.store.guards.pausing import pausing_guards
from musician.store.guards.permanence import permanence_guards
from musician.store.guards.tasks import task_guards


def guards() -> Iterator[Guard]:
    yield from task_guards()
    yield from chronicle_guards()
    yield from ordering_guards()
    yield from pausing_guards()
    yield from permanence_guards()
    yield from bounding_guards()
