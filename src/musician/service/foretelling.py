"""What is foretold of the tasks' merges: told to whom it concerns once, and read by whoever looks.

Its fold over the messages is all that is kept of it (``protocol/messages/forecasts.py``).
"""

from collections.abc import Iterable, Mapping

from musician.protocol.messages.forecasts import Foreseen
from musician.protocol.names import CONDUCTOR
from musician.service.rowwork import load_unfinished, say_fields
from musician.store.port import Store, Tx
from musician.store.queries.messages import Messages
from musician.store.rows import ForecastRow

_NOTHING = Foreseen()


def foretell(store: Store, task_id: str, now: Foreseen, *, look: str = "") -> bool:
    """Tell a task what is foretold now, as far as that is new to it; False if nothing is.

    No question is answered by it, and no person's. :class:`IllegalEvent` on a complete task, :class:`TaskIsOver` on
    one that is not played any more.
    """
    with store.write() as tx:
        load_unfinished(tx, task_id)
        before = _folded(tx.all(Messages.forecasts_of_task, task_id=task_id)).get(task_id, _NOTHING)
        news = now.news_since(before, look)
        if news is not None:
            say_fields(tx, task_id, CONDUCTOR, news)
        return news is not None


def foreseen(store: Store, plan_id: str) -> Mapping[str, Foreseen]:
    """What is foretold of the unfinished tasks of a plan, by task; nothing of those that meet nobody."""
    with store.read() as tx:
        return foreseen_in(tx, plan_id)


def foreseen_in(tx: Tx, plan_id: str) -> Mapping[str, Foreseen]:
    found = _folded(tx.all(Messages.forecasts_of_plan, plan_id=plan_id))
    return {task_id: now for task_id, now in found.items() if now.others}


def _folded(rows: Iterable[ForecastRow]) -> dict[str, Foreseen]:
    found: dict[str, Foreseen] = {}
    for row in rows:
        if row.said is not None:
            found[row.task_id] = found.get(row.task_id, _NOTHING).after(row.said)
    return found
