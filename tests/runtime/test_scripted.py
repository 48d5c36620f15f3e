"""A musician whose agent is spoken with: the real driver, and a scripted agent in a process of its own."""

import os
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from musician import service
from musician.agents.port import Agent
from musician.protocol.journal import PROVIDER_REFUSES, EntryKind
from musician.protocol.musician import ready as r
from musician.protocol.musician.inputs import PieceEnding
from musician.protocol.policy.forbidden import Act
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime.fleet import claimable
from musician.runtime.musician import engaged
from musician.runtime.musician.work import play_task
from musician.runtime.world import WORLD, World
from musician.store.rows import JournalRow
from musician.testing.scripted_agent import (
    HANG,
    HEAR,
    RECALL,
    WAIT,
    Script,
    ScriptedAgent,
    ask,
    end,
    run,
    say,
)
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root
from tests.transcripts import events, said_in

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PLAN = """\
---
plan: solo
test: test -s one.txt
agent: shell
---
# Solo

## Overview
Each step adds a line.

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
Write one.
```bash run
echo one >> one.txt
```
#### Step 2: Go on
Write two.
```bash run
echo two >> one.txt
```
"""

TWO = f"""{PLAN}
### task-02: Another
#### Step 1: Begin
```bash run
echo other > other.txt
```
"""

WRITE = run("echo line >> one.txt")


class Played(World):
    """The real world, but for the agent."""

    def __init__(self, folder: Path, script: Script) -> None:
        self.folder, self.script = folder, script

    def agent(self, spec: str) -> Agent:
        return ScriptedAgent(self.folder, self.script)


class Theatre:
    def __init__(self, stage: "Stage") -> None:
        self.stage = stage
        stage.write(PLAN)
        stage.lock()

    def play(
        self, script: Script, direct: Callable[[], Coroutine[Any, Any, None]], *, session: str = "session-a"
    ) -> r.End:
        """A session, directed from outside until it ends."""

        async def perform() -> r.End:
            async with anyio.create_task_group() as group:
                group.start_soon(direct)
                with anyio.fail_after(HANG_S):
                    ended = await play_task(
                        find_root(self.stage.root),
                        self.stage.store,
                        "task-01",
                        session,
                        settings=Settings(),
                        world=Played(self.stage.hall / "script", script),
                    )
                group.cancel_scope.cancel()
            return ended

        return anyio.run(perform)

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            await anyio.sleep(0.05)

    async def until_written(self, kind: EntryKind, item: str = "") -> None:
        await self.until(lambda: any((row.kind, row.item) == (kind, item) for row in self.journal))

    async def until_said(self, text: str) -> None:
        await self.until(lambda: text in self.log)

    async def stop_once(self, condition: Callable[[], object]) -> None:
        """End the session as a signal does."""
        await self.until(condition)
        os.kill(os.getpid(), signal.SIGTERM)

    @property
    def journal(self) -> tuple[JournalRow, ...]:
        return self.stage.view("task-01").journal

    @property
    def log(self) -> str:
        return said_in(self.stage.root, "task-01")

    def is_in_review(self) -> bool:
        return self.stage.state("task-01") is State.NEEDS_REVIEW

    def send(self, text: str, *, urgent: bool = False) -> int:
        return service.send(self.stage.store, "task-01", text, urgent=urgent)


@pytest.fixture
def theatre(stage: "Stage") -> Theatre:
    return Theatre(stage)


def test_one_session_of_the_agent_plays_all_pieces_and_what_it_tells_is_written_down(
    theatre: Theatre,
) -> None:
    script: Script = {
        "step 1": [say("::context 30%\n::deviation Low another way"), WRITE],
        "step 2": [RECALL, WRITE],
    }
    theatre.play(script, partial(theatre.stop_once, theatre.is_in_review))
    assert "played: step 1, step 2" in theatre.log
    (told,) = [row for row in theatre.journal if row.kind == EntryKind.DEVIATION]
    assert (told.text, told.severity, told.context_pct) == ("another way", "Low", 30.0)
    assert theatre.stage.view("task-01").sessions[0].context_pct == 30.0


def test_a_note_reaches_the_running_piece_and_is_acknowledged_with_it(theatre: Theatre) -> None:
    async def direct() -> None:
        await theatre.until_said("begun")
        theatre.send("use the other one")
        await theatre.stop_once(theatre.is_in_review)

    theatre.play({"step 1": [say("begun"), HEAR, WRITE]}, direct)
    assert "heard: use the other one" in theatre.log
    assert theatre.stage.view("task-01").unread == 0


def test_a_step_that_only_asks_in_words_is_asked_for_and_played_again_with_the_answer(
    theatre: Theatre,
) -> None:
    """What it asks reaches the conductor without a tag; once, and then the step ends as it ends."""

    async def direct() -> None:
        await theatre.until_written(EntryKind.QUESTION, "step 1")
        assert not any(row.kind == EntryKind.COMPLETED for row in theatre.journal)
        theatre.send("take 8080")
        await theatre.stop_once(theatre.is_in_review)

    script: Script = {"step 1": [[say("I looked.\n\nWhich port?")], [RECALL, WRITE, say("Anything else?")]]}
    theatre.play(script, direct)
    assert [row.text for row in theatre.journal if row.kind == EntryKind.QUESTION] == ["Which port?"]
    assert "played: step 1, step 1" in theatre.log
    assert theatre.stage.view("task-01").unread == 0
    (path,) = (theatre.stage.root / ".musician" / "logs" / "task-01").glob("[0-9]*.jsonl")
    prompts = [each.said.get("feedback") for each in events(path) if each.kind == "prompt"]
    assert prompts[:2] == [None, "take 8080"]


def test_an_urgent_word_interrupts_the_piece_and_the_agents_session_goes_on(theatre: Theatre) -> None:
    async def direct() -> None:
        await theatre.until_said("begun")
        theatre.send("wrong branch", urgent=True)
        await theatre.stop_once(theatre.is_in_review)

    theatre.play({"step 1": [[say("begun"), WAIT], [RECALL, WRITE]]}, direct)
    assert "played: step 1, step 1" in theatre.log, "one session"


def test_an_agent_that_heeds_no_interrupt_is_ended_and_its_conversation_goes_on(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engaged, "INTERRUPT_LIMIT_S", 0.5)

    async def direct() -> None:
        await theatre.until_said("begun")
        theatre.send("wrong branch", urgent=True)
        await theatre.stop_once(theatre.is_in_review)

    theatre.play({"step 1": [[say("begun"), HANG], [RECALL, WRITE]]}, direct)
    assert "played: step 1, step 1" in theatre.log


def test_a_limit_is_waited_for_and_counts_nowhere(theatre: Theatre) -> None:
    script: Script = {"step 1": [[end(PieceEnding.LIMITED, "429", 1)], [RECALL, WRITE]]}
    theatre.play(script, partial(theatre.stop_once, theatre.is_in_review))
    view = theatre.stage.view("task-01")
    assert [row.text for row in view.journal if row.kind == EntryKind.LIMITED] == ["429"]
    assert view.error_count == 0
    assert not any(row.kind in (EntryKind.FAILED, EntryKind.ERROR) for row in view.journal)
    assert "played: step 1, step 1" in theatre.log, "the same session, the same agent"
    assert not view.limited_until


def test_a_limit_outlives_its_session_and_is_told(theatre: Theatre) -> None:
    """Nothing is launched before it is over, and nobody is asked."""
    script: Script = {"step 1": [end(PieceEnding.LIMITED, "weekly", 7200)]}
    theatre.play(script, partial(theatre.stop_once, lambda: theatre.stage.view("task-01").limited_until))
    theatre.stage.raw("UPDATE orchestration_tasks SET title = title")  # a writer who knows nothing of it
    told = theatre.stage.run("status")
    until = theatre.stage.view("task-01").limited_until
    conducted = theatre.stage.start("run", "PLAN.md")
    theatre.stage.until(lambda: theatre.stage.state("task-01") is State.FIX_PROPOSED)
    told = theatre.stage.run("status")
    assert f"task-01: its agent's provider gives nothing before {until} UTC" in told.out
    conducted.send_signal(signal.SIGINT)
    assert theatre.stage.end(conducted).code == 130
    assert len(theatre.stage.view("task-01").sessions) == 1
    assert not theatre.stage.view("task-01").asks


def test_a_word_that_is_urgent_tries_a_limit_again(theatre: Theatre) -> None:
    async def direct() -> None:
        await theatre.until_written(EntryKind.LIMITED, "step 1")
        theatre.send("paid", urgent=True)
        await theatre.stop_once(theatre.is_in_review)

    theatre.play({"step 1": [[end(PieceEnding.LIMITED, "quota", 7200)], [WRITE]]}, direct)
    assert not theatre.stage.view("task-01").limited_until


def test_what_a_provider_refuses_goes_to_a_person_and_is_no_error(theatre: Theatre) -> None:
    ended = theatre.play(
        {"step 1": [end(PieceEnding.REFUSED, "the login has expired")]}, partial(anyio.sleep, 0)
    )
    reason = f"{PROVIDER_REFUSES}the login has expired"
    assert (ended.kind, ended.reason) == (r.EndKind.EXITED, reason)
    assert theatre.stage.view("task-01").error_count == 0
    (ask,) = theatre.stage.view("task-01").asks
    assert (ask.kind, ask.text) == ("provider", "shell: the login has expired")
    told = "needs a person: the provider of the agent of task-01 gives nothing before you act: "
    assert f"{told}shell: the login has expired" in theatre.stage.run("status").out
    assert theatre.stage.conduct().code == 0, "a new run asks again"
    assert theatre.stage.view("task-01").error_count == 0


@pytest.mark.parametrize(("used", "goes_on"), [("40%", True), ("60%", False)])
def test_a_conversation_that_was_interrupted_goes_on_while_it_is_small(
    theatre: Theatre, used: str, *, goes_on: bool
) -> None:
    script: Script = {
        "step 1": [[say(f"::context {used}"), WRITE]],
        "step 2": [[say("begun"), WAIT], [RECALL, WRITE]],
    }
    theatre.play(script, partial(theatre.stop_once, lambda: "begun" in theatre.log))
    assert theatre.stage.state("task-01") is State.EXITED
    service.reopen(theatre.stage.store, "task-01")
    theatre.play(script, partial(theatre.stop_once, theatre.is_in_review), session="session-b")
    assert ("played: step 1, step 2, step 2" in theatre.log) is goes_on
    given = [row.text for row in theatre.journal if "conversation" in row.text]
    assert bool(given) is goes_on


def test_an_agent_that_asks_leave_is_answered_by_the_policy(theatre: Theatre) -> None:
    """D21: the refusal is in the journal, and what the conductor grants is given."""

    async def direct() -> None:
        await theatre.until_said("begun")
        service.send(theatre.stage.store, "task-01", "push it", grants=[Act.PUSH])
        await theatre.stop_once(theatre.is_in_review)

    pushes = ask("Bash", command="git push origin main")
    theatre.play({"step 1": [pushes, ask("Bash", command="ls"), say("begun"), HEAR, pushes, WRITE]}, direct)
    answers = [line for line in theatre.log.splitlines() if line.startswith("leave: ")]
    assert [answer == "leave: given" for answer in answers] == [False, True, True]
    assert "does not publish" in answers[0]
    assert [row.text for row in theatre.journal if row.kind == EntryKind.REFUSED] == [
        "git push origin main (push: a musician does not publish anything)"
    ]


def test_from_half_of_the_context_on_the_status_says_what_a_read_takes(theatre: Theatre) -> None:
    """S-CTX-9, D15.2: before it is read, and not before; what is not there takes nothing."""
    reads = [ask("Read", file_path=name) for name in ("PLAN.md", "no such file", "\0", "a" * 5000)]
    steps = {"step 1": [say("::context 49%"), *reads, say("::context 55%"), *reads, WRITE]}
    theatre.play(steps, partial(theatre.stop_once, theatre.is_in_review))
    tokens = (theatre.stage.root / "PLAN.md").stat().st_size // 4
    lines = (theatre.stage.root / "temp" / "task-01-status").read_text().splitlines()
    assert [line for line in lines if "reads" in line] == [f"reads PLAN.md: about {tokens} tokens [ctx: 55%]"]


def test_a_login_that_has_expired_is_asked_for_once_and_a_person_lets_every_task_go_on(
    theatre: Theatre,
) -> None:
    """Nothing more is launched with the agent meanwhile, and nobody else is asked."""
    (theatre.stage.root / "PLAN.md").write_text(TWO)
    theatre.stage.run("plan", "amend", "PLAN.md")
    theatre.play({"step 1": [end(PieceEnding.REFUSED, "the login has expired")]}, partial(anyio.sleep, 0))
    found = claimable(find_root(theatre.stage.root), theatre.stage.store, Settings(), WORLD)
    assert found == (), "task-02 is the same agent's"
    theatre.send("logged in")
    assert not theatre.stage.view("task-01").open_asks
    assert claimable(find_root(theatre.stage.root), theatre.stage.store, Settings(), WORLD) == ("task-02",)
