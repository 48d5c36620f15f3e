"""The context budget of a session by hand: the program weighs what it is told with any verb (D15)."""

from pathlib import Path

import pytest

from tests.surroundings import Call


def told(call: Call, message_type: str) -> list[str]:
    found = call("messages", "1", "--json").json["messages"]
    return [each["message"] for each in found if each["message_type"] == message_type]


def write_greeter(folder: Path) -> None:
    tree = folder / ".musician" / "trees" / "greeter" / "task-01"
    (tree / "greeter.py").write_text("def greet(name): return name\n")


@pytest.mark.parametrize(
    ("used", "advice"),
    [
        ("49", None),
        ("50", "estimate before every read"),
        ("64", "can perhaps be reached"),
        ("65", "finish this step only"),
        ("74", "finish this step only"),
    ],
)
def test_any_verb_that_is_told_a_reading_says_what_it_asks_of_the_session(
    claimed: Path, call: Call, used: str, advice: str | None
) -> None:
    """At 50 and 65, and projected at the checkpoint, one step of 8 % ahead."""
    found = call("step", "1", "start", "1", "--context", used, "--json").json["context_advice"]
    assert (found is None) if advice is None else (advice in found)
    shown = call("deviation", "1", "Low", "small", "--context", used).out
    assert (f"context at {used} %" in shown) is (advice is not None)


def test_from_75_on_it_is_to_stop_and_nothing_is_begun(claimed: Path, call: Call) -> None:
    """AUDIT-C6"""
    assert "stop now" in call("deviation", "1", "Low", "small", "--context", "75").out
    refused = call("step", "1", "start", "1", "--context", "75", expect=4)
    assert "75 % of the context is used" in refused.err
    assert "musician exit task-01 --reason context" in refused.err


def test_a_self_correction_makes_the_way_dearer(claimed: Path, call: Call) -> None:
    assert (
        call("step", "1", "start", "1", "--context", "50", "--json").json["context_advice"].startswith("est")
    )
    found = call("self-correction", "1", "wrote it twice", "--context", "50", "--json").json
    assert "cannot be reached" in found["context_advice"]


def test_a_context_warning_by_hand_carries_the_program_s_estimate(claimed: Path, call: Call) -> None:
    call("error", "1", "--context-warning", expect=2)
    assert "--context" in call("error", "1", "--context-warning", expect=None).err
    assert call("error", "1", "it fails", "--context-warning", "--context", "60", expect=2).err
    sent = call("error", "1", "--context-warning", "--context", "60", "--json").json
    assert sent["state"] == "error"
    [text] = told(call, "context_warning")
    assert text.startswith("CONTEXT WARNING: 60% usage")
    assert "Estimate to Checkpoint: ~8%" in text
    assert call("status", "1", "--json").json["last_error"] == "context_exhaustion_warning"
    assert call("status", "1", "--json").json["retry_count"] == 0


def test_who_has_just_reported_is_not_told_to_report(claimed: Path, call: Call) -> None:
    """D15: nothing is played or reported before the answer; that it is time to stop holds all the same."""
    call("step", "1", "start", "1", "--context", "66")
    warned = call("error", "1", "--context-warning", "--context", "66", "--json").json
    assert warned["context_advice"] is None
    call("review", "fix", "1", "go on")
    call("inbox", "1", "--ack")
    call("step", "1", "start", "1")
    failed = call("error", "1", "it fails", "--context", "66", "--json").json
    assert failed["context_advice"] is None
    call("review", "fix", "1", "go on")
    call("inbox", "1", "--ack")
    call("step", "1", "start", "1")
    failed = call("error", "1", "it fails", "--context", "75", "--json").json
    assert failed["context_advice"].startswith("stop now")


def test_a_context_check_goes_before_the_checkpoint_it_falls_together_with(claimed: Path, call: Call) -> None:
    """REF-4: by hand too. At 66 % it proposes the handoff; a changed answer lets it through to the checkpoint."""
    write_greeter(claimed)
    call("step", "1", "start", "1")
    call("step", "1", "done", "1")
    refused = call("checkpoint", "1", "--context", "66", expect=4)
    assert "its context comes first" in refused.err
    assert told(call, "review_request") == []
    assert len(told(call, "context_warning")) == 1
    call("review", "fix", "1", "to the checkpoint first")
    call("inbox", "1", "--ack")
    call("checkpoint", "1", "--context", "67")
    assert len(told(call, "review_request")) == 1


def test_whoever_proposed_to_hand_off_and_was_approved_begins_nothing_more(claimed: Path, call: Call) -> None:
    """D30.1: as a driven session leaves then, one by hand is told to."""
    call("error", "1", "--context-warning", "--context", "66")
    call("review", "approve", "1")
    refused = call("step", "1", "start", "1", expect=4)
    assert "handoff now, as agreed" in refused.err
    assert "musician exit task-01" in refused.err
    call("exit", "1", "--reason", "context")


def test_a_successor_s_context_is_a_fresh_one(claimed: Path, call: Call) -> None:
    call("exit", "1", "--context", "74")
    call("review", "fix", "1", "go on")
    call("claim", "1", "--session", "s2")
    write_greeter(claimed)
    for act in ("start", "done"):
        call("step", "1", act, "1", "--session", "s2")
    call("checkpoint", "1", "--session", "s2")
    assert "Context Usage: unknown" in told(call, "review_request")[0]
