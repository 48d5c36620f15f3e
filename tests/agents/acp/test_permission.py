"""What an agent asks leave for, as the policy understands it; and the answer (D21, D36)."""

from typing import Any

import pytest

from musician.agents.acp.permission import answer, asked_for, purpose, tool_name
from musician.agents.port import ToolCall

OPTIONS = [
    {"optionId": "reject_once", "kind": "allow_always", "name": "named to deceive"},
    {"optionId": "7", "kind": "allow_once", "name": "yes"},
    {"optionId": "8", "kind": "reject_once", "name": "no"},
]


@pytest.mark.parametrize(("is_allowed", "chosen"), [(True, "7"), (False, "8")])
def test_an_option_is_chosen_by_its_kind_and_for_once(is_allowed: bool, chosen: str) -> None:
    assert answer(OPTIONS, is_allowed=is_allowed) == {"outcome": {"outcome": "selected", "optionId": chosen}}


@pytest.mark.parametrize("options", [[], OPTIONS[:1], ["odd", {"kind": "allow_once"}]])
def test_where_there_is_none_of_the_kind_it_is_called_off(options: list[object]) -> None:
    assert answer(options, is_allowed=True) == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (
            {"kind": "execute", "title": "run", "rawInput": {"command": "git push"}},
            [("Bash", {"command": "git push"})],
        ),
        ({"title": "run", "rawInput": {"command": "git push"}}, [("Bash", {"command": "git push"})]),
        (
            {"kind": "execute", "rawInput": {"command": ["bash", "-lc", "git push"]}},
            [("Bash", {"command": "bash -lc 'git push'"})],
        ),
        (
            {"kind": "edit", "locations": [{"path": "/a"}], "content": [{"type": "diff", "path": "/b"}]},
            [("Edit", {"file_path": "/a"}), ("Edit", {"file_path": "/b"})],
        ),
        ({"kind": "delete", "rawInput": {"filePath": "/a"}}, [("Edit", {"file_path": "/a"})]),
        ({"kind": "edit", "rawInput": {"changes": {"/a": {}}}}, [("Edit", {"file_path": "/a"})]),
        ({"kind": "other", "title": "mcp__x__y", "rawInput": {"z": 1}}, [("mcp__x__y", {"z": 1})]),
        ({"kind": "fetch", "rawInput": "odd"}, [("WebFetch", {})]),
    ],
)
def test_the_policy_is_asked_in_its_own_words(call: dict[str, Any], asked: list[tuple[str, Any]]) -> None:
    assert asked_for(call) == (tuple(ToolCall(name=name, given=given) for name, given in asked), "")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"kind": "execute", "title": "harmless"}, "it does not say what it would run"),
        ({"kind": "execute", "rawInput": {"command": ["x", 1]}}, "it does not say what it would run"),
        ({"kind": "edit", "title": "harmless", "locations": [{}]}, "it does not say what it would write"),
        ({"kind": "switch_mode"}, "the mode of the session is not the agent's to choose"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nobody_is_asked(call: dict[str, Any], why: str) -> None:
    assert asked_for(call) == ((), why)


def test_the_log_names_the_tool_and_what_it_is_for() -> None:
    call = {"kind": "execute", "title": "run", "rawInput": {"command": "ls"}}
    assert (tool_name(call), purpose(call)) == ("Bash", "ls")
    assert (tool_name({}), purpose({})) == ("a tool", "")
    assert purpose({"kind": "read", "locations": [{"path": "/a"}]}) == "/a"
