"""How scripts are held to what they say: a check that could not fail would be none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Play = Callable[[Path, Any], None]

SCRIPT = """\
# Two commands

>>> a folder/file.txt
  $ this is no command

<<<

  $ first
  one

    two
  [exit 3]

Prose between them.

  $ second
  > goes on
"""


class Stage:
    """Prints what it is given."""

    def __init__(self, *prints: str) -> None:
        self.prints = list(prints)
        self.written: list[tuple[str, str]] = []
        self.played: list[str] = []

    def write(self, path: str, text: str) -> None:
        self.written.append((path, text))

    def play(self, command: str) -> str:
        self.played.append(command)
        return self.prints.pop(0)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MUSICIAN_REWRITE", raising=False)
    path = tmp_path / "script.txt"
    path.write_text(SCRIPT)
    return path


def test_a_script_that_is_true_is_played_in_its_order(script: Path, play: Play) -> None:
    stage = Stage("one\n\n  two\n[exit 3]\n", "")
    play(script, stage)
    assert stage.written == [("a folder/file.txt", "  $ this is no command\n\n")]
    assert stage.played == ["first", "second\ngoes on"]
    assert script.read_text() == SCRIPT


@pytest.mark.parametrize(
    "prints",
    [
        ("one\n\n  two\n[exit 4]", ""),
        ("one\n  two\n[exit 3]", ""),
        ("", ""),
        ("one\n\n  two\n[exit 3]", "something"),
    ],
)
def test_anything_else_that_is_printed_is_told_as_a_difference(
    script: Path, play: Play, prints: tuple[str, str]
) -> None:
    with pytest.raises(pytest.fail.Exception, match="MUSICIAN_REWRITE=1 writes it anew"):
        play(script, Stage(*prints))
    assert script.read_text() == SCRIPT


def test_rewriting_changes_what_is_printed_and_nothing_else(
    script: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSICIAN_REWRITE", "1")
    play(script, Stage("", "new\n\nlines"))
    after = SCRIPT.replace("  one\n\n    two\n  [exit 3]\n", "").replace("on\n", "on\n  new\n\n  lines\n")
    assert script.read_text() == after
    monkeypatch.delenv("MUSICIAN_REWRITE")
    play(script, Stage("", "new\n\nlines"))


def test_output_without_a_command_is_a_mistake_in_the_script(script: Path, play: Play) -> None:
    script.write_text("# Nothing\n\n  output\n")
    with pytest.raises(ValueError, match="line 3: output without a command"):
        play(script, Stage())
