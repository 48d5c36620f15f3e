"""What `review show` and a run's end offer as answers is what is accepted, and all of it (D7)."""

import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from musician import service
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import State
from musician.reporting.asks import ANSWERS
from musician.store.opening import open_store
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import report as report_of
from tests.surroundings import Call

Situation = Callable[[Store, Walk, str], object]

TYPED = {"approve": (), "reject": ("no",), "fix": ("so",)}


def reports(kind: MessageType, state: State) -> Situation:
    def report(store: Store, walk: Walk, task_id: str) -> None:
        claim = walk(store, task_id, state)
        assert claim is not None
        service.report(store, claim, report_of(kind, "it stands"), last_error="it broke")

    return report


def is_in(state: State) -> Situation:
    return lambda store, walk, task_id: walk(store, task_id, state)


def submits_by_raw_sql_without_a_message(store: Store, walk: Walk, task_id: str) -> None:
    walk(store, task_id, State.WORKING)
    assert isinstance(store, SqliteStore)
    with sqlite3.connect(store.path) as raw:
        raw.execute("UPDATE orchestration_tasks SET state = 'needs_review' WHERE task_id = ?", (task_id,))
    raw.close()


SITUATIONS = {
    **{state.value: is_in(state) for state in State},
    "failed": reports(MessageType.ERROR, State.WORKING),
    "waited too long": reports(MessageType.ERROR, State.NEEDS_REVIEW),
    "warns of its context": reports(MessageType.CONTEXT_WARNING, State.WORKING),
    "submitted nothing readable": submits_by_raw_sql_without_a_message,
}


@contextmanager
def on_a_copy(musician: Path, aside: Path) -> Iterator[None]:
    """What is written meanwhile is taken back."""
    shutil.copytree(musician, aside)
    try:
        yield
    finally:
        shutil.rmtree(musician)
        aside.rename(musician)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_offered_is_what_is_accepted(
    ready: Path, tmp_path: Path, call: Call, walk: Walk, situation: str
) -> None:
    """D7.3: in every state, of every kind of submission and report."""
    musician = ready / ".musician"
    store = open_store(musician / "comms.db", named=True)
    try:
        SITUATIONS[situation](store, walk, "task-09")
    finally:
        store.close()
    offered = set(call("review", "show", "task-09", "--json").json["verdicts"])
    _, _, answers = call("review", "show", "task-09").out.partition("answer it")
    assert offered == set(re.findall(r"^  musician review (\w+) task-09", answers, re.MULTILINE))
    accepted = set()
    for verb, text in TYPED.items():
        with on_a_copy(musician, tmp_path / "aside"):
            if call("review", verb, "task-09", *text, expect=None).code == 0:
                accepted.add(verb)
    assert offered == accepted


@pytest.mark.parametrize(
    ("kind", "situations"),
    {
        "review": ("needs_review",),
        "error": ("failed",),
        "conflict": ("needs_review", "failed"),
    }.items(),
)
def test_a_question_that_a_verdict_answers_offers_what_is_accepted_wherever_it_is_asked(
    ready: Path, call: Call, walk: Walk, kind: str, situations: tuple[str, ...]
) -> None:
    """D7.3: a run's end, and its events, name them."""
    store = open_store(ready / ".musician" / "comms.db", named=True)
    try:
        accepted = set(TYPED)
        for number, situation in enumerate(situations, start=1):
            task_id = f"task-9{number}"
            SITUATIONS[situation](store, walk, task_id)
            accepted &= set(call("review", "show", task_id, "--json").json["verdicts"])
    finally:
        store.close()
    words = [shlex.split(command) for command, _ in ANSWERS[kind]]
    offered = {each[2] for each in words if each[:2] == ["musician", "review"]} - {"show"}
    assert offered == accepted
