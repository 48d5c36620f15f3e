"""A full window is a handoff, by the program (D42): its model is not asked any more."""

from dataclasses import replace
from typing import TYPE_CHECKING

from musician.testing import Part, PrintClient, ScriptedFailure, Usage, say, use

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"
FULL = Usage(input=985_000)


def handed_off(hall: "Hall") -> str:
    """The HANDOFF that the program wrote."""
    hall.wait(hall.is_in("exited"))
    text = (hall.root / "temp" / "task-03-HANDOFF").read_text(encoding="utf-8")
    assert "context exhaustion" in text
    assert "I have counted to seven" in text
    return text


def test_a_window_that_is_full_hands_off_and_the_client_compacts(hall: "Hall") -> None:
    """AUDIT-K3, D42.1: the conductor hears of it, the work lies in the tree's history, the claim has ended."""

    part = Part(
        hall.tool("step", n=1, act="start"),
        hall.write(hall.right),
        hall.tool("step", n=1, act="done"),
        replace(use("Bash", command="seq 7"), text="I have counted to seven.", usage=FULL),
        say("Compacted, and a musician no more."),
    )
    model, home = hall.played(part)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        assert client.end().code == 0
    assert "step 2" in handed_off(hall)
    assert "its context is spent" in hall.messages()
    assert "claim on task-03 has ended" in model.main[-1].all_text


def test_where_the_model_refuses_a_prompt_that_is_too_long_the_program_hands_off(hall: "Hall") -> None:
    """AUDIT-K3, D42.1: every further turn would fail like it."""
    too_long = ScriptedFailure(
        status=400, kind="invalid_request_error", message="prompt is too long: 1000001 tokens > 1000000"
    )
    begun = Part(
        hall.tool("step", n=1, act="start"),
        replace(use("Bash", command="seq 7"), text="I have counted to seven."),
    )
    _, home = hall.played(lambda received: too_long if begun.is_over else begun(received))
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        client.end()
    handed_off(hall)
