"""What holds for every writer: each pair of states and every detour, by apsw and by the sqlite3 shell (D6)."""

# ruff: noqa: S608 - raw SQL is the point
from typing import Protocol

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, Kind
from musician.protocol.messages.types import MessageType
from musician.protocol.states import State
from musician.store.port import Store

LEGAL = {
    "watching": {"working", "exited"},
    "working": {"needs_review", "error", "exit_requested", "exited", "complete", "fix_proposed"},
    "needs_review": {
        "error",
        "review_approved",
        "review_failed",
        "fix_proposed",
        "exit_requested",
        "exited",
    },
    "review_approved": {"working", "needs_review", "complete", "exit_requested", "exited", "fix_proposed"},
    "review_failed": {"working", "needs_review", "exit_requested", "exited", "fix_proposed"},
    "fix_proposed": {"working", "needs_review", "exit_requested", "exited"},
    "error": {"review_approved", "review_failed", "fix_proposed", "exit_requested", "exited"},
    "exit_requested": {"working", "exited", "fix_proposed"},
    "exited": {"fix_proposed"},
    "complete": set(),
}

ALIVE = "its owner is alive, fence and end it first"
BLOCKED = "blocked: 0 rows"
GUARDED = {
    ("watching", "working"): BLOCKED,  # without a session id
    ("exit_requested", "working"): BLOCKED,  # its owner lives
    ("complete", "complete"): BLOCKED,  # never written again
    ("working", "complete"): "only an approved completion makes a task complete",
    ("working", "fix_proposed"): ALIVE,
    ("review_approved", "fix_proposed"): ALIVE,
    ("review_failed", "fix_proposed"): ALIVE,
    ("exit_requested", "fix_proposed"): ALIVE,
}


class Walk(Protocol):
    def __call__(
        self, store: Store, task_id: str, state: State, *, session_id: str = ...
    ) -> Claim | None: ...


class GrowOld(Protocol):
    def __call__(self, store: Store, task_id: str, seconds: int) -> None: ...


class Raw(Protocol):
    refused: type[Exception]

    def __call__(self, sql: str) -> int: ...
    def rows(self, sql: str) -> list[tuple[object, ...]]: ...
    def value(self, sql: str) -> object: ...
    def everything(self) -> dict[str, list[tuple[object, ...]]]: ...
    def last_change(self, task_id: str) -> tuple[object, ...]: ...


def state_of(raw: Raw, task_id: str) -> object:
    return raw.value(f"SELECT state FROM orchestration_tasks WHERE task_id = '{task_id}'")


def refuses(raw: Raw, sql: str, reason: str) -> None:
    """The statement is refused with this reason, and not one row of the database is another than before."""
    before = raw.everything()
    with pytest.raises(raw.refused, match=reason):
        raw(sql)
    assert raw.everything() == before


def blocks(raw: Raw, sql: str) -> None:
    """The statement changes 0 rows without an error."""
    before = raw.everything()
    assert raw(sql) == 0
    assert raw.everything() == before


@pytest.mark.parametrize("source", State)
def test_every_pair_of_states_is_as_the_table_says(raw: Raw, store: Store, walk: Walk, source: State) -> None:
    for target in State:
        task_id = f"to-{target}"
        walk(store, task_id, source)
        change = f"UPDATE orchestration_tasks SET state = '{target}' WHERE task_id = '{task_id}'"
        guarded = GUARDED.get((source, target))
        if guarded is BLOCKED:
            blocks(raw, change)
        elif guarded is not None:
            refuses(raw, change, guarded)
        elif target == source:
            assert raw(change) == 1
        elif target not in LEGAL[source]:
            refuses(raw, change, f"musician: from {source} a task may only become")
        else:
            assert raw(change) == 1
            assert state_of(raw, task_id) == target
            came_from = "working" if target == "needs_review" else source
            assert raw.last_change(task_id)[:2] == (came_from, target)


def test_a_refusal_names_the_ways_out(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXITED)
    refuses(
        raw,
        "UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-01'",
        "from exited a task may only become fix_proposed",
    )
    walk(store, "task-02", State.COMPLETE)
    refuses(
        raw,
        "UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-02'",
        r"may only become nothing \(a correction is a new task\)",
    )


def test_a_state_that_is_none_is_refused(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING)
    for none in ("'done'", "''", "NULL", "'WORKING'", "1"):
        refuses(raw, f"UPDATE orchestration_tasks SET state = {none}", "musician|constraint|failed")


DETOURS = [
    "INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')",
    "INSERT OR REPLACE INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')",
    "REPLACE INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'complete')",
    "REPLACE INTO orchestration_tasks (task_id, state) SELECT task_id, 'watching' FROM orchestration_tasks",
    (
        "INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')"
        " ON CONFLICT (task_id) DO UPDATE SET state = 'complete'"
    ),
    (
        "INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')"
        " ON CONFLICT DO UPDATE SET state = 'watching' WHERE 1"
    ),
    "UPDATE OR REPLACE orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR IGNORE orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR FAIL orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR ROLLBACK orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR REPLACE orchestration_tasks SET task_id = 'other' WHERE task_id = '{task}'",
    "UPDATE OR REPLACE orchestration_tasks SET task_id = '{task}' WHERE task_id = 'other'",
    "UPDATE orchestration_tasks SET task_id = 'new' WHERE task_id = '{task}'",
    "UPDATE orchestration_tasks SET rowid = 1",
    "DELETE FROM orchestration_tasks WHERE task_id = '{task}'",
    "DELETE FROM orchestration_tasks",
    "WITH x AS (SELECT 1) DELETE FROM orchestration_tasks WHERE task_id = '{task}'",
    "UPDATE orchestration_tasks SET claim_epoch = 0",
    "UPDATE orchestration_tasks SET claim_epoch = -1",
    "UPDATE orchestration_tasks SET claim_epoch = NULL",
    "UPDATE orchestration_tasks SET claim_epoch = 'many'",
    "UPDATE orchestration_tasks SET claim_epoch = 2.5",
    "DELETE FROM history",
    "UPDATE history SET to_state = 'complete'",
    "UPDATE history SET who = 'nobody'",
    "UPDATE history SET message_id = 1, message_type = 'approval'",
    "UPDATE history SET message_id = NULL WHERE message_id IS NOT NULL",
    "UPDATE OR REPLACE history SET id = 1",
    (
        "REPLACE INTO history (id, task_id, from_state, to_state, who, claim_epoch)"
        " SELECT id, task_id, from_state, 'complete', who, claim_epoch FROM history"
    ),
    (
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " SELECT task_id, state, 'review_approved', 'task-00', 1 FROM orchestration_tasks WHERE task_id = '{task}'"
    ),
    (
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('{task}', NULL, 'watching', 'task-00', 0)"
    ),
    (
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('unknown', NULL, 'watching', 'task-00', 0)"
    ),
    (
        "INSERT INTO history (id, task_id, from_state, to_state, who, claim_epoch)"
        " VALUES (-1, '{task}', NULL, 'watching', 'task-00', 0)"
    ),
    "UPDATE orchestration_messages SET message = 'another'",
    "UPDATE orchestration_messages SET from_session = 'task-00'",
    "UPDATE orchestration_messages SET message_type = 'approval'",
    "UPDATE OR REPLACE orchestration_messages SET id = 1",
    (
        "REPLACE INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        " VALUES (1, '{task}', 'task-00', 'approval', 'x')"
    ),
    (
        "INSERT INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        " VALUES (1, '{task}', 'task-00', 'approval', 'x') ON CONFLICT DO UPDATE SET message = 'x'"
    ),
    (
        "INSERT INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        " VALUES (-1, '{task}', 'task-00', 'approval', 'x')"
    ),
    "DELETE FROM journal",
    "UPDATE journal SET text = 'x'",
    "REPLACE INTO journal SELECT * FROM journal",
    "DELETE FROM verifications",
    "UPDATE verifications SET outcome = 'red'",
    "REPLACE INTO verifications SELECT * FROM verifications",
    "DELETE FROM documents",
    "UPDATE documents SET body = 'x'",
    "REPLACE INTO documents SELECT * FROM documents",
    "DELETE FROM sessions",
    "UPDATE sessions SET session_id = 'thief'",
    "REPLACE INTO sessions (task_id, claim_epoch, session_id, number) VALUES ('{task}', 1, 'thief', 1)",
]


@pytest.mark.parametrize("recursive", ["OFF", "ON"])
def test_no_detour_changes_a_row(raw: Raw, store: Store, walk: Walk, recursive: str) -> None:
    """REPLACE, upsert, DELETE, other ids, forged history, with delete triggers firing for REPLACE and without."""
    claim = walk(store, "other", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=Kind.NOTE, text="here"))
    walk(store, "task-01", State.NEEDS_REVIEW)
    walk(store, "task-02", State.COMPLETE)
    for detour in DETOURS:
        for task_id in ("task-01", "task-02"):
            refuses(
                raw,
                f"PRAGMA recursive_triggers = {recursive}; {detour.format(task=task_id)}",
                "musician: |CHECK|NOT NULL|no such column",
            )


@pytest.mark.parametrize(
    "task_id",
    [
        "../../outside",
        "..",
        ".",
        "/etc/x",
        "task-03/../../x",
        "task-03\\..\\x",
        "%2e%2e%2fx",
        "-rf",
        "--help",
        "task 03",
        "task-03\n",
        "a" * 65,
        "task-٠٣",
        "CON",
        "nul.txt",
        "com1",
        "LPT9.x",
        "task-03.lock",
        "task-03.",
        "task-03..x",
        "task-03.-x",
        "",
        "fallback-x",
    ],
)
def test_an_id_that_may_not_become_a_file_name_gets_no_row(raw: Raw, store: Store, task_id: str) -> None:
    """B43, by raw SQL too."""
    refuses(
        raw,
        f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task_id}', 'watching')",
        "CHECK|begins",
    )


def test_an_id_with_a_nul_in_it_or_of_bytes_gets_no_row(raw: Raw) -> None:
    for value in ("'task-03' || char(0) || '/x'", "x'7461736b'", "NULL"):
        refuses(
            raw,
            f"INSERT INTO orchestration_tasks (task_id, state) VALUES ({value}, 'watching')",
            "CHECK|NOT NULL",
        )


@pytest.mark.parametrize(
    "task_id", ["task-03", "common", "a.b", "A", "a" * 64, "task_03", "com10", "lockdown"]
)
def test_other_ids_may_begin(raw: Raw, store: Store, task_id: str) -> None:
    assert raw(f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task_id}', 'watching')") == 1
    assert service.task_row(store, task_id).state is State.WATCHING


@pytest.mark.parametrize("state", [state for state in State if state is not State.WATCHING])
def test_a_task_begins_as_watching(raw: Raw, state: State) -> None:
    refuses(
        raw, f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-01', '{state}')", "begins as"
    )


def test_a_task_begins_without_owner_epoch_or_heartbeat(raw: Raw, store: Store) -> None:
    for column, value in (("session_id", "'s'"), ("claim_epoch", "7")):
        refuses(
            raw,
            f"INSERT INTO orchestration_tasks (task_id, state, {column}) VALUES ('task-01', 'watching', {value})",
            "begins as",
        )
    raw(
        "INSERT INTO orchestration_tasks (task_id, state, last_heartbeat)"
        " VALUES ('task-01', 'watching', datetime('now'))"
    )
    assert service.task_row(store, "task-01").last_heartbeat is None


# The claim guard (D2, D4): a blocked claim affects 0 rows.


def claim_sql(task_id: str, session: str) -> str:
    return (
        f"UPDATE orchestration_tasks SET state = 'working', session_id = {session}, started_at = datetime('now'),"
        f" last_heartbeat = datetime('now'), retry_count = 0 WHERE task_id = '{task_id}'"
        " AND state IN ('watching', 'fix_proposed', 'exit_requested')"
    )


@pytest.mark.parametrize(
    "session", ["NULL", "''", "'  '", "'null'", "'NULL'", "'None'", "'undefined'", "char(9)"]
)
def test_a_session_that_is_none_claims_nothing(raw: Raw, store: Store, walk: Walk, session: str) -> None:
    walk(store, "task-01", State.WATCHING)
    blocks(raw, claim_sql("task-01", session))


def test_without_an_instruction_nobody_claims(raw: Raw, store: Store) -> None:
    raw("INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-01', 'watching')")
    raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'somebody', 'instruction', 'a.md')"
    )
    blocks(raw, claim_sql("task-01", "'s'"))
    raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'task-00', 'instruction', 'a.md')"
    )
    assert raw(claim_sql("task-01", "'s'")) == 1


@pytest.mark.parametrize("state", [State.FIX_PROPOSED, State.EXIT_REQUESTED])
def test_a_task_with_a_live_owner_is_not_claimed(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld, state: State
) -> None:
    claim = walk(store, "task-01", state)
    blocks(raw, claim_sql("task-01", "'thief'"))
    grow_old(store, "task-01", 530)
    blocks(raw, claim_sql("task-01", "'thief'"))
    grow_old(store, "task-01", -3600)  # a clock ahead is no sign of death
    blocks(raw, claim_sql("task-01", "'thief'"))
    grow_old(store, "task-01", 541)
    assert raw(claim_sql("task-01", "'heir'")) == 1
    row = service.task_row(store, "task-01")
    assert claim is not None
    assert (row.session_id, row.claim_epoch) == ("heir", claim.epoch + 1)


@pytest.mark.parametrize("unreadable", ["'yesterday'", "''", "'now'", "'2460000.5'", "'10:00:00'", "0"])
def test_a_heartbeat_that_cannot_be_read_is_never_taken_for_stale(
    raw: Raw, store: Store, walk: Walk, unreadable: str
) -> None:
    """D10."""
    walk(store, "task-01", State.FIX_PROPOSED)
    raw(f"UPDATE orchestration_tasks SET last_heartbeat = {unreadable} WHERE task_id = 'task-01'")
    blocks(raw, claim_sql("task-01", "'thief'"))
    assert service.task_row(store, "task-01").heartbeat_age_s is None


@pytest.mark.parametrize(
    "old", ["'2020-01-01 00:00:00'", "'2020-01-01T00:00:00Z'", "'2020-01-01T02:00:00+02:00'", "'2020-01-01'"]
)
def test_other_iso_forms_are_read(raw: Raw, store: Store, walk: Walk, old: str) -> None:
    """D10."""
    walk(store, "task-01", State.FIX_PROPOSED)
    raw(f"UPDATE orchestration_tasks SET last_heartbeat = {old} WHERE task_id = 'task-01'")
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age > 1e8
    assert raw(claim_sql("task-01", "'heir'")) == 1


def test_a_raw_claim_raises_the_epoch_and_starts_a_session(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WATCHING)
    assert raw(claim_sql("task-01", "'s1'")) == 1
    blocks(raw, claim_sql("task-01", "'s2'"))
    view = service.task_view(store, "task-01")
    assert view.row.claim_epoch == 1
    assert [(each.session_id, each.number, each.claim_epoch) for each in view.sessions] == [("s1", 1, 1)]
    assert raw.last_change("task-01") == ("watching", "working", "s1", "s1", None, None)
    service.beat(store, Claim(task_id="task-01", session_id="s1", epoch=1))


def test_nobody_enters_while_a_task_is_being_taken_over(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    """Fenced but not yet ended, its owner may still be at work in the tree (D23)."""
    claim = walk(store, "task-01", State.EXIT_REQUESTED)
    assert claim is not None
    service.fence(store, "task-01", epoch=claim.epoch)
    grow_old(store, "task-01", 10_000)
    blocks(raw, claim_sql("task-01", "'early'"))
    service.take_over(store, "task-01", "go on", reason="dead")
    assert raw(claim_sql("task-01", "'heir'")) == 1


def test_an_owner_goes_on_after_a_fix_proposal_under_its_own_claim(
    raw: Raw, store: Store, walk: Walk
) -> None:
    walk(store, "task-01", State.FIX_PROPOSED, session_id="s1")
    raw("DELETE FROM orchestration_messages")  # its instruction is not needed a second time
    assert raw("UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-01'") == 1
    row = service.task_row(store, "task-01")
    assert (row.session_id, row.claim_epoch) == ("s1", 1)


# Submissions, verdicts, completion (D5, D6, D7).


def say_sql(task_id: str, sender: str, message_type: str, text: str = "x") -> str:
    return (
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        f" VALUES ('{task_id}', '{sender}', '{message_type}', '{text}')"
    )


def to_sql(task_id: str, state: str) -> str:
    return f"UPDATE orchestration_tasks SET state = '{state}' WHERE task_id = '{task_id}'"


@pytest.mark.parametrize("message_first", [True, False])
@pytest.mark.parametrize(
    ("state", "message_type"),
    [
        ("needs_review", "review_request"),
        ("needs_review", "completion"),
        ("error", "error"),
        ("error", "context_warning"),
        ("exited", "handoff"),
    ],
)
def test_message_and_state_bind_in_either_order(
    raw: Raw, store: Store, walk: Walk, message_first: bool, state: str, message_type: str
) -> None:
    """D5."""
    walk(store, "task-01", State.WORKING, session_id="s1")
    statements = [to_sql("task-01", state), say_sql("task-01", "s1", message_type)]
    for statement in reversed(statements) if message_first else statements:
        assert raw(statement) == 1
    assert raw.last_change("task-01") == ("working", state, "s1", "s1", message_type, None)


@pytest.mark.parametrize("message_first", [True, False])
def test_only_a_message_that_goes_with_the_change_binds(
    raw: Raw, store: Store, walk: Walk, message_first: bool
) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    walk(store, "task-10", State.WORKING, session_id="s10")
    others = [
        say_sql("task-01", "s2", "review_request"),  # another session's
        say_sql("task-01", "task-00", "review_request"),
        say_sql("task-01", "s1", "question"),  # another kind
        say_sql("task-10", "s1", "review_request"),  # another task's
    ]
    for statement in [*others, to_sql("task-01", "needs_review")] if message_first else []:
        raw(statement)
    if not message_first:
        for statement in [to_sql("task-01", "needs_review"), *others]:
            raw(statement)
    assert raw.last_change("task-01")[4] is None
    refuses(raw, to_sql("task-01", "review_approved"), "its message is missing")
    raw(say_sql("task-01", "s1", "review_request", "at last"))
    raw(say_sql("task-01", "s1", "review_request", "another one"))
    assert raw.last_change("task-01")[4] == "review_request"
    assert service.task_view(store, "task-01").submissions[0].message == "at last"
    assert raw(to_sql("task-01", "review_approved")) == 1


@pytest.mark.parametrize("verdict", ["review_approved", "review_failed", "fix_proposed"])
@pytest.mark.parametrize("state", ["needs_review", "error"])
@pytest.mark.parametrize("clears_owner", ["", ", session_id = NULL"])
def test_nothing_is_judged_before_its_message_is_there(
    raw: Raw, store: Store, walk: Walk, verdict: str, state: str, clears_owner: str
) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    raw(to_sql("task-01", state))
    refuses(
        raw,
        f"UPDATE orchestration_tasks SET state = '{verdict}'{clears_owner} WHERE task_id = 'task-01'",
        "its message is missing|its owner is alive",
    )


def test_a_conductors_raw_verdict_binds_to_the_latest_submission(raw: Raw, store: Store, walk: Walk) -> None:
    """D6: its message first, then the state."""
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    first = service.task_view(store, "task-01").submissions[-1].message_id
    raw(say_sql("task-01", "task-00", "rejection", "not yet"))
    raw(to_sql("task-01", "review_failed"))
    assert raw.last_change("task-01") == (
        "needs_review",
        "review_failed",
        "task-00",
        "s1",
        "rejection",
        first,
    )
    raw(to_sql("task-01", "needs_review"))
    raw(say_sql("task-01", "s1", "completion", "again"))
    second = service.task_view(store, "task-01").submissions[-1].message_id
    raw(to_sql("task-01", "review_approved"))
    assert raw.last_change("task-01") == ("needs_review", "review_approved", "task-00", "s1", None, second)
    raw(say_sql("task-01", "task-00", "approval", "late, but bound"))
    assert raw.last_change("task-01")[4] == "approval"
    assert second != first


def test_a_resubmission_shows_both_steps(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.REVIEW_FAILED, session_id="s1")
    raw(say_sql("task-01", "s1", "review_request"))
    raw(to_sql("task-01", "needs_review"))
    steps = [(change.from_state, change.to_state) for change in service.history_of(store, "task-01")]
    assert steps[-2:] == [(State.REVIEW_FAILED, State.WORKING), (State.WORKING, State.NEEDS_REVIEW)]


COMPLETE = to_sql("task-01", "complete")
UNAPPROVED = "only an approved completion"


def test_completion_needs_its_own_approval(raw: Raw, store: Store, walk: Walk) -> None:
    """Approval before complete, for every writer; the latest submission counts (D6, D7)."""
    walk(store, "task-01", State.WORKING, session_id="s1")
    refuses(raw, COMPLETE, UNAPPROVED)
    raw(say_sql("task-01", "task-00", "approval", "a message alone approves nothing"))
    refuses(raw, COMPLETE, UNAPPROVED)
    for message_type, verdict in (("review_request", "review_approved"), ("completion", "review_failed")):
        raw(say_sql("task-01", "s1", message_type))
        raw(to_sql("task-01", "needs_review"))
        raw(to_sql("task-01", verdict))
        raw(to_sql("task-01", "working"))
        refuses(raw, COMPLETE, UNAPPROVED)
    raw(say_sql("task-01", "s1", "completion"))
    raw(to_sql("task-01", "needs_review"))
    raw(to_sql("task-01", "review_approved"))
    raw(say_sql("task-01", "s1", "review_request", "and yet something more"))
    raw(to_sql("task-01", "needs_review"))
    raw(to_sql("task-01", "review_approved"))
    refuses(raw, COMPLETE, UNAPPROVED)
    raw(say_sql("task-01", "s1", "completion"))
    raw(to_sql("task-01", "needs_review"))
    raw(to_sql("task-01", "review_approved"))
    assert raw(COMPLETE) == 1


def test_an_answer_to_an_error_report_approves_no_completion(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    raw(say_sql("task-01", "s1", "error", "conductor timeout"))
    raw(to_sql("task-01", "error"))
    raw(to_sql("task-01", "review_approved"))
    refuses(raw, COMPLETE, UNAPPROVED)


def test_a_late_heartbeat_on_a_complete_task_changes_nothing(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.COMPLETE)
    for late in ("last_heartbeat = datetime('now', '+1 day')", "session_id = 'thief'", "report_path = 'x'"):
        blocks(raw, f"UPDATE orchestration_tasks SET {late} WHERE task_id = 'task-01'")


def test_a_heartbeat_without_an_owner_means_nothing(raw: Raw, store: Store, walk: Walk) -> None:
    """D10."""
    walk(store, "task-01", State.WATCHING)
    assert raw("UPDATE orchestration_tasks SET last_heartbeat = datetime('now')") == 1
    assert service.task_row(store, "task-01").last_heartbeat is None


def test_a_raw_heartbeat_of_an_owner_counts(raw: Raw, store: Store, walk: Walk, grow_old: GrowOld) -> None:
    walk(store, "task-01", State.WORKING)
    grow_old(store, "task-01", 1000)
    assert (
        raw("UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = 'task-01'") == 1
    )
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age < 60


# Taking over by raw SQL (sources "Guard Clause Rules"): a handoff message, then fix_proposed.

LIVING = [
    State.WORKING,
    State.NEEDS_REVIEW,
    State.ERROR,
    State.REVIEW_APPROVED,
    State.REVIEW_FAILED,
    State.EXIT_REQUESTED,
]


@pytest.mark.parametrize("state", LIVING)
def test_a_raw_takeover_of_the_living_is_refused_and_of_the_dead_frees_the_task(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld, state: State
) -> None:
    claim = walk(store, "task-01", state, session_id="s1")
    assert claim is not None
    raw(say_sql("task-01", "task-00", "handoff", "go on at step 2"))
    refuses(raw, to_sql("task-01", "fix_proposed"), ALIVE)
    grow_old(store, "task-01", 541)
    assert raw(to_sql("task-01", "fix_proposed")) == 1
    view = service.task_view(store, "task-01")
    assert (view.row.session_id, view.row.last_heartbeat, view.row.claim_epoch) == (None, None, 2)
    assert raw.last_change("task-01") == (state, "fix_proposed", "task-00", None, "handoff", None)
    assert view.sessions[0].ended_at is not None
    assert raw(claim_sql("task-01", "'s2'")) == 1
    assert service.task_row(store, "task-01").claim_epoch == 3


def test_a_session_that_died_between_state_and_message_can_be_taken_over(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    raw(to_sql("task-01", "needs_review"))
    grow_old(store, "task-01", 541)
    refuses(raw, to_sql("task-01", "fix_proposed"), "send the handoff message first")
    raw(say_sql("task-01", "task-00", "handoff"))
    assert raw(to_sql("task-01", "fix_proposed")) == 1
    assert service.task_row(store, "task-01").session_id is None


def test_a_fix_proposal_to_a_session_that_seems_dead_is_a_verdict_and_keeps_its_owner(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    grow_old(store, "task-01", 541)
    raw(say_sql("task-01", "task-00", "fix_proposal"))
    raw(to_sql("task-01", "fix_proposed"))
    assert raw.last_change("task-01")[3:5] == ("s1", "fix_proposal")
    assert service.task_row(store, "task-01").session_id == "s1"


def test_reopening_an_exited_task_clears_its_owner(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXITED, session_id="s1")
    raw(say_sql("task-01", "task-00", "handoff"))
    raw(to_sql("task-01", "fix_proposed"))
    row = service.task_row(store, "task-01")
    assert (row.session_id, row.last_heartbeat, row.claim_epoch) == (None, None, 1)
    assert raw.last_change("task-01") == ("exited", "fix_proposed", "task-00", None, "handoff", None)
    assert raw(claim_sql("task-01", "'s2'")) == 1


def test_clearing_the_owner_of_a_fix_proposal_is_a_takeover_in_the_history(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    walk(store, "task-01", State.FIX_PROPOSED, session_id="s1")
    clear = (
        "UPDATE orchestration_tasks SET state = 'fix_proposed', session_id = NULL WHERE task_id = 'task-01'"
    )
    refuses(raw, clear, ALIVE)
    grow_old(store, "task-01", 541)
    raw(say_sql("task-01", "task-00", "handoff"))
    assert raw(clear) == 1
    assert raw.last_change("task-01") == ("fix_proposed", "fix_proposed", "task-00", None, "handoff", None)
    assert service.task_row(store, "task-01").claim_epoch == 2
    refuses(
        raw,
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('task-01', 'fix_proposed', 'fix_proposed', 'task-00', 2)",
        "written by the database",
    )


# Fallback rows and the conductor's row.


def test_the_row_of_a_blocked_session_only_lets_it_end(raw: Raw, store: Store) -> None:
    again = (
        "INSERT INTO orchestration_tasks (task_id, state, session_id, last_heartbeat)"
        " VALUES ('fallback-s1', 'exited', 's1', datetime('now'))"
    )
    assert raw(again) == 1
    blocks(raw, again)
    blocks(raw, again.replace("INSERT", "REPLACE"))
    for state in State:
        if state is not State.EXITED:
            refuses(raw, to_sql("fallback-s1", state), "musician: ")
    refuses(raw, again.replace("exited", "watching"), "exists already")
    refuses(raw, again.replace("fallback-s1", "fallback-s2"), "under fallback-<session>")
    refuses(raw, again.replace("fallback-s1", "fallback-null").replace("'s1'", "'null'"), "begins")
    refuses(
        raw,
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('fallback-s1', NULL, 'exited', 's1', 0)",
        "written by the database",
    )
    assert service.tasks_of(store) == ()


def test_the_conductors_row_has_its_own_states(raw: Raw, store: Store) -> None:
    refuses(raw, "INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-00', 'watching')", "begins")
    raw("INSERT INTO orchestration_tasks (task_id, state, session_id) VALUES ('task-00', 'working', 'c1')")
    for state in State:
        if state not in {State.WORKING, State.EXIT_REQUESTED, State.COMPLETE}:
            refuses(raw, to_sql("task-00", state), "from working a conductor may only become")
    for name in ("exit_requested", "working", "complete", "working"):
        assert raw(to_sql("task-00", name)) == 1
    refuses(raw, "DELETE FROM orchestration_tasks WHERE task_id = 'task-00'", "never deleted")
    changes = service.history_of(store, "task-00")
    assert [change.to_state for change in changes] == [
        "working",
        "exit_requested",
        "working",
        "complete",
        "working",
    ]


def test_several_statements_at_once_are_all_or_nothing(raw: Raw, store: Store, walk: Walk) -> None:
    """B12, and semicolons inside strings."""
    walk(store, "task-03", State.WORKING, session_id="sess-aaa")
    both = (
        "UPDATE orchestration_tasks SET state='needs_review' WHERE task_id='task-03';"
        " INSERT INTO orchestration_messages(task_id,from_session,message_type,message)"
        " VALUES('task-03','sess-aaa','review_request','step 1; step 2')"
    )
    assert raw(f"BEGIN IMMEDIATE; {both}; COMMIT") == 1
    assert raw.last_change("task-03")[:5] == (
        "working",
        "needs_review",
        "sess-aaa",
        "sess-aaa",
        "review_request",
    )
    assert service.messages_of(store, "task-03")[-1].message == "step 1; step 2"
    refuses(raw, f"BEGIN IMMEDIATE; {say_sql('task-03', 'x', 'note')}; DELETE FROM history; COMMIT", "never")


def test_several_rows_in_one_statement_are_each_judged(raw: Raw, store: Store, walk: Walk) -> None:
    for number in (1, 2, 3):
        walk(store, f"task-0{number}", State.WORKING)
    walk(store, "task-04", State.NEEDS_REVIEW)
    refuses(raw, "UPDATE orchestration_tasks SET state = 'review_approved'", "from working")
    assert raw("UPDATE orchestration_tasks SET state = 'error'") == 4
    assert raw.value("SELECT count(*) FROM history WHERE to_state = 'error'") == 4


def test_a_submission_is_judged_by_type(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    raw(to_sql("task-01", "needs_review"))
    note = raw.value("SELECT count(*) FROM orchestration_messages")
    raw(say_sql("task-01", "s1", MessageType.NOTE))
    refuses(
        raw,
        f"UPDATE history SET message_id = {note} + 1, message_type = 'note' WHERE id = 3",
        "never changed",
    )
