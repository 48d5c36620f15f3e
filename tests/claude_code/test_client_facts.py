"""What the plugin takes for granted about the client it is installed in, asked of the client itself.

A plugin of three lines writes down every event with its environment, and answers as it is told. Where a newer client
behaves differently, these tests say which fact has changed; the plugin's own tests then say what it means.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from musician.testing import ClientHome, PrintClient, PrintResult, ScriptedModel, Usage, say, use
from musician.testing.script import Script

EVENTS = (
    *(
        "SessionStart",
        "UserPromptSubmit",
        "UserPromptExpansion",
        "PreToolUse",
        "PostToolUse",
        "PostToolBatch",
    ),
    *("SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd"),
)

HOOK = """\
import json, os, sys
event = json.load(sys.stdin)
folder = os.environ["RECORDS"]
event["env"] = {key: value for key, value in os.environ.items() if key.startswith("CLAUDE")}
path = event.get("transcript_path")
event["transcript"] = open(path).read() if path and os.path.exists(path) else ""
with open(folder + "/events", "a") as file:
    file.write(json.dumps(event) + "\\n")
if event["hook_event_name"] == "SessionStart" and "CLAUDE_ENV_FILE" in os.environ:
    with open(os.environ["CLAUDE_ENV_FILE"], "a") as file:
        file.write("export SAID_BY_A_HOOK=yes\\n")
answers = json.load(open(folder + "/answers")).get(event["hook_event_name"])
if answers:
    print(json.dumps(answers))
"""

SKILL = """\
---
name: tune
description: Plays a tune.
argument-hint: "[name]"
disable-model-invocation: true
---
Play the tune $0 for session ${CLAUDE_SESSION_ID}.
"""


@dataclass(frozen=True)
class Played:
    """One run of the client, and what the hooks wrote down."""

    result: PrintResult
    events: tuple[Mapping[str, Any], ...]
    model: ScriptedModel

    def named(self, name: str) -> list[Mapping[str, Any]]:
        return [event for event in self.events if event["hook_event_name"] == name]


class Recorder:
    """A folder with the plugin, whose hooks write down what they are told."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self._folder = folder
        self._plugin = folder / "plugin"
        entry = {
            "type": "command",
            "command": sys.executable,
            "args": ["-IS", "${CLAUDE_PLUGIN_ROOT}/hook.py"],
        }
        hooks = {event: [{"hooks": [entry]}] for event in EVENTS}
        files = {
            ".claude-plugin/plugin.json": json.dumps({"name": "band", "version": "0.0.1"}),
            "hooks/hooks.json": json.dumps({"hooks": hooks}),
            "hook.py": HOOK,
            "skills/tune/SKILL.md": SKILL,
        }
        for name, text in files.items():
            path = self._plugin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def play(self, prompt: str, script: Script, *, sub: Script = (), **answers: Mapping[str, Any]) -> Played:
        (self._folder / "answers").write_text(json.dumps(answers), encoding="utf-8")
        with ScriptedModel(script, sub=sub) as model:
            home = ClientHome(
                self._folder / "home",
                model_url=model.url,
                trusts=[self.work],
                allows=["Bash"],
                env={"RECORDS": str(self._folder)},
            )
            with PrintClient(home, self.work, prompt, plugins=[self._plugin]) as client:
                result = client.end()
        lines = (self._folder / "events").read_text().splitlines()
        return Played(result=result, events=tuple(map(json.loads, lines)), model=model)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def context(event: str, text: str) -> Mapping[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def test_events_come_with_the_keys_and_the_environment_that_hooks_read(recorder: Recorder) -> None:
    played = recorder.play(
        "/tune green-sleeves softly",
        [
            use("Bash", command='echo "$SAID_BY_A_HOOK"', usage=Usage(input=4_000, cache_read=321)),
            say("played"),
        ],
    )
    started, *_ = played.named("SessionStart")
    assert started["source"] == "startup"
    assert started["env"]["CLAUDE_PLUGIN_ROOT"].endswith("plugin")
    assert started["env"]["CLAUDE_PROJECT_DIR"] == str(recorder.work)
    assert started["env"]["CLAUDE_CODE_SESSION_ID"] == started["session_id"]
    assert started["env"]["CLAUDE_CODE_SESSION_ATTENDED"] == "0"
    assert "CLAUDE_ENV_FILE" in started["env"]
    (expanded,) = played.named("UserPromptExpansion")
    assert expanded["command_name"].split(":")[-1] == "tune"
    assert expanded["command_args"] == "green-sleeves softly"
    (before,) = played.named("PreToolUse")
    assert before["tool_name"] == "Bash"
    assert before["tool_input"]["command"].startswith("echo")
    assert before["tool_use_id"]
    assert "agent_id" not in before
    (batch,) = played.named("PostToolBatch")
    assert '"input_tokens":4000' in batch["transcript"], "the measured context lags"
    assert '"cache_read_input_tokens":321' in batch["transcript"]
    (stopped,) = played.named("Stop")
    assert (stopped["stop_hook_active"], stopped["last_assistant_message"]) == (False, "played")
    assert {event["session_id"] for event in played.events} == {started["session_id"]}
    assert all({"session_id", "transcript_path", "cwd"} <= set(event) for event in played.events)
    first, second = played.model.main
    assert f"Play the tune green-sleeves for session {started['session_id']}." in first.all_text
    assert [answer.text for answer in second.answers] == ["yes"]


def test_what_a_hook_adds_arrives_with_authority_and_what_it_denies_does_not_happen(
    recorder: Recorder,
) -> None:
    mark = recorder.work / "mark"
    denied = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "not in this house",
    }
    played = recorder.play(
        "/tune green-sleeves",
        [use("Bash", command=f"touch '{mark}'"), say("well then")],
        SessionStart=context("SessionStart", "said at the start"),
        UserPromptExpansion=context("UserPromptExpansion", "said at the prompt"),
        PostToolBatch=context("PostToolBatch", "said after the tools"),
        PreToolUse={"hookSpecificOutput": denied},
    )
    assert not mark.exists()
    first, second = played.model.main
    system = "\n".join(message.text for message in first.messages if message.role == "system")
    assert "said at the start" in system
    assert "said at the prompt" in system
    (answer,) = second.answers
    assert answer.is_error
    assert "not in this house" in answer.text
    assert "said after the tools" in second.news_text


def test_a_gate_that_never_opens_is_overridden_by_the_client_and_the_session_ends_as_a_success(
    recorder: Recorder,
) -> None:
    played = recorder.play(
        "hum", lambda request: say("enough"), Stop={"decision": "block", "reason": "go on"}
    )
    stops = played.named("Stop")
    assert [stop["stop_hook_active"] for stop in stops] == [False, *[True] * (len(stops) - 1)]
    assert len(stops) == 9
    assert "go on" in played.model.main[1].news_text
    assert (played.result.code, played.result.is_error) == (0, False)


def test_a_subagent_has_the_sessions_id_and_one_of_its_own(recorder: Recorder) -> None:
    ask = use(
        "Agent",
        description="count",
        prompt="count the pipes",
        subagent_type="general-purpose",
        run_in_background=False,
    )
    played = recorder.play("hum", [ask, say("done")], sub=[use("Bash", command="echo 8"), say("eight pipes")])
    (started,) = played.named("SubagentStart")
    (stopped,) = played.named("SubagentStop")
    inside = [event for event in played.named("PreToolUse") if event["tool_name"] == "Bash"]
    assert {event["agent_id"] for event in (started, stopped, *inside)} == {started["agent_id"]}
    assert started["session_id"] == played.named("SessionStart")[0]["session_id"]
    assert "eight pipes" in played.model.main[-1].news_text
