"""Every SQL statement that the sources print runs on a fresh database and does what it says there.

The statements are the sources' own text; ``{session_id}`` and ``{NN}`` are the placeholders they use.
"""

import pytest

from musician import service
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.types import ClaimBlockedNotice
from musician.protocol.states import State
from musician.store.port import Store
from tests import printed as printed_messages
from tests.conftest import GrowOld, Walk
from tests.store.sqlite.conftest import Raw


def _said(message_type: str, text: str) -> str:
    """A message's statement, as it is printed for every kind."""
    return (
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)\n"
        f"VALUES ('task-{{NN}}', '{{session_id}}', '{message_type}',\n    '{text}');"
    )


CLAIM = """UPDATE orchestration_tasks
SET state = 'working',
    session_id = '{session_id}',
    worked_by = 'musician-task-03',
    started_at = datetime('now'),
    last_heartbeat = datetime('now'),
    retry_count = 0
WHERE task_id = 'task-03'
  AND state IN ('watching', 'fix_proposed', 'exit_requested');"""

FALLBACK = """INSERT INTO orchestration_tasks (task_id, state, session_id, last_heartbeat)
VALUES ('fallback-{session_id}', 'exited', '{session_id}', datetime('now'));"""

BLOCKED_NOTICE = """INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
VALUES ('task-03', '{session_id}', 'claim_blocked',
    'CLAIM BLOCKED: Guard prevented claim on task-03 (state was not claimable).
     Created fallback row to exit cleanly. Conductor intervention needed.');"""

SHORT_BLOCKED_NOTICE = """INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
VALUES ('task-{NN}', '{session_id}', 'claim_blocked',
    'CLAIM BLOCKED: Guard prevented claim on task-{NN}. Conductor intervention needed.');"""

FIRST_MESSAGE = """SELECT message FROM orchestration_messages
WHERE task_id = 'task-03' AND from_session = 'task-00'
ORDER BY timestamp ASC LIMIT 1;"""

INSTRUCTION = """SELECT message FROM orchestration_messages
WHERE task_id = 'task-{NN}' AND from_session = 'task-00'
  AND message_type = 'instruction'
ORDER BY timestamp ASC LIMIT 1;"""

HEARTBEAT = """UPDATE orchestration_tasks
SET last_heartbeat = datetime('now')
WHERE task_id = 'task-03';"""

NEW_MESSAGES = """SELECT id, message, timestamp FROM orchestration_messages
WHERE task_id = 'task-03'
  AND from_session = 'task-00'
  AND id > {last_processed_message_id}
ORDER BY id;"""

STATE = """SELECT state FROM orchestration_tasks
WHERE task_id = 'task-03';"""

CONDUCTOR_HEARTBEAT = "SELECT last_heartbeat FROM orchestration_tasks WHERE task_id = 'task-00'"

REVIEW = """UPDATE orchestration_tasks
SET state = 'needs_review', last_heartbeat = datetime('now')
WHERE task_id = 'task-{NN}';"""

REVIEW_MESSAGE = _said("review_request", printed_messages.REVIEW_REQUEST_TEMPLATE)

WARNING = """UPDATE orchestration_tasks
SET state = 'error', last_heartbeat = datetime('now'),
    last_error = 'context_exhaustion_warning'
WHERE task_id = 'task-{NN}';"""

WARNING_MESSAGE = _said("context_warning", printed_messages.CONTEXT_WARNING_TEMPLATE)

ERROR = """UPDATE orchestration_tasks
SET state = 'error', last_heartbeat = datetime('now'),
    retry_count = retry_count + 1,
    last_error = 'error description'
WHERE task_id = 'task-{NN}';"""

ERROR_MESSAGE = _said("error", printed_messages.ERROR_TEMPLATE)

COMPLETION_MESSAGE = _said("completion", printed_messages.COMPLETION_TEMPLATE)

COMPLETE = """UPDATE orchestration_tasks
SET state = 'complete', last_heartbeat = datetime('now'),
    completed_at = datetime('now'),
    report_path = 'path/to/completion-report.md'
WHERE task_id = 'task-{NN}';"""

EXIT_MESSAGE = """INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
VALUES ('task-{NN}', '{session_id}', 'handoff',
    'EXITED: Context exhaustion, clean handoff prepared.
     HANDOFF: temp/task-{NN}-HANDOFF
     Context Usage: XX%
     Last Completed Step: N
     Remaining Steps: list');"""

EXIT = """UPDATE orchestration_tasks
SET state = 'exited', last_heartbeat = datetime('now')
WHERE task_id = 'task-{NN}';"""

SIBLINGS = """SELECT task_id, state, last_heartbeat
FROM orchestration_tasks
WHERE task_id != 'task-00' AND task_id != 'task-{NN}'
ORDER BY task_id;"""

CONDUCTOR_HEALTH = """SELECT state, last_heartbeat,
       (julianday('now') - julianday(last_heartbeat)) * 86400 as seconds_stale
FROM orchestration_tasks
WHERE task_id = 'task-00';"""


def printed(sql: str, session_id: str = "5f2c-a", **other: str) -> str:
    for name, value in {"session_id": session_id, "NN": "03", **other}.items():
        sql = sql.replace("{" + name + "}", value)
    return sql


@pytest.fixture
def working(raw: Raw, store: Store, walk: Walk) -> Raw:
    """``task-03``, claimed by the printed claim."""
    walk(store, "task-03", State.WATCHING)
    assert raw(printed(CLAIM)) == 1
    return raw


def test_the_claim_takes_the_task_once(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-03", State.WATCHING)
    assert raw(printed(CLAIM)) == 1
    assert raw(printed(CLAIM, "5f2c-b")) == 0
    assert raw(printed(CLAIM)) == 0
    row = service.task_row(store, "task-03")
    assert (row.state, row.session_id, row.worked_by) == (State.WORKING, "5f2c-a", "musician-task-03")
    assert row.started_at is not None
    assert row.last_heartbeat is not None


@pytest.mark.parametrize("state", [state for state in State if state is not State.WATCHING])
def test_the_claim_is_blocked_wherever_somebody_lives_or_nothing_is_open(
    raw: Raw, store: Store, walk: Walk, state: State
) -> None:
    walk(store, "task-03", state)
    before = service.task_row(store, "task-03")
    assert raw(printed(CLAIM)) == 0
    after = service.task_row(store, "task-03")
    assert (after.state, after.session_id, after.claim_epoch) == (
        before.state,
        before.session_id,
        before.claim_epoch,
    )


def test_the_fallback_always_succeeds(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-03", State.WORKING)
    raw(printed(FALLBACK))
    raw(printed(FALLBACK))
    for notice in (BLOCKED_NOTICE, SHORT_BLOCKED_NOTICE):
        assert raw(printed(notice)) == 1
        said = service.messages_of(store, "task-03")[-1]
        assert said.message_type == "claim_blocked"
        assert ClaimBlockedNotice.parse(said.message).task_id == "task-03"
    assert raw.ask("SELECT task_id, state FROM orchestration_tasks WHERE session_id = '5f2c-a'") == [
        ("fallback-5f2c-a", "exited")
    ]


def test_the_instruction_is_found_and_it_is_the_current_one(raw: Raw, store: Store, walk: Walk) -> None:
    """D4: oldest first finds the newest, because the older one is retyped, at the same second too (B26)."""
    walk(store, "task-03", State.WATCHING)
    walk(store, "task-10", State.WATCHING)
    for query in (FIRST_MESSAGE, INSTRUCTION):
        assert raw.ask(printed(query)) == [("docs/tasks/task-03.md",)]
    raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message) VALUES"
        " ('task-03', 'task-00', 'instruction', 'docs/tasks/old.md'),"
        " ('task-03', 'task-00', 'emergency', 'A'),"
        " ('task-03', 'task-00', 'instruction', 'docs/tasks/new.md')"
    )
    assert raw.ask(printed(INSTRUCTION)) == [("docs/tasks/new.md",)]
    assert raw.ask(printed(INSTRUCTION, NN="10")) == [("docs/tasks/task-10.md",)]


def test_the_heartbeat_shows_that_the_session_lives(working: Raw, store: Store, grow_old: GrowOld) -> None:
    grow_old(store, "task-03", 500)
    assert working(printed(HEARTBEAT)) == 1
    age = service.task_row(store, "task-03").heartbeat_age_s
    assert age is not None
    assert age < 60


def test_new_messages_come_once_each_by_id(raw: Raw, store: Store, walk: Walk) -> None:
    """B26: timestamps out of step, deleted ids never used again."""
    walk(store, "task-03", State.WATCHING)
    raw(
        "INSERT INTO orchestration_messages(id,task_id,from_session,message_type,message,timestamp) VALUES"
        " (201,'task-03','task-00','instruction','docs/tasks/old.md','2026-02-07 10:00:00'),"
        " (202,'task-03','task-00','instruction','docs/tasks/new.md','2026-02-07 10:00:00'),"
        " (203,'task-03','task-00','emergency','A','2026-02-07 10:00:00'),"
        " (204,'task-03','task-00','emergency','B','2026-02-07 09:59:59'),"
        " (205,'task-03','task-00','emergency','C','2026-02-07 10:00:00')"
    )
    assert [row[:2] for row in raw.ask(printed(NEW_MESSAGES, last_processed_message_id="203"))] == [
        (204, "B"),
        (205, "C"),
    ]
    assert raw.ask(printed(INSTRUCTION)) == [("docs/tasks/new.md",)]
    raw("DELETE FROM orchestration_messages")
    service.send(store, "task-03", "after the flood")
    assert [row[:2] for row in raw.ask(printed(NEW_MESSAGES, last_processed_message_id="205"))] == [
        (206, "after the flood")
    ]


def test_the_pause_watcher_sees_the_verdict(working: Raw, store: Store) -> None:
    working(printed(REVIEW))
    working(printed(REVIEW_MESSAGE))
    assert working.ask(STATE) == [("needs_review",)]
    service.judge(store, "task-03", State.REVIEW_FAILED, "once more")
    assert working.ask(STATE) == [("review_failed",)]


def test_the_review_request_is_a_whole_submission(working: Raw, store: Store) -> None:
    assert working(printed(REVIEW)) == 1
    assert working(printed(REVIEW_MESSAGE)) == 1
    assert working.last_change("task-03") == (
        "working",
        "needs_review",
        "5f2c-a",
        "5f2c-a",
        "review_request",
        None,
    )
    submission = service.task_view(store, "task-03").submissions[-1]
    assert "Checkpoint: N of M" in (submission.message or "")
    assert service.judge(store, "task-03", State.REVIEW_APPROVED, "good", submission_id=submission.message_id)


@pytest.mark.parametrize(
    ("update", "message", "message_type", "last_error", "retries"),
    [
        (WARNING, WARNING_MESSAGE, MessageType.CONTEXT_WARNING, "context_exhaustion_warning", 0),
        (ERROR, ERROR_MESSAGE, MessageType.ERROR, "error description", 1),
    ],
)
def test_warnings_and_errors_wait_for_an_answer(
    working: Raw,
    store: Store,
    update: str,
    message: str,
    message_type: MessageType,
    last_error: str,
    retries: int,
) -> None:
    assert working(printed(update)) == 1
    assert working(printed(message)) == 1
    row = service.task_row(store, "task-03")
    assert (row.state, row.last_error, row.retry_count) == (State.ERROR, last_error, retries)
    assert working.last_change("task-03")[4] == message_type
    service.judge(store, "task-03", State.FIX_PROPOSED, "try this")
    assert service.task_row(store, "task-03").session_id == "5f2c-a"


def test_a_task_is_completed_after_its_approval_and_not_before(working: Raw, store: Store) -> None:
    working(printed(REVIEW))
    working(printed(COMPLETION_MESSAGE))
    with pytest.raises(Exception, match="from needs_review a task may only become"):
        working(printed(COMPLETE))
    service.judge(store, "task-03", State.REVIEW_APPROVED, "well done")
    assert working(printed(COMPLETE)) == 1
    row = service.task_row(store, "task-03")
    assert (row.state, row.report_path) == (State.COMPLETE, "path/to/completion-report.md")
    assert row.completed_at is not None
    assert working(printed(COMPLETE)) == 0
    assert working(printed(HEARTBEAT)) == 0
    assert working(printed(CLAIM, "5f2c-b")) == 0


def test_a_clean_exit_says_its_message_first(working: Raw, store: Store) -> None:
    assert working(printed(EXIT_MESSAGE)) == 1
    assert working(printed(EXIT)) == 1
    assert working.last_change("task-03") == ("working", "exited", "5f2c-a", "5f2c-a", "handoff", None)
    assert service.task_view(store, "task-03").sessions[0].ended_at is not None
    service.reopen(store, "task-03", "go on at step 2")
    assert working(printed(CLAIM, "5f2c-b")) == 1


def test_siblings_are_every_other_row_but_the_conductors(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-03", State.WORKING)
    walk(store, "task-04", State.ERROR)
    raw("INSERT INTO orchestration_tasks (task_id, state, session_id) VALUES ('task-00', 'working', 'c')")
    assert [row[:2] for row in raw.ask(printed(SIBLINGS))] == [("task-04", "error")]


def test_the_conductors_health_is_its_state_and_age(raw: Raw, store: Store) -> None:
    raw(
        "INSERT INTO orchestration_tasks (task_id, state, session_id, last_heartbeat)"
        " VALUES ('task-00', 'working', 'c', datetime('now', '-600 seconds'))"
    )
    [(state, heartbeat, stale_s)] = raw.ask(CONDUCTOR_HEALTH)
    assert state == "working"
    assert raw.ask(CONDUCTOR_HEARTBEAT) == [(heartbeat,)]
    assert isinstance(stale_s, float)
    assert 599 < stale_s < 660
