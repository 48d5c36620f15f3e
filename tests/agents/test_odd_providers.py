"""What real clients make of a provider's errors, and what that means for the piece (issue 9.3)."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from musician.agents.acp.performance import MOST_MESSAGES
from musician.agents.claude.agent import ClaudeAgent
from musician.agents.port import Agent, AgentEvent, AgentSession, Piece, PieceKind, Stage, ToolCall
from musician.agents.registry import make_agent
from musician.processes.identity import ProcessIdentity
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.rules.breaker import met
from musician.testing import ClientHome, Received, ScriptedFailure, ScriptedModel, say
from musician.testing.acp_homes import agent_home, find_agents, path_of
from musician.testing.client_home import MADE_UP_KEY
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.agents.whole_run import Model
from tests.needs import need, refuse

pytestmark = pytest.mark.deep

_A_YEAR_S = 366 * 86_400

PIECE = Piece(
    kind=PieceKind.STEP,
    task_id="task-01",
    item="step 1",
    title="Say it",
    prose="",
    scripts=(),
    time_limit_s=HANG_S,
)


@dataclass
class Desk:
    """One real agent, whose model is a script."""

    folder: Path
    agent: Agent
    env: Mapping[str, str] = field(default_factory=dict)

    def play(self) -> PieceEnded:
        tree = self.folder / "tree"
        tree.mkdir()

        ended: list[PieceEnded] = []

        async def played() -> None:
            stage = Stage(tree=tree, env=self.env, on_process=_recorded, may=_allowed)
            async with self.agent.open(stage) as session, anyio.create_task_group() as group:
                group.start_soon(self.beside, session)
                ended.append(await session.play(PIECE, _unheard))

        anyio.run(played)
        return ended[0]

    async def beside(self, session: AgentSession) -> None:
        """What happens while it plays."""


async def _recorded(_: ProcessIdentity) -> None: ...


async def _allowed(_: ToolCall) -> str:
    return ""


async def _unheard(_: AgentEvent) -> None: ...


def _ended(
    agent: str, folder: Path, model: Model, monkeypatch: pytest.MonkeyPatch, *, is_subscribed: bool = False
) -> PieceEnded:
    with ScriptedModel(model) as server:
        if agent == "claude":
            home = ClientHome(folder / "home", model_url=server.url, trusts=[folder])
            env = dict(home.env)
            if is_subscribed:
                del env["ANTHROPIC_API_KEY"]
                env["CLAUDE_CODE_OAUTH_TOKEN"] = MADE_UP_KEY
            return Desk(folder, ClaudeAgent(home.client, env)).play()
        return _acp(agent, folder, server.url, monkeypatch).play()


def _acp(agent: str, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    modules = find_agents()
    if modules is None:
        refuse(f"the agent {agent} from npm")
    need("node")
    monkeypatch.setenv("PATH", path_of(agent, modules))
    return Desk(folder, make_agent(agent), agent_home(agent, folder / "home", model_url=url))


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize(
    ("status", "ending"),
    [
        (400, PieceEnding.FAILED),
        (401, PieceEnding.REFUSED),
        (402, PieceEnding.REFUSED),
        (403, PieceEnding.REFUSED),
        (404, PieceEnding.REFUSED),
        (413, PieceEnding.FAILED),
        (429, PieceEnding.LIMITED),
        (500, PieceEnding.LIMITED),
        (529, PieceEnding.LIMITED),
    ],
)
def test_an_error_is_a_limit_a_persons_business_or_the_pieces_own_failure(
    agent: str, status: int, ending: PieceEnding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIMIT-9: with Codex an unpaid bill was waited for, and an overload was a session that is lost."""
    failure = ScriptedFailure(status=status, kind="scripted_error", message="no")
    ended = _ended(agent, tmp_path, lambda _: failure, monkeypatch)
    assert (ended.ending, ended.wait_s) == (ending, None), ended.detail
    assert ended.detail


def test_opencode_that_asks_again_and_again_for_what_is_too_large_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIMIT-14: it sums its conversation up, which is answered, and asks for the same again: until the step's time."""
    asked: list[Received] = []

    def model(received: Received) -> Step:
        asked.append(received)
        return ScriptedFailure(status=413, kind="request_too_large", message="no")

    ended = _ended("opencode", tmp_path, model, monkeypatch)
    assert ended.ending is PieceEnding.FAILED, ended.detail
    assert "may be too large" in ended.detail
    assert len(asked) <= MOST_MESSAGES + 3, "with those that were under way"


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("after", ["-5", "soon", "3600", str(_A_YEAR_S), "Tue, 01 Jan 2030 00:00:00 GMT"])
def test_however_odd_the_time_is_after_which_it_may_ask_again_the_session_parks_at_once(
    agent: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = ScriptedFailure(
        status=429, kind="rate_limit_error", message="no", headers={"retry-after": after}
    )
    ended = _ended(agent, tmp_path, lambda _: failure, monkeypatch)
    assert ended.ending is PieceEnding.LIMITED, ended.detail


@pytest.mark.parametrize("resets", ["soon", "2026-11-30T10:00:00Z", "1000000000", "in a year"])
def test_a_subscriptions_reset_that_cannot_be_meant_is_none_that_is_believed(
    resets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": resets.replace("in a year", str(int(time.time()) + _A_YEAR_S)),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    failure = ScriptedFailure(status=429, kind="rate_limit_error", message="no", headers=headers)
    ended = _ended("claude", tmp_path, lambda _: failure, monkeypatch, is_subscribed=True)
    assert ended.ending is PieceEnding.LIMITED, ended.detail
    believed = met(None, now_s=0.0, said_s=ended.wait_s, own_s=60.0)
    assert believed.until_s == 60.0


def test_what_a_provider_refused_counts_no_more_once_a_further_turn_was_answered(tmp_path: Path) -> None:
    """A person speaks while the first answer of the model is under way; that fails, and what was said is answered."""
    said = threading.Event()
    asked: list[Received] = []

    def model(received: Received) -> Step:
        asked.append(received)
        if len(asked) > 1:
            return say("done.")
        said.wait(HANG_S)
        return ScriptedFailure(status=402, kind="billing_error", message="no")

    class Speaking(Desk):
        async def beside(self, session: AgentSession) -> None:
            with anyio.fail_after(HANG_S):
                while not asked:
                    await anyio.sleep(0.01)
                async with anyio.create_task_group() as group:
                    group.start_soon(session.steer, "go on")
                    await anyio.wait_all_tasks_blocked()
                    said.set()

    with ScriptedModel(model) as server:
        home = ClientHome(tmp_path / "home", model_url=server.url, trusts=[tmp_path])
        ended = Speaking(tmp_path, ClaudeAgent(home.client, home.env)).play()
    assert len(asked) == 2
    assert ended.ending is PieceEnding.DONE, ended.detail


def test_a_warning_of_codex_about_its_model_loses_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows no window of a model that it does not know, and says so at every turn."""
    heard: list[str] = []

    def model(received: Received) -> Step:
        heard.append(received.model)
        return say("done.")

    with ScriptedModel(model) as server:
        desk = _acp("codex", tmp_path, server.url, monkeypatch)
        settings = tmp_path / "home" / ".codex" / "config.toml"
        named = settings.read_text(encoding="utf-8").replace('model = "gpt-5.5"', 'model = "our-own"')
        settings.write_text(named, encoding="utf-8")
        ended = desk.play()
    assert heard == ["our-own"]
    assert ended.ending is PieceEnding.DONE, ended.detail
