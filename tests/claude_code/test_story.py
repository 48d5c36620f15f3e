"""A whole task in each of the client's three modes: claim, steps, refusals, a red and a green checkpoint, a rejection,
an urgent word during a long tool call, approval, completion. The person conducts by the command line.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import anyio
import pytest
from claude_agent_sdk import ResultMessage

from musician.testing import Await, ClientHome, Part, PrintClient, Received, Reply, TerminalClient, say, use
from musician.testing.hosted_client import HostedClient

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"
URGENT = "Mind the neighbours: strike softly."


def the_task(hall: "Hall") -> Part:
    """What the model does, and what it must have been told each time."""

    def begin(received: Received) -> Reply:
        assert str(hall.tree) in received.news_text
        assert "Count the strokes" in received.news_text
        assert hall.state() == "working"
        return hall.tool("step", n=1, act="start")

    def kept_going(received: Received) -> Reply:
        assert "task-03 is working" in received.news_text
        assert 'step(n=…, act="start")' in received.news_text
        return use("Bash", command="git -C . push origin trunk")

    def push_was_denied(received: Received) -> Reply:
        (answer,) = received.answers
        assert answer.is_error
        assert "push" in answer.text
        return use("mcp__knowledge__ingest_data", text="bells are loud")

    def ingestion_was_denied(received: Received) -> Reply:
        (answer,) = received.answers
        assert answer.is_error
        assert "propos" in answer.text
        return hall.tool("step", n=2, act="start")

    def checkpoint_was_red(received: Received) -> Reply:
        (answer,) = received.answers
        assert "not green" in answer.text
        assert "test_noon_is_struck_twelve_times" in answer.text
        assert hall.state() == "working"
        return hall.write(hall.right)

    def sent_back(received: Received) -> Reply:
        assert "name the bell in the docstring" in received.news_text
        return hall.write('"""Hours, and the bell."""\n\n\n' + hall.right)

    def urgent_has_come(received: Received) -> Reply:
        assert URGENT in received.news_text or "inbox" in received.news_text
        return hall.tool("inbox")

    def urgent_was_read(received: Received) -> Reply:
        assert URGENT in received.news_text
        return hall.write('"""Hours, and the bell."""\n\n\n' + hall.right + hall.strike)

    long_call = f"touch '{hall.folder}/long'; until test -e '{hall.folder}/said'; do sleep 0.05; done"
    return Part(
        begin,
        hall.write(hall.wrong),
        hall.tool("step", n=1, act="done"),
        say("That is enough for today."),
        kept_going,
        push_was_denied,
        ingestion_was_denied,
        hall.tool("step", n=2, act="done"),
        hall.tool("checkpoint", summary="the bells are counted"),
        checkpoint_was_red,
        hall.tool("checkpoint", summary="the bells are counted"),
        say("The first checkpoint is submitted."),
        Await(hall.is_in("review_failed")),
        hall.tool("inbox"),
        sent_back,
        hall.tool("checkpoint", summary="the bells are counted"),
        say("Submitted again."),
        Await(hall.is_in("review_approved")),
        hall.tool("step", n=3, act="start"),
        use("Bash", command=long_call),
        urgent_has_come,
        urgent_was_read,
        hall.tool("step", n=3, act="done"),
        hall.tool("checkpoint", summary="the bells are counted"),
        say("All is submitted."),
        Await(hall.is_in("review_approved")),
        hall.tool("complete"),
        say("The task is complete."),
    )


def conduct(hall: "Hall") -> None:
    """What the person does."""
    hall.wait(hall.is_in("needs_review"))
    hall.person("review", "reject", "task-03", "name the bell in the docstring")
    hall.wait(hall.is_in("needs_review"))
    hall.person("review", "approve", "task-03")
    hall.wait((hall.folder / "long").exists)
    hall.person("send", "task-03", URGENT, "--urgent")
    (hall.folder / "said").touch()
    hall.wait(hall.is_in("needs_review"))
    hall.person("review", "approve", "task-03")


def in_a_terminal(hall: "Hall", home: ClientHome, part: Part) -> None:
    with TerminalClient(home, hall.root, prompt=PROMPT, plugins=[hall.plugin]) as client:
        client.wait_for(lambda _: part.is_over)
        client.wait_for("The task is complete.")
        client.say("/exit")
        client.wait_until_over()


def printed(hall: "Hall", home: ClientHome, part: Part) -> None:
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        result = client.end()
    assert (result.code, result.text) == (0, "The task is complete.")


def hosted(hall: "Hall", home: ClientHome, part: Part) -> None:
    async def play() -> None:
        async with HostedClient(home, hall.root, plugins=[hall.plugin]) as client:
            await client.turn(PROMPT)
            while (waits := part.waits) is not None:
                await anyio.to_thread.run_sync(hall.wait, waits.condition)
                await client.turn("There is a message for task-03: read it.")
            last = client.messages[-1]
            assert isinstance(last, ResultMessage)
            assert last.result == "The task is complete."

    anyio.run(play)


@pytest.mark.parametrize(
    "mode",
    [pytest.param(in_a_terminal, marks=pytest.mark.needs("tmux")), printed, hosted],
    ids=lambda mode: mode.__name__,
)
def test_a_task_is_played_from_the_claim_to_its_completion(
    hall: "Hall", mode: Callable[["Hall", ClientHome, Part], None]
) -> None:
    """S-TOOL-1, among much else: what it would put into the knowledge base is refused."""
    part = the_task(hall)
    _, home = hall.played(part)
    with ThreadPoolExecutor() as pool:
        conducted = pool.submit(conduct, hall)
        mode(hall, home, part)
        conducted.result()
    assert part.is_over
    assert hall.state() == "complete"
    assert hall.git("ls-remote", "origin") == ""
    assert not hall.ingested.exists()
