"""A claim names a task, a session and an epoch, or it cannot be made."""

import pytest

from musician.protocol.claim import Claim
from musician.protocol.errors import BadId, NoSession


def test_a_claim_keeps_what_it_names() -> None:
    claim = Claim(task_id="task-01", session_id="s", epoch=1)
    assert (claim.task_id, claim.session_id, claim.epoch) == ("task-01", "s", 1)


@pytest.mark.parametrize("task_id", ["", "../x", "task-00", "fallback-s", "CON", "task-01.lock", "task-٠٣"])
def test_no_claim_is_made_of_what_is_no_task(task_id: str) -> None:
    with pytest.raises(BadId):
        Claim(task_id=task_id, session_id="s", epoch=1)


@pytest.mark.parametrize("session_id", ["", " ", "null", "NULL", "None", "undefined"])
def test_an_absent_session_owns_nothing(session_id: str) -> None:
    with pytest.raises(NoSession):
        Claim(task_id="task-01", session_id=session_id, epoch=1)


@pytest.mark.parametrize("epoch", [0, -1])
def test_epochs_count_from_one(epoch: int) -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        Claim(task_id="task-01", session_id="s", epoch=epoch)
