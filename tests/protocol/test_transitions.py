"""The table against a plain dictionary written out from DESIGN 3, every state, event and actor."""

import os
import re
from itertools import product
from pathlib import Path

import pytest

from musician.protocol.errors import IllegalEvent
from musician.protocol.messages.kinds import VERDICT_OF, MessageType
from musician.protocol.states import ACTIVE, State
from musician.protocol.transitions import (
    CONDUCTOR_TABLE,
    TABLE,
    Actor,
    Event,
    Guard,
    allowed_from,
    find,
    targets,
    verdict_event,
)
from tests.said import REPORTS, SUBMISSIONS

DOCUMENT = Path(__file__).parents[2] / "docs" / "STATE_MACHINE.md"

CONDUCTOR, CLAIMANT, OWNER, BLOCKED = "the conductor", "a claiming session", "the owner", "a blocked session"

CLAIM = {"claim": (CLAIMANT, "working")}
RESUME = {"resume": (OWNER, "working")}
SUBMIT = {"submit": (OWNER, "needs_review")}
REPORT = {"report": (OWNER, "error")}
VERDICTS = {
    "approve": (CONDUCTOR, "review_approved"),
    "reject": (CONDUCTOR, "review_failed"),
    "propose_fix": (CONDUCTOR, "fix_proposed"),
}
ANY_ACTIVE = {
    "request_exit": (CONDUCTOR, "exit_requested"),
    "exit": (OWNER, "exited"),
    "take_over": (CONDUCTOR, "fix_proposed"),
}
WITHDRAW = {"withdraw": (CONDUCTOR, "exited"), "skip": (CONDUCTOR, "exited")}
COMPLETE = {"complete": (OWNER, "complete")}

LEGAL: dict[str | None, dict[str, tuple[str, str]]] = {
    None: {"open": (CONDUCTOR, "watching"), "block": (BLOCKED, "exited")},
    "watching": {**CLAIM, **WITHDRAW},
    "working": {**SUBMIT, **REPORT, **COMPLETE, **ANY_ACTIVE},
    "needs_review": {**REPORT, **VERDICTS, **ANY_ACTIVE},
    "review_approved": {**RESUME, **SUBMIT, **COMPLETE, **ANY_ACTIVE},
    "review_failed": {**RESUME, **SUBMIT, **ANY_ACTIVE},
    "fix_proposed": {**CLAIM, **WITHDRAW, **RESUME, **SUBMIT, **ANY_ACTIVE},
    "error": {**VERDICTS, **ANY_ACTIVE},
    "exit_requested": {**CLAIM, **WITHDRAW, **ANY_ACTIVE},
    "exited": {"reopen": (CONDUCTOR, "fix_proposed")},
    "complete": {},
}

MESSAGES = {
    "open": {"instruction"},
    "block": {"claim_blocked"},
    "claim": set(),
    "resume": set(),
    "submit": {"review_request", "completion"},
    "report": {"error", "context_warning"},
    "approve": {"approval"},
    "reject": {"rejection"},
    "propose_fix": {"fix_proposal"},
    "request_exit": {"exit_request"},
    "exit": {"handoff"},
    "complete": {"completed"},
    "withdraw": {"system"},
    "skip": {"skipped"},
    "reopen": {"handoff"},
    "take_over": {"handoff"},
}

GUARDS = {
    "open": Guard.ID_FREE,
    "block": Guard.FALLBACK_ID,
    "claim": Guard.OPEN_TO_CLAIM,
    "submit": Guard.EVIDENCE,
    "approve": Guard.LATEST_SUBMISSION,
    "reject": Guard.LATEST_SUBMISSION,
    "propose_fix": Guard.LATEST_SUBMISSION,
    "exit": Guard.HANDOFF_STORED,
    "complete": Guard.COMPLETION_APPROVED,
    "take_over": Guard.OWNER_GONE,
    "withdraw": Guard.UNOWNED,
    "skip": Guard.UNOWNED,
}


@pytest.mark.parametrize("state", [None, *State])
def test_every_event_by_every_actor_does_what_the_table_says_or_is_refused(state: State | None) -> None:
    for event, actor in product(Event, Actor):
        legal = LEGAL[state].get(event)
        if legal is not None and legal[0] == actor:
            row = find(state, event, task_id="task-01", actor=actor)
            assert (row.target, row.source) == (legal[1], state)
            assert row.messages == MESSAGES[event]
            assert row.guard is GUARDS.get(event)
            continue
        with pytest.raises(IllegalEvent) as refused:
            find(state, event, task_id="task-01", actor=actor)
        error = refused.value
        assert (error.task_id, error.state, error.event, error.actor) == ("task-01", state, event, actor)
        assert set(error.allowed) == {f"{name} by {who}" for name, (who, _) in LEGAL[state].items()}


def test_the_dictionary_and_the_table_have_the_same_rows() -> None:
    written_out = {
        (state, event, who, target)
        for state, events in LEGAL.items()
        for event, (who, target) in events.items()
    }
    assert {(row.source, row.event, row.actor, row.target) for row in TABLE} == written_out
    assert len(TABLE) == len(written_out)


def test_an_illegal_event_names_the_state_the_actor_and_the_ways_out() -> None:
    with pytest.raises(IllegalEvent) as refused:
        find(State.COMPLETE, Event.REOPEN, task_id="task-09", actor=Actor.CONDUCTOR)
    assert str(refused.value) == (
        "task-09 is complete and cannot be opened again:"
        " nothing is left to do; a correction is a new task (`musician task add`)"
    )
    with pytest.raises(IllegalEvent, match="task-09 is not there and cannot be claimed"):
        find(None, Event.CLAIM, task_id="task-09", actor=Actor.CLAIMANT)


def test_what_is_allowed_comes_in_the_tables_order() -> None:
    assert allowed_from(State.EXIT_REQUESTED) == (
        "claim by a claiming session",
        "request_exit by the conductor",
        "exit by the owner",
        "withdraw by the conductor",
        "skip by the conductor",
        "take_over by the conductor",
    )


@pytest.mark.parametrize("state", [None, *State])
def test_no_refusal_names_an_event_of_the_table_and_each_names_a_command(state: State | None) -> None:
    """AUDIT-N5: only a session with nothing left to write is told just that."""
    for event, actor in product(Event, Actor):
        try:
            find(state, event, task_id="task-01", actor=actor)
        except IllegalEvent as refused:
            text = str(refused)
            assert not re.search(rf"\b({'|'.join(Event)})\b (by|is)|[a-z]_[a-z]+ by|\{{", text), text
            assert not [name for name in Event if "_" in name and name in text], text
            assert "`musician " in text or text.endswith("write nothing more and end"), text


def test_targets_are_what_any_raw_writer_may_do() -> None:
    for state, events in LEGAL.items():
        source = None if state is None else State(state)
        assert targets(source) == {State(target) for _, target in events.values()}


def test_the_conductors_own_row_has_its_own_life() -> None:
    assert {(row.source, row.event, row.target) for row in CONDUCTOR_TABLE} == {
        (None, "start", "working"),
        ("exit_requested", "start", "working"),
        ("complete", "start", "working"),
        ("working", "interrupt", "exit_requested"),
        ("working", "finish", "complete"),
    }
    assert targets(State.WORKING, conductor=True) == {State.EXIT_REQUESTED, State.COMPLETE}
    assert targets(State.ERROR, conductor=True) == frozenset()


def test_complete_never_moves_again() -> None:
    assert targets(State.COMPLETE) == frozenset()


def test_active_is_everything_but_watching_exited_and_complete() -> None:
    assert set(State) - ACTIVE == {State.WATCHING, State.EXITED, State.COMPLETE}


def test_a_verdict_has_its_event_and_its_message() -> None:
    for state, message_type in VERDICT_OF.items():
        row = find(State.NEEDS_REVIEW, verdict_event(state), task_id="task-01", actor=Actor.CONDUCTOR)
        assert row.target is state
        assert row.messages == {message_type}
    with pytest.raises(KeyError):
        verdict_event(State.WORKING)


def test_a_submission_is_a_message_that_brings_a_task_to_review() -> None:
    into_review: set[MessageType] = set()
    for row in TABLE:
        if row.target is State.NEEDS_REVIEW:
            into_review |= row.messages
    assert into_review == SUBMISSIONS


def test_a_musician_sends_what_waits_for_an_answer_or_ends_its_claim_and_no_pings() -> None:
    """D12, sources "No Proactive Pings"."""
    sent: set[MessageType] = set()
    for row in TABLE:
        if row.actor is not Actor.CONDUCTOR:
            sent |= row.messages
    assert sent == SUBMISSIONS | REPORTS | {
        MessageType.CLAIM_BLOCKED,
        MessageType.HANDOFF,
        MessageType.COMPLETED,
    }


def test_the_diagram_has_an_edge_for_every_row_and_nothing_else() -> None:
    edges = {line.strip() for line in diagram().splitlines()[1:]}
    drawn = {
        (source, event, target)
        for edge in edges - {"complete --> [*]"}
        for source, target, events in [(edge.split(" --> ")[0], *edge.split(" --> ")[1].split(": "))]
        for event in events.split(", ")
    }
    assert drawn == {(row.source or "[*]", row.event, row.target) for row in TABLE}


def test_the_documentation_shows_the_table_and_the_diagram_as_they_are() -> None:
    wanted = document()
    if os.environ.get("MUSICIAN_REWRITE"):
        DOCUMENT.write_text(wanted, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == wanted


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    edges: dict[tuple[str, str], list[str]] = {}
    for row in TABLE:
        edges.setdefault((row.source or "[*]", row.target), []).append(row.event)
    lines = [f"    {source} --> {target}: {', '.join(events)}" for (source, target), events in edges.items()]
    return "\n".join(["stateDiagram-v2", *lines, f"    {State.COMPLETE} --> [*]"])


def document() -> str:
    return f"""\
# The state machine

Generated from `src/musician/protocol/transitions.py`; written anew by
`MUSICIAN_REWRITE=1 pytest tests/protocol/test_transitions.py`.

A task is in one of ten states. What is not in this table cannot happen to it, whoever tries: the service refuses
it with an error that says what is possible from here, and the database refuses it to raw SQL too.

{_table(TABLE)}

A message is written in the same transaction, before the state. `complete` never moves again: a late correction is
a new task, `<task>-fix`. While a task is in `error`, a further report of its owner is a message only.

```mermaid
{diagram()}
```

The conductor's own row, `task-00`, is not a task:

{_table(CONDUCTOR_TABLE)}
"""


def _table(rows: tuple[object, ...]) -> str:
    grouped: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        assert isinstance(row, type(TABLE[0]))
        guard = (row.guard or "").replace("<", "&lt;")
        key = (row.event, row.target, row.actor, guard, " or ".join(sorted(row.messages)))
        grouped.setdefault(key, []).append(row.source or "(none)")
    lines = ["| event | from | to | who | guard | message |", "|---|---|---|---|---|---|"]
    for (event, target, actor, guard, messages), sources in grouped.items():
        lines.append(f"| {event} | {', '.join(sources)} | {target} | {actor} | {guard} | {messages} |")
    return "\n".join(lines)
