"""``musician attach`` says why it cannot, and what to do instead."""

from pathlib import Path

import pytest

from tests.cli.test_cli_look_at_work import on_a_terminal, submit
from tests.surroundings import Call


def test_a_session_that_cannot_be_released_is_refused_with_what_to_do(
    claimed: Path, call: Call, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(task: str) -> str:
        return " ".join(on_a_terminal(command, "attach", task, expect=4).split())

    assert "this is no terminal" in call("attach", "1", expect=4).err
    assert "nobody plays it: have it played by `musician run PLAN`" in refusal("2")
    assert "opened by hand: go to the terminal" in refusal("1")
    submit(claimed, call)
    assert "musician review show task-01" in refusal("1")
    on_a_terminal(command, "attach", "9", expect=3)
