"""What a person says to lines of a task's work, from the terminal: gathered, sent as points, answered, still beside."""

import os
from pathlib import Path

import pytest

from musician.protocol.messages.corrections import corrections_in
from tests.cli.test_cli_look_at_work import submit, tree_of
from tests.surroundings import Call


def test_comments_go_as_points_of_one_rejection_and_stand_beside_their_answers(
    claimed: Path, call: Call
) -> None:
    """LINE-COMMENTS: a comment is never a step that could be run; its line is found again where it has moved."""
    (tree_of(claimed) / "notes.md").write_text("Later.\n")
    submit(claimed, call)
    said = call("review", "comment", "1", "./greeter.py:1", "say who is greeted; $(touch ran)")
    assert said.out.splitlines()[0] == "draft 1 on greeter.py:1"
    call("review", "comment", "1", "notes.md:1", "is this\nneeded?")
    listed = call("review", "comments", "1").out
    assert "draft 1: greeter.py:1: say who is greeted" in listed
    assert "| def greet(name): return name" in listed
    assert "2 drafts" in call("review", "approve", "1", expect=2).err
    message_id = call("review", "reject", "1", "Almost:\n1. a docstring", "--json").json["message_id"]
    text = call("show", "message", str(message_id), "--json").json["message"]
    assert corrections_in(text, message_id) == ()
    assert (
        "\n2. greeter.py:1: say who is greeted; $(touch ran)\n   | def greet(name): return name\n3. notes"
        in text
    )
    assert call("review", "comments", "1").out.startswith("no drafts\nsent back by message")

    call("inbox", "1", "--ack")
    (tree_of(claimed) / "greeter.py").write_text("# greets\n\n\ndef greet(name): return name\n")
    (tree_of(claimed) / "notes.md").unlink()
    call("checkpoint", "1", "--summary", "Done. 1. There is one. 2. The name is.")
    seen = call("review", "comments", "1").out
    assert "   answered: There is one." in seen
    assert "| def greet(name): return name (now greeter.py:4)\n   answered: The name is." in seen
    assert "(the file is gone)\n   not answered" in seen
    (round_,) = call("review", "comments", "1", "--json").json["rounds"]
    assert [point["answer"] for point in round_["points"]] == ["There is one.", "The name is.", ""]
    assert round_["points"][1]["comment"]["now"] == {"path": "greeter.py", "line": 4, "is_changed": False}
    assert not (claimed / "ran").exists()


def test_what_cannot_be_said_is_refused_with_what_to_do(claimed: Path, call: Call) -> None:
    """LINE-COMMENTS."""
    assert "musician status task-02" in call("review", "comment", "2", "a.py:1", "x", expect=4).err
    submit(claimed, call)
    for place in ("greeter.py:2", "gone.py:1", "greeter.py:0", "greeter.py", ":1", "../x:1"):
        assert "musician" in call("review", "comment", "1", place, "x", expect=2).err
    assert "say what is wrong" in call("review", "reject", "1", expect=2).err
    call("review", "comment", "1", "greeter.py:1", "x")
    call("review", "comments", "1", "--drop", "1")
    assert "lists the drafts" in call("review", "comments", "1", "--drop", "1", expect=2).err
    call("review", "approve", "1")


@pytest.mark.parametrize("named", ["as it is shown", "by its bytes"])
def test_a_line_of_a_file_whose_name_is_no_text_is_commented_and_answered(
    claimed: Path, call: Call, named: str
) -> None:
    """LINE-COMMENTS: one whose name only looks like it is another file."""
    raw, shown = os.fsencode(tree_of(claimed)) + b"/caf\xe9.txt", r"caf\xe9.txt"
    Path(os.fsdecode(raw)).write_text("one\ntwo\n")
    submit(claimed, call)
    place = f"{shown}:2" if named == "as it is shown" else os.fsdecode(b"caf\xe9.txt:2")
    assert call("review", "comment", "1", place, "why two?").out.startswith(f"draft 1 on {shown}:2")
    assert "musician" in call("review", "comment", "1", r"caf\xe8.txt:2", "x", expect=2).err
    call("review", "reject", "1")
    call("inbox", "1", "--ack")
    Path(os.fsdecode(raw)).write_text("zero\none\ntwo\n")
    call("checkpoint", "1", "--summary", "1. There are two.")
    seen = call("review", "comments", "1").out
    assert f"{shown}:2: why two?" in seen
    assert f"| two (now {shown}:3)\n   answered: There are two." in seen


def test_what_was_said_is_found_in_an_archived_plan(claimed: Path, call: Call) -> None:
    """LINE-COMMENTS."""
    submit(claimed, call)
    call("review", "comment", "1", "greeter.py:1", "say who")
    call("review", "reject", "1")
    call("exit", "1")
    call("plan", "archive", "greeter", "--abandon", "no time")
    assert "greeter.py:1: say who" in call("review", "comments", "1", "--plan", "greeter").out
    assert (
        "leave --drop out"
        in call("review", "comments", "1", "--plan", "greeter", "--drop", "1", expect=2).err
    )
