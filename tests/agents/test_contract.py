"""What every agent keeps, played with each (``musician.agents.port``). What one cannot do it declares."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
import pytest

from musician.agents.claude.agent import ClaudeAgent
from musician.agents.port import (
    Agent,
    AgentEvent,
    AgentSession,
    Output,
    Piece,
    PieceKind,
    Stage,
    ToolAnswered,
    ToolCall,
    ToolUsed,
)
from musician.agents.registry import make_agent
from musician.agents.shell import ShellAgent
from musician.processes.identity import ProcessIdentity, is_running
from musician.protocol.musician.inputs import (
    ContextTold,
    DeviationTold,
    PieceEnded,
    PieceEnding,
    QuestionTold,
)
from musician.protocol.rules.deviations import Severity
from musician.protocol.spending import Spending, Usage, spending_of
from musician.testing import ClientHome, ScriptedModel
from musician.testing import scripted_agent as scripted
from musician.testing.acp_homes import agent_home, find_agents, path_of
from musician.testing.scripted_acp import scripted_acp
from musician.testing.scripted_agent import ScriptedAgent
from musician.testing.waiting import HANG_S, until
from tests.agents import claude_story
from tests.agents.playbook import Playbook
from tests.needs import need, refuse

SHELL = {
    "work": "echo ::context 40%; echo hello; echo ::deviation Medium other; echo '::question which?'; echo x > made",
    "fail": "echo why not; exit 3",
    "wait": "echo begun; sleep 301 & echo $! > child; sleep 300",
    "hang": "trap '' INT TERM; echo begun; while true; do sleep 1 || true; done",
    "vanish": "echo going; kill -KILL $$",
    "environment": 'echo "$STAGE" > made',
}
SCRIPTED = {
    "work": [
        scripted.say("::context 40%\nhello\n::deviation Medium other\n::question which?"),
        scripted.run("echo x > made"),
    ],
    "fail": [scripted.say("why not"), scripted.end(PieceEnding.FAILED, "why not")],
    "wait": [scripted.say("begun"), scripted.run("sleep 301 & echo $! > child; sleep 300")],
    "hang": [scripted.say("begun"), scripted.HANG],
    "vanish": [scripted.CRASH],
    "environment": [scripted.run('echo "$STAGE" > made')],
    "hear": [scripted.say("begun"), scripted.HEAR],
    "ask": [scripted.ask("Bash", command="git push"), scripted.ask("Bash", command="ls")],
    "use a tool": [["tool", "Bash", "uname"]],
    "recall": [scripted.RECALL],
    "limit": [scripted.end(PieceEnding.LIMITED, "rate limit", 90)],
    "refuse": [scripted.end(PieceEnding.REFUSED, "no credit")],
}
"""The one story in each agent's words, by the item that is played."""

ACP = SCRIPTED | {"work": [["usage", 40_000, 100_000], *SCRIPTED["work"]]}

GIVEN = "say when its model was given what was said"
STEER = "hear what is said to it while it plays"
KILLED = "keep the last moment before a sigkill"
MODEL = "tell one model from another"
NAMED = {"claude": "sonnet", "codex": "gpt-6-luna", "opencode": "scripted/other"}
"""A model that is not the one it takes by itself."""

CANNOT: dict[str, set[str]] = {
    "claude": {"say how long a limit holds", KILLED},
    "acp": {"say how long a limit holds", GIVEN},
    "shell": {
        STEER,
        "ask leave",
        "say which tools it uses",
        "go on by its token",
        "tell of its provider",
        MODEL,
    },
    "scripted": {GIVEN, MODEL},
    "codex": {"say how long a limit holds", GIVEN},
    "opencode": {"say how long a limit holds", "tell of a limit", GIVEN},
}
PAGES = {
    "claude": "CLAUDE_CODE.md",
    "shell": "PLAN_REFERENCE.md",
    "acp": "ACP.md",
    "codex": "ACP.md",
    "opencode": "ACP.md",
}


@dataclass
class Theatre:
    """One agent, and everything it told."""

    name: str
    folder: Path
    agent: Agent
    model: ScriptedModel | None = None
    events: list[AgentEvent] = field(default_factory=list)
    processes: list[ProcessIdentity] = field(default_factory=list)
    asked: list[ToolCall] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=lambda: {"STAGE": "stage"})

    def __post_init__(self) -> None:
        self.tree = self.folder / "my tree (é) $x"
        self.tree.mkdir()

    def needs(self, ability: str) -> None:
        if ability in CANNOT[self.name]:
            pytest.skip(f"declared: {self.name} cannot {ability}")

    @asynccontextmanager
    async def session(self, token: str = "", model: str = "") -> AsyncIterator[AgentSession]:
        stage = Stage(
            tree=self.tree, env=self.env, token=token, model=model, on_process=self.on_process, may=self.may
        )
        async with self.agent.open(stage) as session:
            yield session

    async def play(self, session: AgentSession, item: str, time_limit_s: float = HANG_S) -> PieceEnded:
        piece = Piece(
            kind=PieceKind.STEP,
            task_id="task-01",
            item=item,
            title="A title",
            prose="",
            scripts=(SHELL.get(item, ""),),
            time_limit_s=time_limit_s,
        )
        return await session.play(piece, self.tell)

    async def spent(self, session: AgentSession, item: str) -> Spending | None:
        """Play an item, and return what was told of its usage."""
        before = len(self.events)
        assert (await self.play(session, item)).ending is PieceEnding.DONE
        return spending_of(event for event in self.events[before:] if isinstance(event, Usage))

    async def tell(self, event: AgentEvent) -> None:
        await anyio.lowlevel.checkpoint()
        self.events.append(event)

    async def may(self, call: ToolCall) -> str:
        self.asked.append(call)
        return "a musician publishes nothing" if "push" in str(call.given) else ""

    async def on_process(self, identity: ProcessIdentity) -> None:
        self.processes.append(identity)

    @property
    def text(self) -> str:
        return b"".join(event.data for event in self.events if isinstance(event, Output)).decode()

    async def until_said(self, text: str) -> None:
        with anyio.fail_after(HANG_S):
            while text not in self.text:
                await anyio.sleep(0.01)

    async def until_made(self, name: str) -> None:
        """There, and written into."""
        with anyio.fail_after(HANG_S):
            while not ((self.tree / name).exists() and (self.tree / name).stat().st_size):
                await anyio.sleep(0.01)

    def kill_agent(self) -> None:
        for process in psutil.Process(self.processes[-1].pid).children():
            process.kill()

    def nothing_runs(self) -> None:
        assert self.processes
        until(lambda: not any(is_running(identity) for identity in self.processes))


DOCS = Path(__file__).parents[2] / "docs"
REAL = ("codex", "opencode")
TELLS_NO_USAGE = ("shell", "scripted")
HAS_A_PRICE = ("claude", "opencode")


@pytest.fixture(
    params=[
        "shell",
        "scripted",
        "acp",
        *(pytest.param(name, marks=pytest.mark.deep) for name in ("claude", *REAL)),
    ]
)
def theatre(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Theatre]:
    if request.param in REAL:
        yield _real(request, tmp_path)
        return
    agents: dict[str, Callable[[], Agent]] = {
        "shell": ShellAgent,
        "scripted": lambda: ScriptedAgent(tmp_path / "script", SCRIPTED),
        "acp": lambda: make_agent(f"acp:{scripted_acp(tmp_path / 'script', ACP)}"),
    }
    model: ScriptedModel | None = None
    with ExitStack() as stack:

        def claude() -> Agent:
            nonlocal model
            model = stack.enter_context(ScriptedModel(claude_story.tell))
            home = ClientHome(tmp_path / "home", model_url=model.url, trusts=[tmp_path])
            return ClaudeAgent(home.client, home.env)

        agents["claude"] = claude
        agent = agents[request.param]()
        yield Theatre(name=request.param, folder=tmp_path, agent=agent, model=model)


def _real(request: pytest.FixtureRequest, folder: Path) -> Theatre:
    """A real agent, whose model is a script."""
    name: str = request.param
    modules = find_agents()
    if modules is None:
        refuse(f"the agent {name} from npm")
    assert modules.is_dir(), f"{modules} is not there"
    need("node")
    request.getfixturevalue("monkeypatch").setenv("PATH", path_of(name, modules))
    theatre = Theatre(name=name, folder=folder, agent=make_agent(name))
    model = theatre.model = ScriptedModel(Playbook(name, kill=theatre.kill_agent)).__enter__()
    request.addfinalizer(model.close)
    theatre.env |= agent_home(name, folder / "home", model_url=model.url)
    return theatre


@pytest.mark.parametrize("agent", PAGES)
def test_what_an_agent_cannot_do_is_declared_in_its_page(agent: str) -> None:
    """PORT-5: what is left out here is what a person reads there."""
    page = " ".join((DOCS / PAGES[agent]).read_text(encoding="utf-8").lower().split())
    assert [each for each in CANNOT[agent] if each not in page] == []


def test_its_events_come_in_order_and_before_the_end(theatre: Theatre) -> None:
    async def story() -> PieceEnded:
        async with theatre.session() as session:
            return await theatre.play(session, "work")

    ended = anyio.run(story)
    assert (ended.item, ended.ending) == ("work", PieceEnding.DONE)
    assert ended.asked in ("", "which?")
    told = [
        event for event in theatre.events if not isinstance(event, Output | ToolUsed | ToolAnswered | Usage)
    ]
    assert ContextTold(used_pct=40.0) in told
    assert [event for event in told if not isinstance(event, ContextTold)] == [
        DeviationTold(severity=Severity.MEDIUM, text="other"),
        QuestionTold(text="which?"),
    ]
    assert "hello\n" in theatre.text
    assert (theatre.tree / "made").exists()
    theatre.nothing_runs()


def test_a_session_plays_piece_after_piece_and_a_failure_does_not_end_it(theatre: Theatre) -> None:
    async def story() -> list[PieceEnded]:
        async with theatre.session() as session:
            return [await theatre.play(session, item) for item in ("fail", "environment")]

    failed, done = anyio.run(story)
    assert failed.ending is PieceEnding.FAILED
    assert "why not" in failed.detail
    assert done.ending is PieceEnding.DONE
    assert (theatre.tree / "made").read_text() == "stage\n"


def test_an_interrupt_ends_the_piece_and_all_it_runs_but_not_the_session(theatre: Theatre) -> None:
    """One that comes while nothing plays does nothing."""

    async def story() -> list[PieceEnded]:
        ended = []

        async def wait(session: AgentSession) -> None:
            ended.append(await theatre.play(session, "wait"))

        async with theatre.session() as session:
            await session.interrupt()
            with anyio.fail_after(HANG_S):
                async with anyio.create_task_group() as group:
                    group.start_soon(wait, session)
                    await theatre.until_said("begun")
                    await theatre.until_made("child")
                    await session.interrupt()
            await session.interrupt()
            child = int((theatre.tree / "child").read_text())
            until(lambda: not _lives(child))
            ended.append(await theatre.play(session, "work"))
        return ended

    stopped, done = anyio.run(story)
    assert stopped == PieceEnded(item="wait", ending=PieceEnding.STOPPED)
    assert done.ending is PieceEnding.DONE


def _lives(pid: int) -> bool:
    try:
        return "(sleep) Z" not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("item", ["wait", "hang"])
def test_cancelled_nothing_of_it_is_left(theatre: Theatre, item: str) -> None:
    async def story() -> None:
        async with theatre.session() as session, anyio.create_task_group() as group:
            group.start_soon(theatre.play, session, item)
            await theatre.until_said("begun")
            group.cancel_scope.cancel()

    anyio.run(story)
    theatre.nothing_runs()


def test_what_takes_longer_than_its_time_is_lost(theatre: Theatre) -> None:
    limit_s = 1.0

    async def story() -> PieceEnded:
        async with theatre.session() as session:
            return await theatre.play(session, "hang", time_limit_s=limit_s)

    while "begun" not in theatre.text:  # a busy machine may not come so far in so little time
        limit_s *= 2
        assert limit_s < HANG_S
        ended = anyio.run(story)
        assert ended.ending is PieceEnding.LOST
        assert f"ran out of time ({limit_s:g} s for the piece)" in ended.detail
    used = sum(event.input_tokens for event in theatre.events if isinstance(event, Usage))
    assert (used > 0) is (theatre.name not in TELLS_NO_USAGE), "so far"
    theatre.nothing_runs()


def test_one_that_vanishes_is_lost_and_another_session_may_be_opened(theatre: Theatre) -> None:
    async def story() -> list[PieceEnded]:
        ended = []
        for item in ("vanish", "work"):
            async with theatre.session() as session:
                ended.append(await theatre.play(session, item))
        return ended

    lost, done = anyio.run(story)
    assert lost.ending is PieceEnding.LOST
    assert lost.detail
    assert done.ending is PieceEnding.DONE


def test_nothing_is_executed_before_its_process_is_recorded(theatre: Theatre) -> None:
    async def unrecorded(_: ProcessIdentity) -> None:
        raise LookupError("no database")

    async def story() -> None:
        theatre.on_process = unrecorded  # type: ignore[method-assign, assignment]
        async with theatre.session() as session:
            await theatre.play(session, "work")

    with pytest.raises(LookupError):
        anyio.run(story)
    assert not (theatre.tree / "made").exists()
    assert theatre.events == []


def test_what_is_said_to_it_while_it_plays_is_heard_by_the_piece(theatre: Theatre) -> None:
    async def story() -> list[bool]:
        async with theatre.session() as session:
            before = await session.steer("too early")
            async with anyio.create_task_group() as group:
                group.start_soon(theatre.play, session, "hear")
                await theatre.until_said("begun")
                while_playing = await session.steer("use the other one")
                (theatre.tree / "go").touch()
            return [before, while_playing, await session.steer("too late")]

    theatre.needs(STEER)
    assert anyio.run(story) == [False, True, False]
    assert "heard: use the other one" in theatre.text


def test_what_its_model_was_never_given_is_not_heard(theatre: Theatre) -> None:
    """It was said while a command ran, and the agent was killed before that ended."""
    theatre.needs(STEER)
    theatre.needs(GIVEN)

    async def story() -> list[bool]:
        heard: list[bool] = []

        async def steer(session: AgentSession) -> None:
            heard.append(await session.steer("use the other one"))

        async with theatre.session() as session:
            with anyio.fail_after(HANG_S):
                async with anyio.create_task_group() as group:
                    group.start_soon(theatre.play, session, "wait")
                    await theatre.until_said("begun")
                    await theatre.until_made("child")
                    group.start_soon(steer, session)
                    await anyio.wait_all_tasks_blocked()
                    theatre.kill_agent()
        return heard

    assert anyio.run(story) == [False]


def test_what_cannot_be_steered_says_so(theatre: Theatre) -> None:
    if STEER not in CANNOT[theatre.name]:
        pytest.skip(f"declared: {theatre.name} can be steered")

    async def story() -> bool:
        async with theatre.session() as session, anyio.create_task_group() as group:
            group.start_soon(theatre.play, session, "wait")
            await theatre.until_said("begun")
            is_heard = await session.steer("use the other one")
            await session.interrupt()
        return is_heard

    assert anyio.run(story) is False


def test_it_asks_leave_and_heeds_the_answer(theatre: Theatre) -> None:
    theatre.needs("ask leave")

    async def story() -> None:
        async with theatre.session() as session:
            await theatre.play(session, "ask")

    anyio.run(story)
    assert theatre.asked == [
        ToolCall(name="Bash", given={"command": "git push"}),
        ToolCall(name="Bash", given={"command": "ls"}),
    ]
    assert theatre.text == "leave: a musician publishes nothing\nleave: given\n"


def test_its_tools_are_told(theatre: Theatre) -> None:
    theatre.needs("say which tools it uses")

    async def story() -> None:
        async with theatre.session() as session:
            await theatre.play(session, "use a tool")

    anyio.run(story)
    used = [event for event in theatre.events if isinstance(event, ToolUsed)]
    assert [(each.name, each.what) for each in used] == [("Bash", "uname")]
    answered = [event for event in theatre.events if isinstance(event, ToolAnswered)]
    assert [each.call for each in answered] == [each.call for each in used]
    assert [each.failed for each in answered] == [False]
    theatre.needs("say what a tool answered")
    assert "Linux" in answered[0].text or "Darwin" in answered[0].text


def test_each_piece_tells_what_was_used_since_the_one_before(theatre: Theatre) -> None:
    """Each in tokens of its own; a price is the agent's own, and nothing is told of a shell."""

    async def story() -> list[Spending | None]:
        async with theatre.session() as session:
            return [await theatre.spent(session, "environment") for _ in range(2)]

    first, second = anyio.run(story)
    if theatre.name in TELLS_NO_USAGE:
        assert first is second is None
        return
    assert first is not None
    assert second is not None
    last = [event for event in theatre.events if isinstance(event, Usage)][-1]
    assert last.is_estimated == (theatre.name == "acp"), "the last word counts"
    assert 0 < second.tokens_in < 2 * first.tokens_in, "not the total so far"
    known = {each.cost_usd is not None for each in (first, second)}
    assert known == {theatre.name in HAS_A_PRICE}
    if theatre.name in HAS_A_PRICE:
        assert second.cost_usd == pytest.approx(first.cost_usd)


def test_what_a_conversation_had_used_before_it_is_gone_on_with_is_not_told_again(theatre: Theatre) -> None:
    theatre.needs("go on by its token")

    async def story() -> list[Spending | None]:
        token, spent = "", []
        for _ in range(2):
            async with theatre.session(token) as session:
                spent.append(await theatre.spent(session, "environment"))
                token = session.token
        return spent

    first, second = anyio.run(story)
    if theatre.name in TELLS_NO_USAGE:
        assert first is second is None
        return
    assert first is not None
    assert second is not None
    assert 0 < second.tokens_in < 2 * first.tokens_in
    known = first.cost_usd if theatre.name == "claude" else None
    assert second.cost_usd == (None if known is None else pytest.approx(known))


def test_what_its_provider_does_is_an_outcome(theatre: Theatre) -> None:
    theatre.needs("tell of its provider")

    async def story() -> list[PieceEnded]:
        async with theatre.session() as session:
            return [await theatre.play(session, item) for item in ("limit", "refuse", "work")]

    theatre.needs("tell of a limit")

    limited, refused, done = anyio.run(story)
    wait_s = None if "say how long a limit holds" in CANNOT[theatre.name] else 90
    assert (limited.ending, limited.wait_s) == (PieceEnding.LIMITED, wait_s)
    assert refused.ending is PieceEnding.REFUSED
    if theatre.name not in REAL:
        assert "rate limit" in limited.detail
        assert "no credit" in refused.detail
    assert done.ending is PieceEnding.DONE


def test_the_model_that_is_named_plays_or_none(theatre: Theatre) -> None:
    """S-TIER-4: a name of a plan's is never ignored; where it cannot be chosen, a person is told it."""
    theatre.needs(MODEL)

    async def story() -> PieceEnded:
        if theatre.name in NAMED:
            token = ""
            for _ in range(2):  # in a new conversation, and gone on with
                async with theatre.session(token, model=NAMED[theatre.name]) as session:
                    assert (await theatre.play(session, "work")).ending is PieceEnding.DONE
                    assert token in ("", session.token)
                    token = session.token
        for made in theatre.tree.glob("made"):
            made.unlink()
        async with theatre.session(model=claude_story.NO_MODEL) as session:
            return await theatre.play(session, "work")

    refused = anyio.run(story)
    if theatre.name in NAMED:
        assert theatre.model is not None
        named = NAMED[theatre.name].rpartition("/")[2]
        assert any(
            named in each.model for each in theatre.model.requests
        )  # OpenCode has a title made by a small one
        assert all(named in each.model for each in theatre.model.main if each.model != claude_story.NO_MODEL)
    assert refused.ending is PieceEnding.REFUSED
    assert claude_story.NO_MODEL in refused.detail
    assert not (theatre.tree / "made").exists()


def test_it_is_gone_on_with_by_its_token_after_its_process_was_killed(theatre: Theatre) -> None:
    theatre.needs("go on by its token")

    async def lose(session: AgentSession) -> None:
        before = len(theatre.events)
        assert (await theatre.play(session, "wait")).ending is PieceEnding.LOST
        used = sum(event.input_tokens for event in theatre.events[before:] if isinstance(event, Usage))
        assert (used > 0) is (theatre.name not in TELLS_NO_USAGE), "it was told before it was killed"

    async def story() -> tuple[str, str, str]:
        async with theatre.session() as session:
            await theatre.play(session, "work")
            first = session.token
            async with anyio.create_task_group() as group:
                group.start_soon(lose, session)
                await theatre.until_made("child")  # at work in a tool
                os.kill(theatre.processes[-1].pid, signal.SIGKILL)
        async with theatre.session(first) as session:
            await theatre.play(session, "recall")
            second = session.token
        async with theatre.session("nobody knows it") as session:
            return first, second, session.token

    first, second, unknown = anyio.run(story)
    assert first == second
    is_kept = KILLED not in CANNOT[theatre.name]
    wait = "wait, " if is_kept or "wait" in theatre.text.splitlines()[-1] else ""
    assert theatre.text.endswith(f"played: work, {wait}recall\n")
    assert unknown
    assert unknown != first


def test_what_has_no_token_cannot_be_gone_on_with(theatre: Theatre) -> None:
    async def story() -> str:
        async with theatre.session() as session:
            await theatre.play(session, "work")
            return session.token

    assert bool(anyio.run(story)) is ("go on by its token" not in CANNOT[theatre.name])
