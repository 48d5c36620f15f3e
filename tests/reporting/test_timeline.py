"""One line of time over messages, changes of state and journals."""

from musician import service
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.journal import JUDGED_BY_PERSON, Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import State
from musician.reporting.timeline import MOST_DECISIONS, decisions, happenings
from musician.service.following import Source
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import evidence, submission


def test_what_one_second_holds_is_told_in_the_order_it_was_written(store: Store, walk: Walk) -> None:
    """AUDIT-P14, DATA-7: a change stands behind its own message, and no task completes before its approval."""
    walk(store, "task-01", State.COMPLETE)
    assert isinstance(store, SqliteStore)
    for trigger in ("history_fixed", "messages_stay"):
        store.connection.execute(f"DROP TRIGGER {trigger}")
    store.connection.execute("UPDATE history SET at = '2026-01-01 00:00:00'")
    store.connection.execute("UPDATE orchestration_messages SET timestamp = '2026-01-01 00:00:00'")
    told = [each.what for each in happenings(store).happenings if each.source is not Source.JOURNAL]
    assert told == [
        "instruction",
        "new → watching",
        "watching → working",
        "completion",
        "working → needs_review",
        "approval",
        "needs_review → review_approved",
        "completed",
        "review_approved → complete",
    ]


def test_of_a_long_life_the_newest_is_told_and_what_is_left_out_is_said(store: Store, walk: Walk) -> None:
    """AUDIT-P24."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    for number in range(1, 6):
        service.record(store, claim, Entry(kind=EntryKind.NOTE, text=f"note {number}"))
    whole = happenings(store)
    assert whole.left_out == 0
    few = happenings(store, most=3)
    assert few.happenings == whole.happenings[-3:]
    assert few.left_out == len(whole.happenings) - 3


def test_what_a_person_was_asked_and_has_settled_is_told(store: Store, walk: Walk) -> None:
    """DATA-7."""
    walk(store, "task-01", State.WORKING)
    service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
    service.resolve_asks(store, "task-01", "yes")
    told = [(each.what, each.text) for each in happenings(store, most=2).happenings]
    assert told == [("needs a person", "question: may I?"), ("settled", "yes")]


def test_whoever_has_decided_is_named(store: Store, walk: Walk) -> None:
    """DASHBOARD-ORDERS: a person by name, the session that speaks for one, an agent that was asked, or the rules."""
    ada = service.signed(store, service.Signer(name="ada"))
    session = service.signed(store, service.Signer(name="ada", session_id="4f2a"))
    for task_id in ("task-01", "task-02", "task-03", "task-04", "task-05"):
        walk(store, task_id, State.NEEDS_REVIEW, session_id=f"of-{task_id}")
    service.judge_as_person(ada, "task-01", State.REVIEW_FAILED, "no")
    service.judge_as_person(session, "task-02", State.REVIEW_APPROVED)
    asked = service.task_view(store, "task-03").history[-1].message_id
    service.keep_opinion(store, "task-03", asked or 0, Opinion(judgement=Judgement.APPROVE, text="fine"))
    service.judge(store, "task-03", State.REVIEW_APPROVED, "well done")
    service.judge(store, "task-04", State.REVIEW_FAILED, "it is rough")
    service.judge_as_person(store, "task-05", State.REVIEW_FAILED, "of a program that signed nothing")
    service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
    service.send(ada, "task-01", "yes")
    service.ask_human(store, "task-01", kind="question", subject_id=2, text="and this?")
    service.resolve_asks(store, "task-01", "tried again by the next run")
    told = [(each.task_id, each.who) for each in decisions(store).happenings]
    assert told == [
        ("task-01", "ada"),
        ("task-02", "session 4f2a for ada"),
        ("task-03", "the reviewing agent"),
        ("task-04", "the rules"),
        ("task-05", "a person"),
        ("task-01", "ada"),
        ("task-01", "the program"),
    ]
    verdict = next(each for each in happenings(store).happenings if each.task_id == "task-02" and each.by)
    assert verdict.shown_who == "task-00 (session 4f2a for ada)"


def test_a_question_that_is_settled_again_keeps_who_settled_it_before_and_how(
    store: Store, walk: Walk
) -> None:
    """DASHBOARD-ORDERS: also if a raw writer comes between, and while it is open again."""
    ada, bob = (service.signed(store, service.Signer(name=name)) for name in ("ada", "bob"))
    walk(store, "task-01", State.WORKING)

    def asked_again() -> list[tuple[str, str]]:
        service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
        return [(each.who, each.text) for each in decisions(store).happenings]

    asked_again()
    service.send(ada, "task-01", "yes")
    assert asked_again() == [("ada", "answered: yes")]
    service.send(bob, "task-01", "no")
    asked_again()
    assert isinstance(store, SqliteStore)
    store.connection.execute(
        "UPDATE needs_human SET resolved_at = datetime('now'), resolution = 'raw' WHERE resolved_at IS NULL"
    )
    asked_again()
    service.send(ada, "task-01", "yes, after all")
    told = [(each.who, each.text) for each in decisions(store).happenings]
    assert told == [
        ("ada", "answered: yes"),
        ("bob", "answered: no"),
        ("the program", "raw"),
        ("ada", "answered: yes, after all"),
    ]
    settled = [(each.by, each.text) for each in happenings(store).happenings if each.what == "settled"]
    assert settled == [(who.replace("the program", ""), text) for who, text in told]


def test_what_a_session_notes_makes_no_verdict_a_persons(store: Store, walk: Walk) -> None:
    """DASHBOARD-ORDERS: what the verdict itself has tied to it counts, not what stands before it."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.NOTE, text=JUDGED_BY_PERSON))
    service.submit(store, claim, submission(MessageType.COMPLETION, "TASK COMPLETE"), verified=evidence())
    service.judge(store, "task-01", State.REVIEW_FAILED, "it is rough")
    assert [each.who for each in decisions(store).happenings] == ["the rules"]


def test_all_decisions_are_reached_page_by_page(store: Store, walk: Walk) -> None:
    """DASHBOARD-ORDERS: however many lie between, and nothing is told twice."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    for number in range(MOST_DECISIONS + 50):
        service.ask_human(store, "task-01", kind="question", subject_id=number, text="may I?")
        service.resolve_asks(store, "task-01", f"answer {number}")
        service.record(store, claim, *(Entry(kind=EntryKind.NOTE, text="x") for _ in range(10)))
    found: list[str] = []
    until: int | None = None
    pages = 0
    while pages == 0 or until is not None:
        page = decisions(store, until=until)
        found = [*(each.text for each in page.happenings), *found]
        until, pages = page.earlier, pages + 1
    assert found == [f"answer {number}" for number in range(MOST_DECISIONS + 50)]
    assert pages > 1
