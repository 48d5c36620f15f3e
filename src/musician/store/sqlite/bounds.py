"""Triggers that keep values within what everybody can go on from: ids, epochs, text (D39).

Theory. One row with the greatest id there is ends a table that counts its ids, one epoch of that size ends a task,
and one byte that is no text stops whoever reads it. So ids rise, and never far at once: what comes after the last
acknowledged message is unread, whoever wrote it (D12). An epoch grows by one. Text is UTF-8 as far as SQLite can
tell: it reads what is none as U+FFFD, which is refused unless it was written so; the few broken sequences that it
takes for another character pass, and readers bear them.
"""
# ruff: noqa: S608 - generated from constants

from collections.abc import Iterator

from musician.protocol.names import CONDUCTOR
from musician.store.sqlite.triggers import abort

COUNTED = (
    "orchestration_messages",
    "history",
    "journal",
    "documents",
    "proposals",
    "verifications",
    "needs_human",
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
}
"""What raw writers write; everything else comes from the program."""

_MOST_RETRIES = 1_000_000
_WIDEST_GAP = 1_000_000
"""Between two ids, for who names one: the last there is stays out of reach."""


def bounding_triggers() -> Iterator[str]:
    """Every trigger, as one CREATE TRIGGER statement each."""
    for table in COUNTED:
        last = f"coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{table}'), 0)"
        yield abort(  # where no id is given, a trigger sees -1
            f"{table}_counts",
            f"BEFORE INSERT ON {table}",
            f"NEW.id <> -1 AND NEW.id NOT BETWEEN {last} + 1 AND {last} + {_WIDEST_GAP}",
            "ids are given by the database and only rise, leave it out",
        )
    yield from _epochs()
    yield from _retries()
    for table, columns in _TEXTS.items():
        wrong = " OR ".join(_is_no_text(f"NEW.{column}") for column in columns)
        reason = "this is no text in UTF-8"
        yield abort(f"{table}_begin_as_text", f"BEFORE INSERT ON {table}", wrong, reason)
        yield abort(f"{table}_stay_text", f"BEFORE UPDATE OF {', '.join(columns)} ON {table}", wrong, reason)


def _epochs() -> Iterator[str]:
    yield abort(
        "tasks_epoch_grows",
        "BEFORE UPDATE OF claim_epoch ON orchestration_tasks",
        "NEW.claim_epoch NOT BETWEEN OLD.claim_epoch AND OLD.claim_epoch + 1",
        "a claim epoch only grows, by one with every claim",
    )
    yield abort(
        "conductor_epoch_begins",
        "BEFORE INSERT ON orchestration_tasks",
        f"NEW.task_id = '{CONDUCTOR}' AND NEW.claim_epoch NOT IN (0, 1)",
        "a claim epoch only grows, by one with every claim",
    )
    yield abort(
        "sessions_bounded",
        "BEFORE INSERT ON sessions",
        "NOT EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id"
        " AND NEW.claim_epoch BETWEEN claim_epoch AND claim_epoch + 1)",
        "a session belongs to a claim of its task",
    )


def _retries() -> Iterator[str]:
    within = " AND ".join(
        f"typeof(NEW.{column}) = 'integer' AND NEW.{column} BETWEEN 0 AND {_MOST_RETRIES}"
        for column in ("retry_count", "retry_limit")
    )
    for name, event in (
        ("tasks_retries_begin", "BEFORE INSERT ON orchestration_tasks"),
        ("tasks_retries_bounded", "BEFORE UPDATE OF retry_count, retry_limit ON orchestration_tasks"),
    ):
        yield abort(name, event, f"NOT ({within})", f"retries are counted from 0 to {_MOST_RETRIES}")


def _is_no_text(value: str) -> str:
    """U+FFFD itself is text, and so are the two that SQLite also reads as it."""
    written = f"replace(replace(replace({value}, char(65533), ''), char(65534), ''), char(65535), '')"
    return f"(typeof({value}) NOT IN ('text', 'null') OR {written} GLOB '*' || char(65533) || '*')"
