"""Only what was played can be submitted, and an approval covers no more than it saw, by hand (D28, D29)."""

from pathlib import Path

import pytest

from tests.surroundings import Call, git, play


def tree_of(folder: Path) -> Path:
    return folder / ".musician" / "trees" / "greeter" / "task-01"


def write_greeter(folder: Path, text: str = "def greet(name): return name\n") -> None:
    (tree_of(folder) / "greeter.py").write_text(text)


def state(call: Call) -> str:
    return str(call("status", "task-01", "--json").json["state"])


def journal(call: Call, kind: str) -> list[str]:
    found = call("timeline", "--json").json["timeline"]
    return [each["text"] for each in found if each["source"] == "journal" and kind in each["text"]]


def approve_all(folder: Path, call: Call) -> None:
    write_greeter(folder)
    for number in (1, 2):
        play(call, number)
        call("checkpoint", "1")
        call("review", "approve", "1")


def test_a_checkpoint_is_refused_while_an_item_before_it_is_open(claimed: Path, call: Call) -> None:
    """AUDIT-V5, D29.1."""
    write_greeter(claimed)
    refused = call("checkpoint", "1", expect=4).err
    assert "before checkpoint 1 comes what is not done yet: step 1" in refused
    assert "musician step task-01 skipped 1 WHY" in refused
    call("step", "1", "start", "1")
    assert "step 1" in call("checkpoint", "1", expect=4).err, "begun is not done"
    call("step", "1", "done", "1")
    last = call("checkpoint", "1", "2", expect=4).err
    assert "checkpoint 1, step 2" in last
    assert "submit it first: `musician checkpoint task-01`" in last
    call("checkpoint", "1")


def test_what_is_left_out_is_a_medium_deviation_with_a_reason(claimed: Path, call: Call) -> None:
    """AUDIT-V5, D29.2."""
    for words in (("skipped", "1"), ("done", "1", "a reason"), ("start", "1", "a reason")):
        call("step", "1", *words, expect=2)
    call("step", "1", "skipped", "1", "it was there already")
    write_greeter(claimed)
    call("checkpoint", "1")
    shown = call("review", "show", "1", "--json").json
    assert "Deviations: 1 (Medium" in shown["message"]["message"]
    assert [(each["severity"], each["text"]) for each in shown["deviations"]] == [
        ("Medium", "it was there already")
    ]
    assert "open deviation (Medium): step 1 left out: it was there already" in call("review", "show", "1").out
    call("review", "approve", "1")
    assert call("review", "show", "1", "--json").json["deviations"] == [], "a verdict rules it, once"
    assert "it is done already" in call("step", "1", "skipped", "1", "again", expect=2).err


@pytest.mark.parametrize(
    "words",
    [("start", "99"), ("done", "99"), ("start", "99999999999999999999"), ("done", "9", "--agent", "9")],
)
def test_items_that_the_task_has_not_are_refused(claimed: Path, call: Call, words: tuple[str, ...]) -> None:
    """AUDIT-V7, D29.3."""
    assert "the task has step 1, step 2" in call("step", "1", *words, expect=2).err
    assert journal(call, "step") == []


@pytest.mark.parametrize("words", [("done", "1"), ("done", "2", "--agent", "1"), ("done", "2", "--commit")])
def test_what_was_not_started_is_not_done(claimed: Path, call: Call, words: tuple[str, ...]) -> None:
    """AUDIT-V7, D29.3."""
    assert "was not started" in call("step", "1", *words, expect=4).err
    assert journal(call, "completed") == journal(call, "returned") == []


def test_what_another_claim_started_is_started_anew(claimed: Path, call: Call) -> None:
    """AUDIT-V7: what the session before it left was set aside."""
    call("step", "1", "start", "1")
    call("release", "1")
    call("review", "fix", "1", "go on")
    call("claim", "1", "--session", "s2")
    assert "was not started" in call("step", "1", "done", "1", "--session", "s2", expect=4).err


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("name", ["greeter.py", "more.py"])
def test_an_approved_completion_does_not_cover_what_came_after_it(
    claimed: Path, call: Call, committed: bool, name: str
) -> None:
    """AUDIT-V6, D28.1."""
    approve_all(claimed, call)
    tree = tree_of(claimed)
    (tree / name).write_text("raise SystemExit\n")
    if committed:
        git(tree, "add", "-A")
        git(tree, "commit", "-qm", "one more thing")
    refused = call("complete", "1", expect=4).err
    assert "since what stands approved was submitted" in refused
    assert "submit it again: `musician checkpoint task-01`" in refused
    assert state(call) == "review_approved"
    assert call("checkpoint", "1", "--json").json["checkpoint"] == 2
    call("complete", "1", expect=4)
    call("review", "approve", "1")
    call("complete", "1")


def test_work_that_was_only_written_down_is_submitted_again_too(claimed: Path, call: Call) -> None:
    """AUDIT-V6, D28.1: the journal is part of what was approved."""
    approve_all(claimed, call)
    call("step", "1", "start", "2")
    assert "something was played since" in call("complete", "1", expect=4).err
    call("step", "1", "done", "2")
    call("checkpoint", "1")
    call("review", "approve", "1")
    call("complete", "1")


def test_what_the_tests_leave_lying_about_moves_nothing(claimed: Path, call: Call) -> None:
    """D28: a tree at the submitted commit is that tree."""
    approve_all(claimed, call)
    for path in tree_of(claimed).glob("__pycache__"):
        path.rename(path.with_name("gone"))
        git(tree_of(claimed), "clean", "-fdq")
    call("complete", "1")


def test_a_red_checkpoint_is_not_run_again_on_an_unchanged_tree(
    claimed: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-V17, D29.5: asked again and again; the third time is an error that the conductor hears."""
    runs = claimed.parent / "runs"
    monkeypatch.setenv("RUNS", str(runs))
    (tree_of(claimed) / "test_greeter.py").write_text(
        "import os, unittest\n\nopen(os.environ['RUNS'], 'a').write('x')\n\n\n"
        "class Greeting(unittest.TestCase):\n    def test_it_is_there(self):\n        self.fail('no')\n"
    )
    play(call, 1)
    assert "mend it" in call("checkpoint", "1", expect=4).err
    first = runs.read_text()
    again = call("checkpoint", "1", expect=4).err
    assert "unchanged: " in again
    assert runs.read_text() == first
    told = call("checkpoint", "1", expect=4).err
    assert "tells the conductor" in told
    assert (runs.read_text(), state(call)) == (first, "error")
    report = call("messages", "1", "--json").json["messages"][-1]
    assert "checkpoint 1: red 3 times in a row" in report["message"]
    call("review", "fix", "1", "the network is back")
    call("checkpoint", "1", expect=4)
    assert runs.read_text() > first, "an answer may have mended what is no part of the tree"


def test_a_failure_is_answered_and_not_approved(claimed: Path, call: Call) -> None:
    """AUDIT-P13."""
    call("step", "1", "start", "1")
    call("error", "1", "no such server")
    refused = call("review", "approve", "1", expect=4).err
    assert "has submitted nothing that could be approved" in refused
    assert "musician review fix task-01 TEXT" in refused
    assert state(call) == "error"
    call("review", "fix", "1", "it is up again")


def test_what_a_person_has_judged_makes_nothing_rough(claimed: Path, call: Call) -> None:
    """AUDIT-V18: errors that were answered, verdicts, what was red before: the musician has no means to mend them."""
    call("step", "1", "start", "1")
    for text in ("no server", "no network"):
        call("error", "1", text)
        call("review", "fix", "1", "it is up again")
    call("step", "1", "start", "1")
    call("step", "1", "done", "1")
    call("checkpoint", "1", expect=4)
    write_greeter(claimed)
    call("checkpoint", "1")
    for _ in range(2):
        assert "Smoothness: 1/9" in call("review", "show", "1").out
        call("review", "reject", "1", "I would like another name")
        write_greeter(claimed, "def greet(whom): return whom\n")
        call("checkpoint", "1", "--smoothness", "1")
