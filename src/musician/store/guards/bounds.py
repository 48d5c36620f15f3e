"""Triggers that keep values within what everybody can go on from: ids, epochs, text (D39).

Theory. One row with the greatest id there is ends a table that counts its ids, one epoch of that size ends a task,
and one byte that is no text stops whoever reads it. So ids rise, and never far at once: what comes after the last
acknowledged message is unread, whoever wrote it (D12). An epoch grows by one. Text is UTF-8 as far as SQLite can
tell: it reads what is none as U+FFFD, which is refused unless it was written so; the few broken sequences that it
takes for another character pass, and readers bear them.
"""

from collections.abc import Iterator

from musician.protocol.names import CONDUCTOR
from musician.store.guards.guard import Guard, refuse

COUNTED = (
    "orchestration_messages",
    "history",
    "journal",
    "documents",
    "proposals",
    "verifications",
    "needs_human",
    "plan_pauses",
)
"""Tables whose ids the database gives, each greater than every one before."""

_TEXTS = {
    "orchestration_messages": ("task_id", "from_session", "message_type", "message"),
    "orchestration_tasks": (
        "session_id",
        "worked_by",
        "last_error",
        "report_path",
        "instruction_path",
        "title",
    ),
    "plan_pauses": ("plan_id", "who", "reason", "resumed_by"),
}
"""What raw writers write; everything else comes from the program."""

_MOST_RETRIES = 1_000_000
_WIDEST_GAP = 1_000_000
"""Between two ids, for who names one: the last there is stays out of reach."""


def bounding_guards() -> Iterator[Guard]:
    for table in COUNTED:
        last = f"last_id('{table}')"
        yield refuse(
            f"{table}_counts",
            f"BEFORE INSERT ON {table}",
            f"is_given(NEW.id) AND NEW.id NOT BETWEEN {last} + 1 AND {last} + {_WIDEST_GAP}",
            "ids are given by the database and only rise, leave it out",
        )
    yield from _epochs()
    yield from _retries()
    for table, columns in _TEXTS.items():
        wrong = " OR ".join(f"is_no_text(NEW.{column})" for column in columns)
        reason = "this is no text in UTF-8"
        yield refuse(f"{table}_begin_as_text", f"BEFORE INSERT ON {table}", wrong, reason)
        yield refuse(f"{table}_stay_text", f"BEFORE UPDATE OF {', '.join(columns)} ON {table}", wrong, reason)


def _epochs() -> Iterator[Guard]:
    yield refuse(
        "tasks_epoch_grows",
        "BEFORE UPDATE OF claim_epoch ON orchestration_tasks",
        "NEW.claim_epoch NOT BETWEEN OLD.claim_epoch AND OLD.claim_epoch + 1",
        "a claim epoch only grows, by one with every claim",
    )
    yield refuse(
        "conductor_epoch_begins",
        "BEFORE INSERT ON orchestration_tasks",
        f"NEW.task_id = '{CONDUCTOR}' AND NEW.claim_epoch NOT IN (0, 1)",
        "a claim epoch only grows, by one with every claim",
    )
    yield refuse(
        "sessions_bounded",
        "BEFORE INSERT ON sessions",
        "NOT EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id"
        " AND NEW.claim_epoch BETWEEN claim_epoch AND claim_epoch + 1)",
        "a session belongs to a claim of its task",
    )


def _retries() -> Iterator[Guard]:
    within = " AND ".join(
        f"is_integer(NEW.{column}) AND NEW.{column} BETWEEN 0 AND {_MOST_RETRIES}"
        for column in ("retry_count", "retry_limit")
    )
    for name, event in (
        ("tasks_retries_begin", "BEFORE INSERT ON orchestration_tasks"),
        ("tasks_retries_bounded", "BEFORE UPDATE OF retry_count, retry_limit ON orchestration_tasks"),
    ):
        yield refuse(name, event, f"NOT ({within})", f"retries are counted from 0 to {_MOST_RETRIES}")
