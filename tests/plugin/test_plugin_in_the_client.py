"""The installed plugin in the real client: found by its settings, valid, and gone when it is uninstalled."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.hooks.entry import EVENTS
from musician.plugin.check_result import Level
from musician.plugin.rendering import render, this_program
from musician.plugin.scopes import for_user
from musician.plugin.selfcheck import check_plugin
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.sqlite.store import SqliteStore
from musician.testing import ClientHome, PrintClient, Reply, ScriptedModel, TerminalClient, say, until, use
from musician.testing.waiting import HANG_S
from tests.said import report as report_of

if TYPE_CHECKING:
    from tests.surroundings import Call


class Played:
    """Sessions of one prompt in the repository, with the home's settings."""

    def __init__(self, home: ClientHome, model: ScriptedModel, cwd: Path, steps: list[Reply]) -> None:
        self._home, self.model, self._cwd = home, model, cwd
        self.steps = steps  # what the model does before it is done

    def printing(self, prompt: str) -> PrintClient:
        return PrintClient(self._home, self._cwd, prompt)

    def terminal(self, prompt: str) -> TerminalClient:
        return TerminalClient(self._home, self._cwd, prompt=prompt)

    def started(self, *plugins: Path) -> bool:
        """Whether the plugin's hook told the session its id."""
        with PrintClient(self._home, self._cwd, "hello", plugins=plugins) as client:
            assert client.end().text == "done"
            session = client.session_id
        told = json.dumps(self.model.main[-1].body["messages"])
        return session in told

    def claude(self, *arguments: str) -> str:
        """What a command of the client's prints; it must end well."""
        done = subprocess.run(
            [str(self._home.client), *arguments],
            cwd=self._cwd,
            env=self._home.env,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def played(home: Path, repository: Path, call: "Call", monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    call("init")
    steps: list[Reply] = []
    with ScriptedModel(lambda _: steps.pop(0) if steps else say("done")) as model:
        client_home = ClientHome(home, model_url=model.url, trusts=[repository], allows=["Bash"])
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(client_home.config))
        yield Played(client_home, model, repository, steps)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_an_installed_plugin_is_loaded_in_place_and_gone_when_it_is_uninstalled(
    played: Played, call: "Call", home: Path, scope: str
) -> None:
    """B09, CLI-22: no command of the client's is needed, whatever the paths are."""
    settings = home / ".claude" / "settings.json"
    before = settings.read_bytes()
    assert not played.started()
    call("plugin", "install", "--scope", scope)
    assert played.started()
    call("plugin", "uninstall", "--scope", scope)
    assert not played.started()
    assert settings.read_bytes() == before
    assert "musician" not in played.claude("plugin", "marketplace", "list")


@pytest.mark.deep
def test_installed_twice_it_is_there_once(played: Played, call: "Call") -> None:
    """The client takes one plugin of a name, wherever it knows it from."""
    call("plugin", "install")
    call("plugin", "install", "--scope", "project")
    assert played.started(Path(call("plugin", "path").out.rstrip("\n")))
    first = json.dumps(played.model.main[-1].body["messages"])
    assert first.count("CLAUDE_SESSION_ID=") == 1


@pytest.mark.deep
def test_a_folder_is_enough_for_one_session(played: Played, call: "Call") -> None:
    assert played.started(Path(call("plugin", "path").out.rstrip("\n")))
    assert not played.started()


@pytest.mark.deep
def test_the_client_finds_nothing_wrong_with_the_plugin(played: Played, call: "Call") -> None:
    plugin = call("plugin", "path").out.rstrip("\n")
    said = played.claude("plugin", "validate", "--strict", plugin)
    assert "Validation passed" in said
    assert "skills: musician:musician" in said
    assert "Validation passed" in played.claude("plugin", "validate", "--strict", str(Path(plugin).parent))


@pytest.mark.deep
@pytest.mark.needs("tmux")
@pytest.mark.parametrize("scope", ["user", "project"])
def test_an_idle_session_is_woken_by_the_plugins_monitor_and_has_its_status_line(
    played: Played, call: "Call", store: SqliteStore, scope: str
) -> None:
    """B09, D11: monitor and status line go through a shell, and no path means anything to it."""
    call("plugin", "install", "--statusline", "--scope", scope)
    with played.terminal("/musician task-03") as client:
        client.wait_for("done")
        first = played.model.main[0]
        session = first.session_id
        assert session is not None
        assert "You are a musician" in first.news_text
        claims = service.claims_of(store, session)
        claim = claims[0] if claims else service.claim(store, "task-03", session, settings=Settings()).claim
        text = "ERROR: no migration"
        service.report(store, claim, report_of(MessageType.ERROR, text), last_error="no migration")
        service.judge(store, "task-03", State.FIX_PROPOSED, "use column mass")
        newest = service.unread(store, "task-03")[-1].id
        woken = until(lambda: [each for each in played.model.main[1:] if "call inbox" in each.news_text])
        assert f"task-03 is fix_proposed: message {newest}, call inbox" in woken[0].news_text
        client.wait_for("task-03 fix_proposed")


@pytest.mark.deep
def test_where_what_the_plugin_runs_on_is_gone_nobody_is_blocked_and_the_person_is_told(
    played: Played, call: "Call", store: SqliteStore
) -> None:
    """B10: a stranger's session works on, and one that is called for does not play unclaimed."""
    call("plugin", "install")
    gone = replace(this_program(), python="/nowhere/python3")
    plugin = for_user(os.environ)
    render(plugin, gone)
    played.steps.append(use("Bash", command="echo worked on"))
    with played.printing("/musician task-03") as client:
        assert client.end().text == "done"
        told = json.dumps(client.events)
    first, second = played.model.main
    assert "NOT CLAIMED: musician" in first.news_text
    assert [(answer.text, answer.is_error) for answer in second.answers] == [("worked on", False)]
    assert "no session is guarded as a musician" in told
    assert service.task_row(store, "task-03").session_id is None
    dead = {each.check for each in check_plugin(plugin, gone) if each.level is Level.FAIL}
    assert {"python", *(f"hook {event}" for event in EVENTS)} <= dead


@pytest.mark.deep
def test_a_session_that_nobody_can_be_asked_in_claims_by_the_tool_without_a_permission(
    played: Played, call: "Call", store: SqliteStore
) -> None:
    """The client refuses in `-p` what nobody allowed; the plugin's own tools are let through by its hook."""
    call("plugin", "install")
    tool = "mcp__plugin_musician_comms-link__"
    played.steps += [use(f"{tool}claim", task="task-03"), use(f"{tool}handoff", reason="enough")]
    with played.printing("play task-03") as client:
        assert client.end().text == "done"
        session = client.session_id
    claimed, handed_off = (request.answers[0] for request in played.model.main[1:3])
    assert "task-03" in claimed.text
    assert [claimed.is_error, handed_off.is_error] == [False, False], (claimed.text, handed_off.text)
    row = service.task_row(store, "task-03")
    assert (row.state, row.session_id) == (State.EXITED, session)


LAUNCH = """/musician

SELECT message FROM orchestration_messages
WHERE task_id = 'task-03' AND from_session = 'task-00' AND message_type = 'instruction'
ORDER BY timestamp ASC LIMIT 1;

Context:
- Task ID: task-03
- Phase: 1
"""


@pytest.mark.deep
@pytest.mark.parametrize("prompt", ["/musician task-03", LAUNCH], ids=["short", "standard"])
def test_a_launch_prompt_brings_the_skill_the_claim_and_the_instruction(
    played: Played, call: "Call", store: SqliteStore, prompt: str
) -> None:
    """S-BOOT-3: what a session needs to begin is in the first request, whichever way it was called for."""
    call("plugin", "install")
    with played.printing(prompt) as client:
        session = client.session_id
        first = until(lambda: played.model.main)[0]
    assert "You are a musician" in first.news_text
    assert "task-03 is claimed: you are musician-task-03, claim 1." in first.news_text
    assert str(service.task_row(store, "task-03").instruction_path) in first.news_text
    assert [claim.task_id for claim in service.claims_of(store, session)] == ["task-03"]
