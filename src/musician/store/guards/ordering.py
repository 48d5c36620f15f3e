"""Triggers that give every row its place in the one order of what happened.

Theory. The place is given in the statement that writes the row, so it is committed with it or not at all, and programs
that know nothing of the order, the release before and the ``sqlite3`` shell, keep it as well. SQLite lets one writer in
at a time: places are in the order of the commits, and within one in the order of the writing. They are the table's row
ids, of which none is ever free again: nothing is deleted, and nobody else may name one.

A question that is settled may be asked again, in the same row. So how it was settled is kept beside the place.

A claim that ends or goes on under its next epoch, fenced or rebound, changes no state and has no row of its own. It has
a place all the same: whoever follows a task learns of it where everything else is learnt.
"""

from collections.abc import Iterator

from musician.store.guards.guard import Guard, refuse, write

_SETTLES = "OLD.resolved_at IS NULL AND NEW.resolved_at IS NOT NULL"
_ASKS_AGAIN = "OLD.resolved_at IS NOT NULL AND NEW.resolved_at IS NULL"
_DECIDES = "OLD.status = 'open' AND NEW.status <> 'open'"
_CLAIM_MOVES = (  # an ordinary claim has a history row with the same epoch
    "NEW.claim_epoch <> OLD.claim_epoch AND NEW.state = OLD.state AND NEW.claim_epoch IS DISTINCT FROM"
    " (SELECT claim_epoch FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1)"
)


def ordering_guards() -> Iterator[Guard]:
    for source, event, when, row in (
        ("message", "INSERT ON orchestration_messages", "TRUE", "id"),
        ("state", "INSERT ON history", "TRUE", "id"),
        ("journal", "INSERT ON journal", "TRUE", "id"),
        ("usage", "INSERT ON usage", "TRUE", "id"),
        ("asked", "INSERT ON needs_human", "TRUE", "id"),
        ("settled", "UPDATE OF resolved_at ON needs_human", _SETTLES, "id"),
        ("asked_again", "UPDATE OF resolved_at ON needs_human", _ASKS_AGAIN, "id"),
        ("decided", "UPDATE OF status ON proposals", _DECIDES, "id"),
        ("claim", "UPDATE OF claim_epoch ON orchestration_tasks", _CLAIM_MOVES, "claim_epoch"),
    ):
        yield write(
            f"changes_{source}",
            f"AFTER {event}",
            when,
            "INSERT INTO changes (task_id, source, id)"
            f" VALUES (NEW.task_id, '{source.removesuffix('_again')}', NEW.{row})",
        )
    yield write(
        "settlements_kept",
        "AFTER INSERT ON changes",
        "NEW.source = 'settled'",
        "INSERT INTO settlements (seq, task_id, resolution, at)"
        " SELECT NEW.seq, NEW.task_id, coalesce(resolution, ''), resolved_at FROM needs_human"
        " WHERE id = NEW.id AND resolved_at IS NOT NULL",
    )
    reason = "the order of what happened is written by the database"
    yield refuse(
        "changes_counted", "BEFORE INSERT ON changes", "is_given(NEW.seq)", reason
    )  # -1: none is given
    yield refuse("changes_fixed", "BEFORE UPDATE ON changes", "TRUE", reason)
    yield refuse("changes_stay", "BEFORE DELETE ON changes", "TRUE", reason)
