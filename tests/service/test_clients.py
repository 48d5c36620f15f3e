"""A session that somebody opened in a client: its process is what a claim is followed by (B05)."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.processes.identity import identify
from musician.protocol.claim import Claim
from musician.protocol.errors import BadId, ClaimLost, NoSession
from musician.protocol.journal import EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.types import Resumption
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.service import Met
from musician.store.port import Store

if TYPE_CHECKING:
    from tests.conftest import Walk

HERE = Met(identity=identify(os.getpid()), attended=True, hosted=False, source="startup")
ELSEWHERE = {
    "another pid": replace(HERE.identity, pid=1),
    "a later process of that pid": replace(HERE.identity, started_at_s=HERE.identity.started_at_s + 1),
    "another boot": replace(HERE.identity, boot_id="another"),
    "another host": replace(HERE.identity, host="another"),
}


@pytest.fixture
def held(store: Store, walk: "Walk") -> Claim:
    """Session old holds task-03 in this process."""
    claim = walk(store, "task-03", State.WORKING, session_id="old")
    assert claim is not None
    service.meet_client(store, "old", HERE)
    return claim


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_b05_a_cleared_conversation_takes_its_claim_along(store: Store, walk: "Walk", state: State) -> None:
    """The same process, whatever state its task is in: nothing is orphaned (B05)."""
    old = walk(store, "task-03", state, session_id="old")
    assert old is not None
    service.meet_client(store, "old", HERE)
    service.end_client(store, "old", reason="clear")
    before = service.task_view(store, "task-03")
    (new,) = service.rebind(store, "new", replace(HERE, source="clear"), is_cleared=True)
    assert new == Claim(task_id="task-03", session_id="new", epoch=old.epoch + 1)
    after = service.task_view(store, "task-03")
    assert (after.row.session_id, after.row.state, after.row.claim_epoch) == ("new", state, new.epoch)
    assert after.history == before.history
    assert after.client is not None
    assert after.client.source == "clear"
    assert service.current_claim(store, "task-03", "new") == new
    service.beat(store, new)


def test_b05_the_old_id_is_fenced_after_it_was_followed(store: Store, held: Claim) -> None:
    """A late write under the old id is refused and changes nothing (B05, D2.1)."""
    service.rebind(store, "new", HERE, is_cleared=True)
    with pytest.raises(ClaimLost):
        service.beat(store, held)
    with pytest.raises(ClaimLost):
        service.current_claim(store, "task-03", "old")
    assert service.claims_of(store, "old") == ()


def test_a_followed_claim_is_announced_and_written_down(store: Store, held: Claim) -> None:
    """In the journal, among the sessions, and to the conductor."""
    service.send(store, "task-03", "mind the gap")
    (new,) = service.rebind(store, "new", HERE, is_cleared=True)
    view = service.task_view(store, "task-03")
    first, second = view.sessions
    assert (first.session_id, second.session_id, second.number) == ("old", "new", 2)
    assert first.ended_at is not None
    assert "goes on as session new" in (first.exit_reason or "")
    assert second.ended_at is None
    said = service.messages_of(store, "task-03")[-1]
    assert (said.from_session, said.message_type) == ("new", MessageType.RESUMPTION_STATUS)
    announced = Resumption.parse(said.message)
    assert (announced.worked_by, announced.previous_session) == ("musician-task-03-S2", "old")
    assert announced.pending_messages.count == 2
    own = [row for row in view.journal if row.claim_epoch == new.epoch]
    assert [row.kind for row in own] == [EntryKind.CLAIMED, EntryKind.RESUMED]
    assert own[1].text == said.message


@pytest.mark.parametrize("other", ELSEWHERE)
def test_b05_another_process_steals_nothing(
    store: Store, held: Claim, other: str, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    """Pid, start, boot and host must all be the same (B05)."""
    service.end_client(store, "old", reason="clear")
    with untouched():
        assert service.rebind(store, "new", replace(HERE, identity=ELSEWHERE[other]), is_cleared=True) == ()


@pytest.mark.parametrize("reason", ["resume", "logout", "other"])
def test_a_session_that_ended_for_good_is_not_followed(
    store: Store, held: Claim, reason: str, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    service.end_client(store, "old", reason=reason)
    with untouched():
        assert service.rebind(store, "new", HERE, is_cleared=True) == ()


def test_a_claim_that_was_taken_over_is_not_followed(
    store: Store, held: Claim, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    service.fence(store, "task-03", epoch=held.epoch)
    with untouched():
        assert service.rebind(store, "new", HERE, is_cleared=True) == ()


def test_an_id_leads_to_the_one_its_session_goes_on_under(store: Store, held: Claim) -> None:
    """A server of the client's lives longer than the id it was started with."""
    assert service.current_session(store, "old") == "old"
    service.rebind(store, "second", HERE, is_cleared=True)
    service.end_client(store, "second", reason="clear")
    service.rebind(store, "third", HERE, is_cleared=True)
    assert [service.current_session(store, each) for each in ("old", "second", "third", "unknown")] == [
        *["third"] * 3,
        "unknown",
    ]
    assert [session.session_id for session in service.task_view(store, "task-03").sessions] == [
        "old",
        "second",
        "third",
    ]


def test_following_twice_changes_nothing_more(
    store: Store, held: Claim, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    """The hook may be registered twice."""
    service.rebind(store, "new", HERE, is_cleared=True)
    with untouched():
        assert service.rebind(store, "new", HERE, is_cleared=True) == ()


def test_what_a_process_holds_comes_along_together(store: Store, held: Claim, walk: "Walk") -> None:
    walk(store, "task-04", State.WORKING, session_id="old")
    moved = service.rebind(store, "new", HERE, is_cleared=True)
    assert [claim.task_id for claim in moved] == ["task-03", "task-04"]
    service.start_conducting(store, "new", settings=Settings())
    assert [claim.task_id for claim in service.claims_of(store, "new")] == ["task-03", "task-04"]


def test_the_end_of_a_session_is_recorded_once_and_told(store: Store, held: Claim) -> None:
    written = service.end_client(store, "old", reason="other")
    assert [task_id for task_id, _ in written] == [held.task_id]
    service.end_client(store, "old", reason="clear")
    client = service.client_of(store, "old")
    assert client is not None
    assert client.ended_at is not None
    assert client.end_reason == "other"
    told = [each for each in service.messages_of(store, "task-03") if each.from_session == "old"]
    assert [each.message_type for each in told] == [MessageType.SYSTEM]
    assert "has ended (other)" in told[0].message
    service.meet_client(store, "old", replace(HERE, source="resume"))
    met = service.client_of(store, "old")
    assert met is not None
    assert (met.ended_at, met.end_reason, met.source) == (None, None, "resume")


def test_a_failed_turn_is_recorded_and_told(store: Store, held: Claim) -> None:
    [(task_id, entry)] = service.note_client_failure(store, "old", "rate limit\n" * 100)
    assert (task_id, entry.kind) == (held.task_id, EntryKind.NOTE)
    said = service.messages_of(store, "task-03")[-1].message
    assert said == f"the client's turn has failed: {' '.join(['rate limit'] * 100)[:500]}"
    assert service.journal_of(store, "task-03")[-1].kind == EntryKind.NOTE


def test_what_a_client_says_of_a_stranger_is_not_kept(
    store: Store, held: Claim, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    """A session that never claimed leaves no row."""
    with untouched():
        assert service.end_client(store, "stranger", reason="other") == ()
        assert service.note_client_failure(store, "stranger", "x") == ()
        service.warn_client(store, "stranger", 65)
    assert service.client_of(store, "stranger") is None


def test_the_threshold_that_was_told_is_remembered(store: Store, held: Claim) -> None:
    service.warn_client(store, "old", 65)
    client = service.client_of(store, "old")
    assert client is not None
    assert client.warned_pct == 65


@pytest.mark.parametrize(("session_id", "error"), [("null", NoSession), ("../x", BadId)])
def test_b43_a_session_that_is_none_is_no_clients(
    store: Store, held: Claim, session_id: str, error: type[Exception]
) -> None:
    """Refused before a write (B43)."""
    with pytest.raises(error):
        service.meet_client(store, session_id, HERE)
    with pytest.raises(error):
        service.rebind(store, session_id, HERE, is_cleared=True)


def test_b05_a_start_that_nobody_knows_follows_only_what_was_cleared(store: Store, held: Claim) -> None:
    """And says whose the claims are (B05)."""
    assert service.rebind(store, "new", HERE, is_cleared=False) == ()
    assert service.claims_of_process(store, HERE.identity, but="new") == (held,)
    assert service.claims_of_process(store, HERE.identity, but="old") == ()
    service.end_client(store, "old", reason="clear")
    (new,) = service.rebind(store, "new", HERE, is_cleared=False)
    assert service.claims_of(store, "new") == (new,)


def test_what_is_measured_is_kept_with_the_claim(store: Store, held: Claim) -> None:
    service.measure_context(store, held, 41.5)
    assert service.task_view(store, "task-03").sessions[0].context_pct == 41.5
    service.fence(store, "task-03", epoch=held.epoch)
    with pytest.raises(ClaimLost):
        service.measure_context(store, held, 42)


def test_undelivered_is_what_has_not_reached_this_claim(store: Store, held: Claim) -> None:
    """A successor is told again what its predecessor had been told and not acknowledged (D12.2)."""
    first, second = (
        (each.id for each in service.unread(store, "task-03")),
        service.send(store, "task-03", "x"),
    )
    service.deliver(store, held, tuple(first))
    assert [each.id for each in service.undelivered(store, held)] == [second]
    (new,) = service.rebind(store, "new", HERE, is_cleared=True)
    assert len(service.undelivered(store, new)) == 2


def test_an_order_follows_the_claim_to_its_next_id(store: Store, held: Claim) -> None:
    """D37.1: the claim has not ended, it goes on under another name."""
    service.request_exit(store, held.task_id, "please leave", urgent=True)
    service.rebind(store, "new", HERE, is_cleared=True)
    assert [each.message for each in service.unread(store, held.task_id)][-2:] == ["please leave"] * 2
