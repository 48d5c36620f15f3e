"""Limits hold, whatever the model does about them (D35): an urgent word, and a spent context."""

from dataclasses import replace
from typing import TYPE_CHECKING

from musician.testing import Part, PrintClient, Received, Reply, Usage, say, use

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"
SPENT = Usage(input=760_000)


def refused(received: Received) -> str:
    (answer,) = received.answers
    assert answer.is_error, answer.text
    return answer.text


def test_an_urgent_stop_during_a_long_call_holds_until_it_is_read(hall: "Hall") -> None:
    """AUDIT-C1, D35.2: a model that minds no pointer gets nothing done, by any tool."""
    late = hall.folder / "late"
    long_call = f"touch '{hall.folder}/long'; until test -e '{hall.folder}/said'; do sleep 0.05; done"

    def goes_on(received: Received) -> Reply:
        return use("Bash", command=f"touch '{late}'")

    def goes_on_again(received: Received) -> Reply:
        assert "urgent message" in refused(received)
        return hall.tool("step", n=1, act="done")

    def reads(received: Received) -> Reply:
        assert "inbox" in refused(received)
        return hall.tool("inbox")

    def has_read(received: Received) -> Reply:
        assert "Stop striking" in received.news_text
        assert not late.exists()
        return use("Bash", command=f"touch '{hall.folder}/read'")

    part = Part(
        hall.tool("step", n=1, act="start"),
        use("Bash", command=long_call),
        goes_on,
        goes_on_again,
        reads,
        has_read,
        hall.tool("handoff", reason="stopped"),
        say("Stopped."),
    )
    _, home = hall.played(part)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        hall.wait((hall.folder / "long").exists)
        hall.person("send", "task-03", "Stop striking.", "--urgent")
        (hall.folder / "said").touch()
        client.end()
    assert part.is_over, hall.told()
    assert (hall.folder / "read").exists()


def test_a_spent_context_begins_nothing_more(hall: "Hall") -> None:
    """AUDIT-C6, D35.1, D42.3: what was begun is finished by the protocol's tools, and the conductor has heard."""
    late = hall.folder / "late"

    def tries_a_step(received: Received) -> Reply:
        assert "handoff" in refused(received)
        return replace(hall.tool("step", n=2, act="start"), usage=SPENT)

    def leaves(received: Received) -> Reply:
        assert "hand off" in refused(received)
        assert not late.exists()
        return hall.tool("handoff", reason="context")

    part = Part(
        hall.tool("step", n=1, act="start"),
        hall.write(hall.right),
        replace(hall.tool("step", n=1, act="done"), usage=SPENT),
        replace(use("Bash", command=f"touch '{late}'"), usage=SPENT),
        tries_a_step,
        leaves,
        say("Done."),
    )
    _, home = hall.played(part)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        client.end()
    assert part.is_over, hall.told()
    assert hall.state() == "exited"
    assert "its context is spent: 76 %" in hall.messages()
