"""The self-check calls what the client would call, and tells the dead (B09)."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from musician.hooks.entry import EVENTS
from musician.plugin.check_result import Level
from musician.plugin.installation import install
from musician.plugin.rendering import render, this_program
from musician.plugin.scopes import Installation, for_user
from musician.plugin.selfcheck import check_plugin
from musician.testing.waiting import HANG_S
from musician.trees import marks
from tests.surroundings import git

if TYPE_CHECKING:
    from tests.surroundings import Call


@pytest.fixture
def installed(home: Path) -> Installation:
    place = for_user({"HOME": str(home)})
    install(place, this_program())
    return place


def found(place: Installation) -> dict[str, tuple[Level, str]]:
    return {each.check: (each.level, each.found) for each in check_plugin(place, this_program())}


def only(place: Installation, event: str, *argv: str) -> None:
    """Leave one hook, which runs ``argv``, and no server."""
    hook = {"type": "command", "command": argv[0], "args": list(argv[1:])}
    hooks = {"hooks": {event: [{"hooks": [hook]}]}}
    (place.plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks), encoding="utf-8")
    (place.plugin / ".mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


SPECIFIC = 'print(\'{"hookSpecificOutput": {"hookEventName": "Stop"}}\')'
DEAD = [
    (["/nowhere/python3"], "does not start (No such file"),
    (python("raise SystemExit(3)"), "ends with 3"),
    (python("import sys; sys.stderr.write('no module\\nat all')"), "ends with 0 (no module at all)"),
    (python("print('{}'); print('{}')"), "prints something else than one JSON object"),
    (python("print('hello'); print('{}')"), "prints something else than one JSON object"),
    (python("print([])"), "would not take"),
    (python(SPECIFIC), "would not take"),
    (python("pass"), "lives, but does not deny a push"),
]


@pytest.mark.parametrize(("argv", "told"), DEAD, ids=[told for _, told in DEAD])
def test_a_dead_hook_is_told_with_what_it_did(installed: Installation, argv: list[str], told: str) -> None:
    """B09."""
    only(installed, "PreToolUse", *argv)
    level, said = found(installed)["hook PreToolUse"]
    assert level is Level.FAIL
    assert told in said


def test_a_hook_that_hangs_is_told(installed: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("musician.plugin.selfcheck._HOOK_LIMIT_S", 0.2)
    only(installed, "Stop", *python("import sys, time; sys.stdin.read(); time.sleep(900)"))
    assert found(installed)["hook Stop"] == (Level.FAIL, "does not answer within 0 s")


SERVERS = [
    ("/nowhere/python3", "", "does not start"),
    (sys.executable, "pass", "no answer that the client would take"),
    (sys.executable, "print('musician starts'); input()", "no answer that the client would take"),
    (sys.executable, "import time; time.sleep(900)", "does not answer within"),
    (
        sys.executable,
        'print(\'{"result": {"serverInfo": {}}}\', flush=True); import time; time.sleep(900)',
        "not end",
    ),
]


@pytest.mark.parametrize(
    ("command", "code", "told"), SERVERS, ids=["gone", "mute", "banner", "slow", "stays"]
)
def test_a_dead_server_is_told_with_what_it_did(
    installed: Installation, monkeypatch: pytest.MonkeyPatch, command: str, code: str, told: str
) -> None:
    is_slow = told == "does not answer within"
    monkeypatch.setattr("musician.plugin.selfcheck._SERVER_LIMIT_S", 1.0 if is_slow else HANG_S)
    monkeypatch.setattr("musician.plugin.selfcheck._SERVER_END_LIMIT_S", 1.0)
    only(installed, "SessionEnd", *python("pass"))
    server = {"mcpServers": {"comms-link": {"command": command, "args": ["-I", "-S", "-c", code]}}}
    (installed.plugin / ".mcp.json").write_text(json.dumps(server), encoding="utf-8")
    level, said = found(installed)["server comms-link"]
    assert level is Level.FAIL
    assert told in said


def test_files_of_another_version_are_told(installed: Installation) -> None:
    only(installed, "SessionEnd", *python("pass"))
    level, said = found(installed)["plugin"]
    assert level is Level.FAIL
    assert "hooks.json" in said


def test_an_installation_that_is_not_turned_on_or_not_there_is_told(installed: Installation) -> None:
    only(installed, "SessionEnd", *python("pass"))
    installed.settings.write_text("{}", encoding="utf-8")
    assert found(installed)["settings"] == (Level.WARN, f"{installed.settings} does not turn it on")
    installed.settings.write_text("{", encoding="utf-8")
    assert found(installed)["settings"][0] is Level.FAIL
    shutil.rmtree(installed.folder)
    assert found(installed) == {"plugin": (Level.FAIL, f"there is nothing at {installed.plugin}")}


def a_hook(place: Installation, event: str, said: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What the client gets from the registered script, and what is said on standard error."""
    argv = ["/bin/sh", str(place.plugin / "hooks" / "hook.sh"), event]
    with subprocess.Popen(argv, stdin=-1, stdout=-1, stderr=-1) as hook:
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(said, separators=(",", ":")).encode())
        out, err = hook.communicate(timeout=HANG_S)
    assert hook.returncode == 0
    return json.loads(out) if out else {}, err


def gone(_: Path) -> str:
    return "/nowhere/python3"


def broken(folder: Path) -> str:
    """An interpreter that is there and does not start."""
    path = folder / "python3"
    path.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def rendered(home: Path, python_path: str) -> Installation:
    place = for_user({"HOME": str(home)})
    render(place, replace(this_program(), python=python_path))
    return place


LONG = {
    "session_id": "sess-aaa",
    "command_name": "musician:musician",
    "tool_input": {"content": "x" * 1_000_000},
}


@pytest.mark.parametrize("breaks", [gone, broken], ids=lambda breaks: breaks.__name__)
@pytest.mark.parametrize("event", [each for each in EVENTS if each != "Stop"])
def test_where_its_python_is_gone_a_hook_hears_the_client_out_and_lets_it_go_on(
    call: "Call", home: Path, repository: Path, event: str, breaks: Callable[[Path], str]
) -> None:
    """B06, B10: an answer or none, and no pipe that breaks under a client that has much to say."""
    call("init")
    answer, err = a_hook(rendered(home, breaks(home)), event, LONG)
    assert b"musician plugin install" in err
    told = {"SessionStart": "systemMessage", "UserPromptExpansion": "hookSpecificOutput"}
    assert list(answer) == ([told[event]] if event in told else [])
    assert answer.get("hookSpecificOutput", {}).get("hookEventName", event) == event


def main_tree(repository: Path) -> Path:
    return repository


def a_folder_in_it(repository: Path) -> Path:
    (repository / "src").mkdir()
    return repository / "src"


def a_link_to_it(repository: Path) -> Path:
    repository.with_name("link").symlink_to(repository)
    return repository.with_name("link")


def a_linked_tree(repository: Path) -> Path:
    git(repository, "worktree", "add", "-q", "../linked")
    return repository.with_name("linked")


@pytest.mark.parametrize("breaks", [gone, broken], ids=lambda breaks: breaks.__name__)
@pytest.mark.parametrize(
    "stands", [main_tree, a_folder_in_it, a_link_to_it, a_linked_tree], ids=lambda stands: stands.__name__
)
def test_where_its_python_is_gone_a_musician_is_refused_its_tools(
    home: Path,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    stands: Callable[[Path], Path],
    breaks: Callable[[Path], str],
) -> None:
    """D36.2, D36.3, AUDIT-C3: its mark says who has a claim, wherever it stands and however long it speaks."""
    marks.mark(str(repository / ".git"), "sess-aaa")
    place = rendered(home, breaks(home))
    monkeypatch.chdir(stands(repository))
    for said in (LONG, {**LONG, "agent_id": "a1"}, {"tool_name": "Read", "session_id": "sess-aaa"}):
        refused, _ = a_hook(place, "PreToolUse", said)
        assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert "musician plugin install" in refused["hookSpecificOutput"]["permissionDecisionReason"]
    stranger = {**LONG, "session_id": "sess-zzz", "tool_input": {"command": '"session_id":"sess-aaa"'}}
    assert a_hook(place, "PreToolUse", stranger)[0] == {}
    if breaks is gone:
        assert "plays a task" in a_hook(place, "Stop", LONG)[0]["systemMessage"]
    marks.forget(str(repository / ".git"), "sess-aaa")
    assert a_hook(place, "PreToolUse", LONG)[0] == {}


@pytest.mark.parametrize("event", [each for each in EVENTS if each != "UserPromptExpansion"])
def test_without_a_musician_in_the_repository_no_python_is_started(
    home: Path, repository: Path, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P4: not even where that Python could not start; and nothing is said of it."""
    place = rendered(home, broken(home))
    for folder in (repository, a_folder_in_it(repository), a_link_to_it(repository), home):
        monkeypatch.chdir(folder)
        assert a_hook(place, event, LONG) == ({}, b"")


Doctor = Callable[[], dict[str, Any]]


def test_the_doctor_says_what_is_dead_and_how_to_mend_it(
    call: "Call", repository: Path, installed: Installation
) -> None:
    """B09, CLI-22: doctor and check are one code."""
    call("init")
    only(installed, "Stop", *python("pass"))
    said = call("doctor", expect=1).out
    assert "fail  plugin" in said
    assert (
        "hook Stop: lives, but does not keep a working session: run `musician plugin install` again" in said
    )
    checked = call("plugin", "check", "--json", expect=1).json
    assert not checked["ok"]
    assert {"check": "hook Stop", "level": "fail"}.items() <= checked["findings"][-1].items()


def test_what_is_installed_is_checked_in_whatever_scope(call: "Call", repository: Path) -> None:
    """AUDIT-C12: what is there for the project is not missing for the user."""
    call("init")
    assert "musician plugin install" in call("plugin", "check", expect=1).out
    call("plugin", "install", "--scope", "project")
    assert call("plugin", "check", "--json").json["ok"]
    assert "musician plugin install" in call("plugin", "check", "--scope", "user", expect=1).out


def test_every_part_of_a_fresh_installation_answers(call: "Call", repository: Path) -> None:
    """B09, CLI-22: from paths that no shell would let pass; one that should speak has spoken."""
    call("init")
    call("plugin", "install", "--scope", "project")
    findings = call("plugin", "check", "--scope", "project", "--json").json["findings"]
    told = {each["check"]: (each["level"], each["found"]) for each in findings}
    assert {level for level, _ in told.values()} == {"ok"}
    for event in EVENTS:
        assert f"hook {event}" in told
    for speaking in ("SessionStart", "PreToolUse", "Stop"):
        assert told[f"hook {speaking}"] == ("ok", "answers")
    assert told["server comms-link"][1].startswith("answers as comms-link")
