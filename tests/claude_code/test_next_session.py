"""A task outlives its session: a handoff when the context is spent, and a client that is killed in the middle."""

from typing import TYPE_CHECKING

import pytest

from musician.testing import Await, Part, PrintClient, Received, Reply, Usage, say, use
from musician.testing.part import Act
from musician.testing.waiting import HANG_S
from tests.claude_code.conftest import CHIMES

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"

TWO_STEPS = (
    CHIMES
    + """\
#### Step 1: Count the strokes
`strokes(hour)` in hours.py.
#### Step 2: Name the bell
`bell(hour)` in hours.py.
"""
)


def to_the_end(hall: "Hall", *begins: Act) -> Part:
    """A session that has taken up step 2, which was all that was left."""
    return Part(
        *begins,
        hall.tool("step", n=2, act="done"),
        hall.tool("checkpoint", summary="the bells are counted"),
        say("Submitted."),
        Await(hall.is_in("review_approved")),
        hall.tool("complete"),
        say("Complete."),
    )


@pytest.mark.parametrize("plan", [TWO_STEPS.format(review="human")], ids=[""])
def test_a_session_whose_context_is_spent_hands_off_and_a_second_one_goes_on(hall: "Hall") -> None:
    def worried(received: Received) -> Reply:
        assert "66" in received.news_text
        return hall.tool("step", n=1, act="done")

    def spent(received: Received) -> Reply:
        assert "76" in received.news_text
        return hall.tool("handoff", reason="context exhaustion", notes="the bells are counted")

    first = Part(
        hall.tool("step", n=1, act="start"),
        use("Bash", command=hall.writing(hall.right), usage=Usage(input=660_000)),
        worried,
        use("Bash", command="true", usage=Usage(input=1_000, cache_read=759_000)),
        spent,
        say("I have handed off."),
    )
    _, home = hall.played(first, "first")
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        assert client.end().text == "I have handed off."
    assert hall.state() == "exited"
    hall.person("review", "fix", "task-03", "go on with the bell")

    def resumed(received: Received) -> Reply:
        assert "step 2" in received.news_text
        assert "clean handoff" in received.news_text
        assert hall.state() == "working"
        return use("Read", file_path=str(hall.root / "temp" / "task-03-HANDOFF"))

    def informed(received: Received) -> Reply:
        assert "the bells are counted" in received.news_text
        return hall.tool("step", n=2, act="start")

    second = to_the_end(hall, resumed, informed)
    _, home = hall.played(second, "second")
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        hall.wait(hall.is_in("needs_review"))
        hall.person("review", "approve", "task-03")
        assert client.end().text == "Complete."
    assert hall.state() == "complete"
    first_session, *_ = hall.view().sessions
    assert first_session.context_pct == pytest.approx(76)


@pytest.mark.parametrize("plan", [TWO_STEPS.format(review="rules")], ids=[""])
def test_a_killed_client_is_known_to_be_dead_at_once_and_a_second_session_goes_on(hall: "Hall") -> None:
    first = Part(
        hall.tool("step", n=1, act="start"),
        hall.write(hall.right),
        hall.tool("step", n=1, act="done"),
        hall.tool("step", n=2, act="start"),
        use("Bash", command=f"echo half >> '{hall.tree}/hours.py'; touch '{hall.folder}/long'; sleep 600"),
    )
    _, home = hall.played(first, "first")
    run = hall.start("run", "PLAN.md", "--jobs", "0")
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        hall.wait((hall.folder / "long").exists)
        assert hall.state() == "working"
        client.kill()
        hall.wait(hall.is_in("fix_proposed"))

    def resumed(received: Received) -> Reply:
        assert "step 2" in received.news_text
        assert "half" not in (hall.tree / "hours.py").read_text()
        return hall.tool("step", n=2, act="start")

    second = to_the_end(hall, resumed)
    _, home = hall.played(second, "second")
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        out, _ = run.communicate(timeout=HANG_S)
        assert run.returncode == 0, out
        assert client.end().text == "Complete."
    assert "musician-task-03 died" in out
    assert "def bell" in hall.git("show", "trunk:hours.py")
