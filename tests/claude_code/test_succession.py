"""A task outlives its session: a handoff when the context is spent, a cleared conversation, a client that is killed."""

from typing import TYPE_CHECKING

import pytest

from musician.testing import Await, Part, Received, Reply, TerminalClient, say
from tests.claude_code.conftest import CHIMES

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"

ONE_STEP = (
    CHIMES.format(review="human")
    + """\
#### Step 1: Count the strokes
`strokes(hour)` in hours.py.
"""
)


@pytest.mark.needs("tmux")
def test_a_cleared_conversation_keeps_its_task(hall: "Hall") -> None:
    """B05: the session id changes under the musician."""

    def who_am_i(received: Received) -> Reply:
        assert "task-03" in received.news_text
        return hall.tool("step", n=3, act="start")

    part = Part(
        hall.tool("step", n=1, act="start"),
        hall.write(hall.right),
        hall.tool("step", n=1, act="done"),
        hall.tool("step", n=2, act="start"),
        hall.tool("step", n=2, act="done"),
        hall.tool("checkpoint", summary="the bells are counted"),
        say("Submitted."),
        Await(hall.is_in("review_approved")),
        who_am_i,
        hall.tool("step", n=3, act="done"),
        hall.tool("checkpoint", summary="the bells are counted"),
        say("Submitted again."),
        Await(hall.is_in("review_approved")),
        hall.tool("complete"),
        say("The task is complete."),
    )
    model, home = hall.played(part)
    with TerminalClient(home, hall.root, prompt=PROMPT, plugins=[hall.plugin]) as client:
        hall.wait(hall.is_in("needs_review"))
        client.wait_for("Submitted.")
        old = hall.view().row
        client.say("/clear")
        hall.wait(lambda: hall.view().row.session_id != old.session_id)
        assert hall.view().row.claim_epoch == old.claim_epoch + 1
        hall.person("review", "approve", "task-03")
        client.wait_for("Submitted again.")
        hall.wait(hall.is_in("needs_review"))
        hall.person("review", "approve", "task-03")
        client.wait_for("The task is complete.")
    assert hall.state() == "complete"
    assert len({request.session_id for request in model.main}) == 2


@pytest.mark.parametrize("plan", [ONE_STEP], ids=[""])
@pytest.mark.needs("tmux")
def test_a_resumed_session_has_no_monitor_and_is_answered_in_its_last_hook(hall: "Hall") -> None:
    """D11: it waits there without a model, and the person is told, and can have the prompt back."""
    part = Part(
        hall.tool("step", n=1, act="start"),
        hall.write(hall.right),
        hall.tool("step", n=1, act="done"),
        hall.tool("checkpoint", summary="the bells are counted"),
        say("Submitted."),
        say("I wait for the verdict."),
        say("I wait still."),
        Await(hall.is_in("review_approved")),
        hall.tool("complete"),
        say("The task is complete."),
    )
    model, home = hall.played(part)
    with TerminalClient(home, hall.root, prompt=PROMPT, plugins=[hall.plugin]) as client:
        client.wait_for("Submitted.")
    session = model.main[0].session_id
    resume = ("--resume", str(session))
    with TerminalClient(home, hall.root, plugins=[hall.plugin], arguments=resume) as client:
        client.wait_for("type /musician")
        client.say("how far are you?")
        client.wait_for("may the session end?")
        client.press_until(lambda screen: "may the session end?" not in screen, "Escape")
        client.say("and now?")
        client.wait_for("I wait still.")
        client.wait_for("may the session end?")
        hall.person("review", "approve", "task-03")
        client.wait_for("The task is complete.")
    assert hall.state() == "complete"
    assert {request.session_id for request in model.main} == {session}
