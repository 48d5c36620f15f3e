"""Which verdicts a person may give: the table's, but for what cannot be judged (D5, D7)."""

import pytest

from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import WAITING, State
from musician.protocol.transitions import is_failure, open_verdicts

ALL = (State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED)
FAILED = (State.REVIEW_FAILED, State.FIX_PROPOSED)


@pytest.mark.parametrize(
    ("state", "message_type", "came_from", "accepted"),
    [
        (State.NEEDS_REVIEW, MessageType.REVIEW_REQUEST, State.WORKING, ALL),
        (State.NEEDS_REVIEW, MessageType.COMPLETION, State.REVIEW_FAILED, ALL),
        (State.NEEDS_REVIEW, None, State.WORKING, ()),
        (State.ERROR, MessageType.ERROR, State.WORKING, FAILED),
        (State.ERROR, MessageType.ERROR, State.NEEDS_REVIEW, ALL),
        (State.ERROR, MessageType.CONTEXT_WARNING, State.WORKING, ALL),
        (State.ERROR, None, State.WORKING, ()),
        (State.EXITED, MessageType.HANDOFF, State.WORKING, (State.FIX_PROPOSED,)),
        (State.EXITED, None, State.WORKING, (State.FIX_PROPOSED,)),
    ],
)
def test_what_a_person_may_answer(
    state: State, message_type: str | None, came_from: State, accepted: tuple[State, ...]
) -> None:
    """D7.3: a failure is not approved, what has no message is not judged, what was left is opened again."""
    found = open_verdicts(state, message_type=message_type, came_from=came_from)
    assert sorted(found) == sorted(accepted)


@pytest.mark.parametrize("state", sorted(set(State) - WAITING - {State.EXITED}))
def test_nothing_else_waits_for_a_verdict(state: State) -> None:
    assert open_verdicts(state, message_type=MessageType.ERROR, came_from=State.WORKING) == ()


def test_a_wait_that_timed_out_is_no_failure() -> None:
    assert is_failure("error", State.WORKING)
    assert not is_failure("error", State.NEEDS_REVIEW)
    assert not is_failure("context_warning", State.WORKING)


def test_what_is_in_conflict_with_what_is_merged_is_not_approved_by_a_person() -> None:
    """AUDIT-V19"""
    found = open_verdicts(
        State.NEEDS_REVIEW,
        message_type=MessageType.COMPLETION,
        came_from=State.WORKING,
        is_in_conflict=True,
    )
    assert set(found) == {State.REVIEW_FAILED, State.FIX_PROPOSED}
