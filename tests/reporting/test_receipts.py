"""What is said of a message is what the database holds of it, and never "stored" of what nobody is still to read."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.receipts import Mark, marks_of
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import farewell

MOST = 50
WAITS = "stored, not delivered yet"
GONE = "never delivered: the session it was for has ended"
OVER = "never delivered: the task is over"


def marks(store: Store) -> dict[str, Mark]:
    """By what was said."""
    found = marks_of(store, service.task_view(store, "task-01"), most=MOST)
    return {
        each.message: found[each.id] for each in service.messages_of(store, "task-01") if each.id in found
    }


def leave(store: Store, claim: Claim) -> None:
    service.exit_task(store, claim, farewell("asked", path="h"), handoff="next: all")
    service.hand_over(store, claim.task_id, "go on where it stopped")


def succeed(store: Store, *, name: str = "s2", looks_back: bool = True) -> Claim:
    claim = service.claim(store, "task-01", name, settings=Settings()).claim
    if looks_back:
        service.record(store, claim, Entry(kind=EntryKind.CLAIMED))
    return claim


def read(store: Store, claim: Claim, *, ack: bool) -> None:
    ids = tuple(each.id for each in service.unread(store, "task-01"))
    service.deliver(store, claim, ids)
    if ack:
        service.acknowledge(store, claim, ids[-1])


def verdict(verdict: State) -> Callable[[Store, Walk], Claim]:
    def give(store: Store, walk: Walk) -> Claim:
        claim = walk(store, "task-01", verdict)
        assert claim is not None
        return claim

    return give


def say(
    text: str, how: Callable[[Store, str], object], state: State = State.WORKING
) -> Callable[[Store, Walk], Claim]:
    def give(store: Store, walk: Walk) -> Claim:
        claim = walk(store, "task-01", state)
        assert claim is not None
        how(store, text)
        return claim

    return give


@dataclass(frozen=True, kw_only=True)
class Case:
    """A word, and what is said of it once its session has ended, and once the next has looked back."""

    text: str
    give: Callable[[Store, Walk], Claim]
    left: str
    succeeded: str


CASES = {
    "approval": Case(
        text="so be it",
        give=verdict(State.REVIEW_APPROVED),
        left="its session has ended: the next one is handed it",
        succeeded="handed to the next session, musician-task-01-S2,",
    ),
    "rejection": Case(
        text="so be it",
        give=verdict(State.REVIEW_FAILED),
        left="its session has ended: the next one is handed it",
        succeeded="handed to the next session, musician-task-01-S2,",
    ),
    "proposed fix": Case(text="so be it", give=verdict(State.FIX_PROPOSED), left=WAITS, succeeded=WAITS),
    "answer to an error": Case(
        text="cure it",
        give=say(
            "cure it",
            lambda store, text: service.judge(store, "task-01", State.REVIEW_FAILED, text),
            State.ERROR,
        ),
        left=GONE,
        succeeded=GONE,
    ),
    "note": Case(
        text="look up",
        give=say("look up", lambda store, text: service.send(store, "task-01", text)),
        left=WAITS,
        succeeded=WAITS,
    ),
    "emergency": Case(
        text="look up",
        give=say("look up", lambda store, text: service.send(store, "task-01", text, urgent=True)),
        left=WAITS,
        succeeded=WAITS,
    ),
    "exit request": Case(
        text="leave",
        give=say("leave", lambda store, text: service.request_exit(store, "task-01", text, urgent=True)),
        left=GONE,
        succeeded=GONE,
    ),
    "pause": Case(
        text="for task-02",
        give=say("for task-02", lambda store, text: service.pause(store, "task-01", text)),
        left=GONE,
        succeeded=GONE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_became_of_a_word_is_true_before_and_after_its_session_has_ended(
    store: Store, walk: Walk, name: str
) -> None:
    """RECEIPTS-TRUE"""
    case = CASES[name]
    claim = case.give(store, walk)
    assert marks(store)[case.text] == Mark(text=WAITS, is_waiting=True)
    leave(store, claim)
    assert marks(store)[case.text].text == case.left
    succeed(store)
    assert marks(store)[case.text].text == case.succeeded
    waiting = {text for text, mark in marks(store).items() if mark.is_waiting}
    assert waiting == {each.message for each in service.unread(store, "task-01")}


@pytest.mark.parametrize("name", CASES)
def test_what_its_session_has_read_is_said_to_be_read_for_ever(store: Store, walk: Walk, name: str) -> None:
    """RECEIPTS-TRUE"""
    case = CASES[name]
    claim = case.give(store, walk)
    read(store, claim, ack=True)
    assert marks(store)[case.text].text == "acknowledged"
    leave(store, claim)
    succeed(store)
    assert marks(store)[case.text].text == "acknowledged"
    assert marks(store)[case.text].shown.endswith(" UTC")


@pytest.mark.parametrize("name", CASES)
def test_what_a_session_got_and_took_with_it_is_not_said_to_have_reached_the_next(
    store: Store, walk: Walk, name: str
) -> None:
    """RECEIPTS-TRUE: delivered to a session that has ended, and never acknowledged."""
    case = CASES[name]
    claim = case.give(store, walk)
    read(store, claim, ack=False)
    assert marks(store)[case.text].text == "delivered"
    leave(store, claim)
    heir = succeed(store)
    mark = marks(store)[case.text]
    if case.left == WAITS:
        assert mark.text == "delivered to musician-task-01, which has ended; the next session is given it"
        assert mark.is_waiting
        read(store, heir, ack=False)
        mark = marks(store)[case.text]
    assert (mark.text, mark.is_waiting) == ("delivered", False)


def test_a_verdict_is_handed_only_to_who_has_looked_back(store: Store, walk: Walk) -> None:
    """RECEIPTS-TRUE: a session that dies at once has taken nothing up."""
    claim = walk(store, "task-01", State.REVIEW_FAILED)
    assert claim is not None
    leave(store, claim)
    leave(store, succeed(store, looks_back=False))
    assert marks(store)["so be it"].text == "its session has ended: the next one is handed it"
    succeed(store, name="s3")
    assert marks(store)["so be it"].text == "handed to the next session, musician-task-01-S3,"


def test_a_verdict_of_before_a_task_was_started_over_is_handed_to_nobody(store: Store, walk: Walk) -> None:
    """RECEIPTS-TRUE"""
    claim = walk(store, "task-01", State.REVIEW_FAILED)
    assert claim is not None
    service.exit_task(store, claim, farewell("asked", path="h"), handoff="next: all")
    service.retry(store, "task-01", "once more", from_start=True)
    succeed(store)
    assert marks(store)["so be it"].text == GONE


@pytest.mark.parametrize("name", ["note", "approval"])
def test_nobody_is_said_to_wait_for_a_word_once_the_task_is_over(store: Store, walk: Walk, name: str) -> None:
    """RECEIPTS-TRUE"""
    case = CASES[name]
    claim = case.give(store, walk)
    service.exit_task(store, claim, farewell("asked", path="h"), handoff="next: all")
    service.skip(store, "task-01", "nobody wants it")
    assert marks(store)[case.text] == Mark(text=OVER)
    assert not [text for text, mark in marks(store).items() if mark.is_waiting]


def test_the_owner_s_own_words_have_no_mark(store: Store, walk: Walk) -> None:
    """RECEIPTS-TRUE"""
    walk(store, "task-01", State.NEEDS_REVIEW)
    assert isinstance(store, SqliteStore)
    assert len(service.messages_of(store, "task-01")) > len(marks(store)) == 1
