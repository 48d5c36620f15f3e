"""Whether a session may stop, waits, or is kept and told what is next (B01, D11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.gate import (
    CLIENT_CAP,
    AllowStop,
    Duty,
    Keep,
    Wait,
    decide,
    spent,
)
from musician.protocol.states import ACTIVE, TERMINAL, WAITING, State

TASK = "task-03"


def said(state: State, **more: object) -> str:
    """Why a session in this state is kept; "" if it is not."""
    decision = decide([Duty(task_id=TASK, state=state, **more)], is_woken=False)  # type: ignore[arg-type]
    return decision.reason if isinstance(decision, Keep) else ""


@pytest.mark.parametrize("is_woken", [True, False])
@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_what_is_over_keeps_nobody(state: State, *, is_woken: bool) -> None:
    """S-HOOK-2."""
    assert decide([], is_woken=is_woken) == AllowStop()
    assert decide([Duty(task_id=TASK, state=state)], is_woken=is_woken) == AllowStop()


@pytest.mark.parametrize("state", sorted(WAITING))
def test_waiting_for_the_conductor_is_no_reason_to_be_prodded(state: State) -> None:
    """Somebody who is woken stops; nobody else would wake the session, so that it waits in the hook."""
    duty = Duty(task_id=TASK, state=state)
    assert decide([duty], is_woken=True) == AllowStop()
    assert decide([duty], is_woken=False) == Wait(duty=duty)


def test_an_open_question_is_waited_with_as_for_a_verdict() -> None:
    duty = Duty(task_id=TASK, state=State.WORKING, asks=True)
    assert decide([duty], is_woken=False) == Wait(duty=duty)
    assert not Duty(task_id=TASK, state=State.EXIT_REQUESTED, asks=True).waits


@pytest.mark.parametrize("state", sorted(ACTIVE - TERMINAL))
@pytest.mark.parametrize("is_woken", [True, False])
def test_while_its_plan_is_paused_a_session_is_prompted_for_nothing_but_to_leave(
    state: State, *, is_woken: bool
) -> None:
    """PLAN-25: whatever it has begun, was told, or would be next."""
    duty = Duty(task_id=TASK, state=state, message_ids=(7,), item="step 2", is_held=True)
    decision = decide([duty], is_woken=is_woken)
    if state is State.EXIT_REQUESTED:
        assert isinstance(decision, Keep)
    else:
        assert decision == (AllowStop() if is_woken else Wait(duty=duty))


@pytest.mark.parametrize(
    ("state", "item", "call"),
    [
        (State.WORKING, "step 2", '`step(n=2, act="done")`'),
        (State.WORKING, "step 2 agent 1", "step 2 agent 1 is begun: finish it; `claim()`"),
        (State.WORKING, "", '`step(n=…, act="start")`'),
        (State.REVIEW_APPROVED, "", "`complete()`"),
        (State.REVIEW_FAILED, "", '`checkpoint(summary="…")`'),
        (State.FIX_PROPOSED, "", '`checkpoint(summary="…")`'),
        (State.EXIT_REQUESTED, "step 2", '`handoff(reason="exit requested", notes="…")`'),
    ],
)
def test_who_is_kept_is_told_the_exact_next_call(state: State, item: str, call: str) -> None:
    reason = said(state, item=item)
    assert reason.startswith(f"{TASK} is {state}. ")
    assert call in reason
    assert "inbox" not in reason, "there is nothing to read"
    assert "tools are not there" not in reason


@pytest.mark.parametrize("state", [State.REVIEW_FAILED, State.FIX_PROPOSED, State.EXIT_REQUESTED])
def test_who_has_one_thing_to_do_is_told_that_alone(state: State) -> None:
    assert said(state).count("`") == len(["before it", "behind it"])


@pytest.mark.parametrize("state", [State.WORKING, *sorted(ACTIVE - TERMINAL - {State.WORKING})])
@pytest.mark.parametrize("item", ["", "step 2", "step 2 agent 1"])
def test_where_the_tools_are_missing_the_commands_are_named(state: State, item: str) -> None:
    """AUDIT-C8: a call of a tool that does not exist helps nobody; each command names its task."""
    duty = Duty(task_id=TASK, state=state, item=item, message_ids=(7,))
    kept = decide([duty], is_woken=True, has_tools=False)
    assert isinstance(kept, Keep)
    assert "()" not in kept.reason
    assert f"`musician inbox {TASK} --ack`" in kept.reason
    assert "tools are not there" in kept.reason
    called = kept.reason.split("`")[1::2]
    assert all(part.startswith("musician ") and TASK in part for part in called)


def test_messages_are_pointed_at_and_wake_a_waiting_session() -> None:
    assert "Message 7, 8 from the conductor: call `inbox()` first." in said(State.WORKING, message_ids=(7, 8))
    for more in (1, 2):
        assert f"1, 2, 3, 4, 5 and {more} more" in said(
            State.NEEDS_REVIEW, message_ids=tuple(range(1, 6 + more))
        )
    assert "more" not in said(State.NEEDS_REVIEW, message_ids=tuple(range(1, 6)))
    assert "still waits" in said(State.ERROR, message_ids=(9,))


def test_of_several_claims_the_one_that_owes_something_decides() -> None:
    waits, owes = Duty(task_id="task-04", state=State.ERROR), Duty(task_id=TASK, state=State.WORKING)
    kept = decide([waits, owes], is_woken=True)
    assert isinstance(kept, Keep)
    assert kept.duty is owes


def test_a_conductor_leaves_when_it_is_done_or_asked_to() -> None:
    """S-HOOK-2."""
    conducts = decide([Duty(task_id="task-00", state=State.WORKING)], is_woken=True)
    assert isinstance(conducts, Keep)
    assert "`exit_requested`" in conducts.reason
    for state in (State.EXIT_REQUESTED, State.COMPLETE):
        assert decide([Duty(task_id="task-00", state=state)], is_woken=False) == AllowStop()


@pytest.mark.parametrize(("task_id", "most"), [(TASK, 500), ("task-00", 1000)])
def test_after_so_many_stops_without_progress_nobody_is_kept(task_id: str, most: int) -> None:
    """S-HOOK-3."""
    duty = Duty(task_id=task_id, state=State.WORKING)
    assert spent(duty, stops=most, in_a_row=1, cap=CLIENT_CAP) == ""
    assert f"{most + 1} times" in spent(duty, stops=most + 1, in_a_row=1, cap=CLIENT_CAP)


def test_b01_the_clients_own_cap_does_not_end_a_session_as_if_all_were_well() -> None:
    duty = Duty(task_id=TASK, state=State.WORKING)
    assert spent(duty, stops=8, in_a_row=8, cap=8) == ""
    assert "8 times in a row" in spent(duty, stops=9, in_a_row=9, cap=8)
    assert spent(duty, stops=9, in_a_row=9, cap=0) == ""
    assert spent(duty, stops=9, in_a_row=9, cap=600) == ""


@given(st.sampled_from(sorted(ACTIVE)), st.booleans(), st.booleans())
def test_a_session_that_is_told_of_nothing_to_do_is_never_kept(
    state: State, asks: bool, is_woken: bool
) -> None:
    decision = decide([Duty(task_id=TASK, state=state, asks=asks)], is_woken=is_woken)
    assert isinstance(decision, Keep) == (not Duty(task_id=TASK, state=state, asks=asks).waits)
