"""Databases with tasks in a known state, for benchmarks to play with."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.sqlite.store import SqliteStore

__all__ = [
    "SETTINGS",
    "claim_of",
    "claim_task",
    "fresh",
    "judge",
    "judge_raw",
    "play_task",
    "review",
    "scratch",
    "task_ids",
]

SETTINGS = Settings()

SUBMISSION = """\
Checkpoint: 1 of 2
Context Usage: 31%
Summary: the greeting works, its test passes
Files Modified: 2
Tests: 12 passed
"""
"""About as long as a real one."""

_RESULT = json.dumps({"passed": True, "commands": [{"command": "true", "exit_code": 0}]})


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of its own, on the disk that TMPDIR names."""
    with TemporaryDirectory(prefix="musician-benchmark-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def task_ids(count: int) -> list[str]:
    return [f"task-{number:03d}" for number in range(1, count + 1)]


def fresh(path: Path, tasks: list[str]) -> SqliteStore:
    """A new database in which ``tasks`` wait for their first claim."""
    store = SqliteStore.create(path)
    for task_id in tasks:
        service.open_task(store, task_id, title="a benchmark's task", instruction_path=f"docs/{task_id}.md")
    return store


def claim_of(task_id: str) -> Claim:
    """The first claim of a task."""
    return Claim(task_id=task_id, session_id=f"session-of-{task_id}", epoch=1)


def claim_task(store: SqliteStore, task_id: str) -> None:
    service.claim(store, task_id, claim_of(task_id).session_id, settings=SETTINGS)


def review(store: SqliteStore, task_id: str) -> int:
    """A verification stored, and the submission it stands for; the submission's message id."""
    claim = claim_of(task_id)
    verified = Verified(
        checkpoint=1, covers_all=False, outcome=Verification.GREEN, tree_id="0" * 40, result=_RESULT
    )
    return service.submit(store, claim, ReviewRequest.parse(SUBMISSION), verified=verified)


def judge(store: SqliteStore, task_id: str) -> int:
    """The verdict's message id."""
    return service.judge(store, task_id, State.REVIEW_APPROVED, "REVIEW APPROVED: go on")


def judge_raw(store: SqliteStore, task_id: str) -> int:
    """The same by plain SQL, which rings nobody."""
    for statement in (
        "BEGIN IMMEDIATE",
        (
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
            " VALUES (:task_id, 'task-00', 'approval', 'REVIEW APPROVED: go on')"
        ),
        "UPDATE orchestration_tasks SET state = 'review_approved' WHERE task_id = :task_id",
        "COMMIT",
    ):
        store.connection.execute(statement, {"task_id": task_id})
    return int(store.connection.execute("SELECT max(id) FROM orchestration_messages").get)


def play_task(store: SqliteStore, task_id: str) -> None:
    """From its claim to its completion."""
    claim_task(store, task_id)
    claim = claim_of(task_id)
    service.ask(store, claim, "Which one?", Entry(kind=EntryKind.QUESTION, text="Which one?"))
    service.send(store, task_id, "The left one.")
    verified = Verified(
        checkpoint=1, covers_all=True, outcome=Verification.GREEN, tree_id="0" * 40, result="{}"
    )
    service.submit(
        store,
        claim,
        Completion.parse(f"TASK COMPLETE (Smoothness: 1/9):\n{SUBMISSION.replace('1 of 2', '2 of 2')}"),
        verified=verified,
    )
    service.judge(store, task_id, State.REVIEW_APPROVED, "Approved.")
    service.complete(store, claim, report_path="docs/r.md", report="done", notice="COMPLETED")
