"""Ids are checked before anything is touched, on every command (B43, B18, D8)."""

import os
from pathlib import Path

import pytest

from tests.no_ids import ESCAPING, RESERVED, WIDENING
from tests.surroundings import Call

BY_TASK = [
    ["status"],
    ["history"],
    ["messages"],
    ["send", "TASK", "text"],
    ["stop"],
    ["handoff"],
    ["review", "show"],
    ["review", "approve"],
    ["review", "reject", "TASK", "text"],
    ["review", "fix", "TASK", "text"],
    ["task", "add", "TASK", "--instructions", "PLAN.md"],
    ["claim", "TASK", "--session", "s"],
    ["release", "TASK", "--session", "s"],
    ["heartbeat", "TASK", "--session", "s"],
    ["step", "TASK", "start", "1", "--session", "s"],
    ["deviation", "TASK", "Low", "text", "--session", "s"],
    ["self-correction", "TASK", "text", "--session", "s"],
    ["checkpoint", "TASK", "--session", "s"],
    ["error", "TASK", "text", "--session", "s"],
    ["complete", "TASK", "--session", "s"],
    ["exit", "TASK", "--session", "s"],
    ["inbox", "TASK", "--session", "s"],
    ["wait", "TASK", "--session", "s"],
    ["work", "TASK", "--session", "s"],
    ["propose", "TASK", "text", "--session", "s", "--type", "RAG", "--title", "t"],
    ["validate"],
    ["verify-temp"],
    ["headroom"],
]
FOR_LOOKING = ("status", "history", "messages")


def files(folder: Path) -> dict[str, int]:
    """Every file around with its size, the database's own included."""
    return {str(path): path.stat().st_size for path in sorted(folder.parent.rglob("*")) if path.is_file()}


def with_id(command: list[str], value: str) -> list[str]:
    """Before the id comes ``--``, so that one that looks like an option is taken for an id."""
    words = command if "TASK" in command else [*command, "TASK"]
    place = words.index("TASK")
    options = [word for word in words[place + 1 :] if word.startswith("--")]
    if not options:
        return [*words[:place], "--", value, *words[place + 1 :]]
    split = words.index(options[0])
    return [*words[:place], *words[split:], "--", value, *words[place + 1 : split]]


@pytest.mark.parametrize("command", BY_TASK, ids=lambda command: "-".join(command[:2]))
def test_a_bad_task_id_is_refused_and_nothing_is_touched(ready: Path, call: Call, command: list[str]) -> None:
    before = files(ready)
    for value in (*ESCAPING, *RESERVED, *WIDENING, "", "task-03\nx", "null/"):
        if value == "task-00" and command[0] in FOR_LOOKING:
            continue
        done = call(*with_id(command, value), expect=2)
        assert "is no task id" in done.err, value
        assert done.err.count("\n") == 1
    assert files(ready) == before


@pytest.mark.parametrize("value", ["../../outside", "a b", "", "null", "None", "x' OR '1'='1", "a" * 82])
def test_a_bad_session_id_is_refused_and_nothing_is_touched(ready: Path, call: Call, value: str) -> None:
    before = files(ready)
    for command in BY_TASK:
        if "--session" not in command or command[0] == "work":
            continue
        words = [*command, "--session", value]
        done = call(*["task-01" if word == "TASK" else word for word in words], expect=2)
        assert done.err.startswith("musician: ")
    assert files(ready) == before


def test_a_name_that_is_only_similar_is_unknown(ready: Path, call: Call) -> None:
    """B18, D8: lookups are exact."""
    for value in ("task_01", "task-1", "task-010", "TASK-01"):
        assert "no task" in call("status", value, expect=3).err


def test_a_number_means_the_task_of_that_number(ready: Path, call: Call) -> None:
    for value in ("1", "#1", "01", "task-01"):
        assert call("status", value, "--json").json["task_id"] == "task-01"


def test_the_conductor_s_own_row_can_be_looked_at(ready: Path, call: Call) -> None:
    assert "no task 'task-00'" in call("status", "task-00", expect=3).err


def test_a_bad_id_in_the_environment_is_refused_too(
    ready: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSICIAN_SESSION", "../x")
    assert "is no session id" in call("claim", "task-01", expect=2).err
    assert not os.path.lexists(ready.parent / "x")
