"""Ceilings hold in flight: a scripted agent, and whole runs of the real conductor with the shell agent."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from musician import service
from musician.agents import port
from musician.config import load_settings
from musician.plans.plan import load_plan
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, PriceUnknown
from musician.protocol.journal import CEILING_REACHED, EntryKind
from musician.protocol.musician import ready as r
from musician.protocol.musician.inputs import PieceEnding
from musician.protocol.rules.breaker import Giving
from musician.protocol.rules.ceilings import Amounts, Scope
from musician.protocol.settings import Ceilings, Settings
from musician.protocol.spending import Usage
from musician.protocol.states import State
from musician.runtime.claiming import claim_task
from musician.runtime.conductor.consulting import Consultation, Parked
from musician.runtime.fleet import claimable
from musician.runtime.meter import Meter
from musician.runtime.musician import engaged
from musician.runtime.plantrees import GitPlanTrees
from musician.runtime.provider import Provider
from musician.runtime.world import WORLD
from musician.store.queries.limits import Limits
from musician.testing.scripted_agent import HANG, RECALL, WAIT, Script, ask, end, run, say, spend
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root
from tests.runtime.test_scripted import PLAN, TWO, WRITE, Played, Theatre

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

ONE_DOLLAR = "[ceilings]\ntask_cost_usd = 1\n"


class Counted(Theatre):
    """A theatre with ceilings."""

    def __init__(self, stage: "Stage", settings: str = ONE_DOLLAR, plan: str = PLAN) -> None:
        self.stage = stage
        stage.write(plan, settings)
        stage.lock()

    def play_to_its_end(self, script: Script, session: str = "session-a") -> r.End:
        return self.play(script, partial(anyio.sleep, 0), session=session)

    def used(self, task_id: str = "task-01") -> Amounts:
        return service.accounts_of_task(self.stage.store, task_id)[Scope.TASK].used


@pytest.fixture
def counted(stage: "Stage") -> Counted:
    return Counted(stage)


def test_a_ceiling_that_is_reached_in_a_piece_stops_it_before_its_next_call(counted: Counted) -> None:
    """CEIL-9: the call is not made, the work is set aside, nothing has failed; more granted, it goes on."""
    script: Script = {
        "step 1": [
            [
                say("::context 20%"),
                spend(cost_usd=0.6),
                WRITE,
                spend(cost_usd=0.5),
                ask("Bash", command="ls"),
                run("touch never"),
            ],
            [RECALL, spend(cost_usd=0.25), WRITE],
        ]
    }
    ended = counted.play_to_its_end(script)
    reason = f"{CEILING_REACHED}it has used $1.10 of $1.00 (ceilings.task_cost_usd)"
    assert (ended.kind, ended.reason) == (r.EndKind.EXITED, reason)
    view = counted.stage.view("task-01")
    assert (view.row.state, view.error_count) == (State.EXITED, 0)
    kinds = [row.kind for row in view.journal]
    assert EntryKind.FAILED not in kinds
    assert "leave:" not in counted.log
    service.reopen(counted.stage.store, "task-01")
    service.send(counted.stage.store, "task-01", "go on", more=Amounts(cost_usd=1.0))
    counted.play(script, partial(counted.stop_once, counted.is_in_review), session="session-b")
    assert "played: step 1, step 1" in counted.log, "the same conversation"
    kept = counted.stage.git("show", "refs/musician/partial/solo/task-01/1:one.txt")
    assert kept == "line\n", "what it had written is kept"
    assert counted.used().cost_usd == pytest.approx(1.35)


def test_a_piece_that_ends_as_it_reaches_a_ceiling_is_kept_and_no_other_begun(counted: Counted) -> None:
    """CEIL-9."""
    script: Script = {"step 1": [WRITE, spend(cost_usd=1.0)], "step 2": [say("begun"), WRITE]}
    ended = counted.play_to_its_end(script)
    assert ended.reason.startswith(CEILING_REACHED)
    assert [row.item for row in counted.journal if row.kind == EntryKind.COMPLETED] == ["step 1"]
    assert "begun" not in counted.log


@pytest.mark.parametrize("playing", [WAIT, HANG], ids=["heeds an interrupt", "heeds none"])
def test_time_is_a_ceiling_too_for_an_agent_that_tells_nothing(
    stage: "Stage", monkeypatch: pytest.MonkeyPatch, playing: list[str]
) -> None:
    """CEIL-10."""
    monkeypatch.setattr(engaged, "INTERRUPT_LIMIT_S", 0.2)
    counted = Counted(stage, "[ceilings]\ntask_time_s = 0.5\n")
    ended = counted.play_to_its_end({"step 1": [say("begun"), playing]})
    assert ended.reason.startswith(CEILING_REACHED)
    assert "ceilings.task_time_s" in ended.reason
    assert counted.used().time_s >= 0.5
    assert counted.stage.view("task-01").error_count == 0


def test_what_others_have_used_of_the_plan_and_the_day_counts_before_a_piece_begins(stage: "Stage") -> None:
    """CEIL-9: nothing is asked of the model at all."""
    counted = Counted(stage, "[ceilings]\nday_tokens = 1000\n", TWO)
    other = Claim(task_id="task-02", session_id="other", epoch=1)
    service.record_usage(stage.store, other, "step 1", Usage(input_tokens=900, output_tokens=100, turns=1))
    ended = counted.play_to_its_end({"step 1": [say("begun"), WRITE]})
    assert (
        ended.reason
        == f"{CEILING_REACHED}this day has used 1,000 tokens of 1,000 tokens (ceilings.day_tokens)"
    )
    assert "begun" not in counted.log
    assert claimable(find_root(stage.root), stage.store, Settings(), WORLD) == (), "nor is another begun"


def test_a_ceiling_of_the_agents_own_is_no_failure_and_a_person_is_asked(counted: Counted) -> None:
    """CEIL-11: where none of ours is reached, nobody but a person can raise it."""
    ended = counted.play_to_its_end({"step 1": [end(PieceEnding.SPENT, "the client's own: $0.10")]})
    assert ended.reason.endswith("the client's own: $0.10")
    assert counted.stage.view("task-01").error_count == 0
    assert [ask.kind for ask in counted.stage.view("task-01").asks] == ["provider"]


@pytest.mark.deep
def test_an_agent_without_a_price_is_refused_under_a_ceiling_of_money_before_anything_begins(
    stage: "Stage",
) -> None:
    """CEIL-12: by the conductor, for whom it plays, and for who names it; tokens may be a ceiling for it."""
    stage.write(PLAN.replace("agent: shell", f"agent: acp:{stage.command[0]}"), ONE_DOLLAR)
    refused = stage.conduct()
    assert refused.code == 2
    assert "does not say what it costs" in refused.err
    assert not stage.view("task-01").sessions
    named = stage.run("work", "task-01", "--agent", f"acp:{stage.command[0]}")
    assert named.code == 2
    assert not stage.view("task-01").sessions
    tokens = Settings(ceilings=Ceilings(task_tokens=5))
    assert WORLD.agent_within(tokens, f"acp:{stage.command[0]}")
    with pytest.raises(PriceUnknown):
        WORLD.agent_within(Settings(ceilings=Ceilings(day_cost_usd=5)), "acp:" + stage.command[0])


SLOW = """\
---
plan: slow
test: test -s one.txt
---
# Slow

## Overview
It takes its time.

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
echo "$MUSICIAN_SESSION" >> "$MUSICIAN_TEST_HALL/played"
test -e "$MUSICIAN_TEST_HALL/quick" || exec sleep 300
echo one > one.txt
```
"""


def test_a_run_asks_a_person_at_a_ceiling_and_goes_on_when_more_is_granted(stage: "Stage") -> None:
    """CEIL-4: by the command it has printed; the plan is complete then, and nothing has failed."""
    stage.write(SLOW, "[ceilings]\ntask_time_s = 1\n")
    stopped = stage.conduct()
    assert stopped.code == 1
    (asked,) = service.open_asks(stage.store)
    assert (asked.kind, asked.task_id) == ("budget", "task-01")
    assert "(ceilings.task_time_s)" in asked.text
    assert 'musician send task-01 "go on" --more 3600s' in stopped.out
    assert stage.conduct().code == 1, "a run alone raises nothing"
    assert len(stage.view("task-01").sessions) == 1
    (stage.hall / "quick").touch()
    assert stage.run("send", "task-01", "go on", "--more", "3600s").code == 0
    stage.to_the_end()
    assert stage.view("task-01").error_count == 0


@pytest.mark.deep
def test_a_ceiling_is_raised_by_amending_the_plan_too(stage: "Stage") -> None:
    """CEIL-13: what is written into the file alone is not in force."""
    stage.write(SLOW, "[ceilings]\ntask_time_s = 1\n")
    (stage.hall / "quick").touch()
    stage.lock()
    used = Claim(task_id="task-01", session_id="earlier", epoch=1)
    service.record_playtime(stage.store, used, 5.0)
    assert stage.conduct().code == 1
    config = find_root(stage.root).config
    Path(config).write_text("[ceilings]\ntask_time_s = 3600\n")
    assert stage.conduct().code == 1
    assert stage.run("plan", "amend", "PLAN.md").code == 0
    stage.to_the_end()


@pytest.mark.deep
def test_a_days_ceiling_is_waited_for_and_lifts_when_the_day_is_over(stage: "Stage") -> None:
    """CEIL-5: by the database's clock; nobody is asked, and the same run goes on."""
    stage.write(SLOW, "[ceilings]\nday_time_s = 1\n")
    (stage.hall / "quick").touch()
    stage.lock()
    service.record_playtime(stage.store, Claim(task_id="task-01", session_id="earlier", epoch=1), 5.0)
    conductor = stage.start("run", "PLAN.md")
    stage.until(lambda: "fails before the plan begins" in (stage.hall / "out-0").read_text())
    assert not stage.view("task-01").sessions
    stage.raw("UPDATE playtimes SET day = date('now', '-1 day')")  # a day has passed
    ended = stage.end(conductor)
    assert ended.code == 0, ended.out
    assert not stage.view("task-01").asks
    assert stage.states() == {"task-01": "complete"}


def consult(stage: "Stage", script: Script, ceilings: Ceilings) -> str:
    """Have an agent asked that plays the script; return what kept it from an opinion."""
    root = find_root(stage.root)
    plan = load_plan(stage.plan, root=root.path)
    payer = Claim(task_id="task-01", session_id="reviewer", epoch=1)
    consultation = Consultation(
        root=root,
        trees=GitPlanTrees(root=root, plan=plan, base=stage.git("rev-parse", "HEAD")),
        agent="shell",
        provider=Provider(store=stage.store, account="work", session_id="reviewer"),
        limit_s=90.0,
        meter=Meter(store=stage.store, claim=payer, ceilings=ceilings, budget=Amounts()),
        item="review",
        world=Played(stage.hall / "script", script),
    )
    piece = port.Piece(
        kind=port.PieceKind.REVIEW,
        task_id="task-01",
        item="review",
        title="t",
        prose="",
        scripts=(),
        time_limit_s=HANG_S,
    )

    async def hear(_: port.AgentEvent) -> None:
        """What it says is of no interest."""

    log = stage.hall / "review.jsonl"
    ask_it = partial(
        consultation.ask, plan.task("task-01"), piece, hear, tree_id=None, files={}, env={}, log=log
    )
    return anyio.run(ask_it)


def test_an_agent_that_is_asked_is_stopped_at_a_ceiling_before_its_next_call(counted: Counted) -> None:
    """CEIL-6: as a musician is; it was counted afterwards alone. What it used is the task's."""
    script: Script = {"review": [say("hm"), spend(cost_usd=1.2), ask("Bash", command="touch asked"), WAIT]}
    with pytest.raises(Parked):
        consult(counted.stage, script, Ceilings(task_cost_usd=1.0))
    assert counted.used().cost_usd == pytest.approx(1.2)
    assert counted.used().time_s > 0


@pytest.mark.deep
def test_two_conductors_do_not_share_one_ceiling_twice(stage: "Stage") -> None:
    """CEIL-3: the second is refused; what the first has reserved stays one."""
    stage.write(SLOW, "[ceilings]\nplan_time_s = 1000\n")
    first = stage.start("run", "PLAN.md")
    stage.until(lambda: (stage.hall / "played").exists())
    assert stage.conduct().code == 4
    (stage.hall / "quick").touch()
    first.terminate()
    assert stage.end(first).code == 130
    stage.to_the_end()


def test_two_that_decide_at_the_same_moment_do_not_share_one_ceiling_twice(stage: "Stage") -> None:
    """CEIL-3: what the first has claimed is reserved before the second claims, a worker or what a run has launched;
    both had found both tasks.
    """
    stage.write(TWO, "[ceilings]\ntask_cost_usd = 3\nplan_cost_usd = 5\n")
    stage.lock()
    root = find_root(stage.root)
    settings = load_settings(root.config)
    found = claimable(root, stage.store, settings, WORLD)
    assert found == ("task-01",), "one after the other, they see each other"
    take = partial(claim_task, root, stage.store, settings=settings, quiet=True, reserves=True, world=WORLD)
    first = take("task-01", "worker-a").claim
    with pytest.raises(ClaimBlocked, match="may use all that the ceilings"):
        take("task-02", "worker-b")
    assert stage.state("task-02") is State.WATCHING
    launched = stage.run("work", "task-02", "--session", "of-a-run", "--quiet")
    assert (launched.code, "may use all that the ceilings" in launched.err) == (5, True)
    service.record_usage(stage.store, first, "step 1", Usage(cost_usd=1.5))
    with pytest.raises(ClaimBlocked):
        take("task-02", "worker-b")
    stage.raw("UPDATE orchestration_tasks SET state = 'exited' WHERE task_id = 'task-01'")
    assert take("task-02", "worker-b").claim.epoch == 1


def test_what_a_killed_musician_has_used_is_not_forgotten(counted: Counted) -> None:
    """CEIL-14: it was written down while it played."""
    script: Script = {"step 1": [spend(cost_usd=0.9), say("begun"), WAIT]}

    async def direct() -> None:
        await counted.until_said("begun")
        assert counted.used().cost_usd == pytest.approx(0.9)
        await counted.stop_once(lambda: True)

    counted.play(script, direct)
    assert counted.used() == Amounts(cost_usd=0.9, turns=1, time_s=counted.used().time_s)
    assert counted.used().time_s > 0


def test_what_an_agent_that_is_asked_is_not_given_parks_all_on_its_account_and_is_no_opinion(
    counted: Counted,
) -> None:
    """LIMIT-7: a person was asked for a verdict in its place."""
    store = counted.stage.store
    with pytest.raises(Parked):
        consult(counted.stage, {"review": [end(PieceEnding.LIMITED, "429", 3600)]}, Ceilings())
    (closed,) = service.closed_accounts(store)
    assert (closed.account, closed.giving) == ("work", Giving.LIMITED)
    with pytest.raises(Parked):
        consult(counted.stage, {"review": [end(PieceEnding.DONE)]}, Ceilings())
    with store.write() as tx:
        tx.run(Limits.lift, account="work")
    assert consult(counted.stage, {"review": [end(PieceEnding.DONE)]}, Ceilings()) == ""
    with pytest.raises(Parked):
        consult(counted.stage, {"review": [end(PieceEnding.REFUSED, "the login has expired")]}, Ceilings())
    (asked,) = service.open_asks(store)
    assert (asked.task_id, asked.kind, asked.text) == ("task-01", "provider", "work: the login has expired")


BUDGETED = PLAN.replace("\n#### Step 1", "\n```yaml task\nbudget: [2usd, 50turns]\n```\n#### Step 1", 1)


def test_a_tasks_budget_stands_in_the_place_of_the_settings_ceiling_and_is_told(stage: "Stage") -> None:
    """CEIL-18: two dollars for it, where the settings say one; what is granted comes on top."""
    counted = Counted(stage, plan=BUDGETED)
    script: Script = {"step 1": [spend(cost_usd=1.2), say("on"), spend(cost_usd=1.2), WAIT]}
    ended = counted.play_to_its_end(script)
    assert ended.reason == f"{CEILING_REACHED}it has used $2.40 of $2.00 (the task's budget)"
    assert "may use:      $2.40 of $2.00, 2 turns of 50 turns" in stage.run("status", "task-01").out
    service.send(stage.store, "task-01", "go on", more=Amounts(cost_usd=1.0))
    assert "$2.40 of $3.00" in stage.run("status", "task-01").out


def test_a_budget_of_money_is_refused_at_the_start_with_an_agent_that_has_no_price(stage: "Stage") -> None:
    """CEIL-18: with no ceiling in the settings."""
    stage.write(BUDGETED)
    refused = stage.run("run", "PLAN.md", "--agent", f"acp:{stage.command[0]}")
    assert refused.code == 2
    assert "does not say what it costs" in refused.err
    assert not stage.view("task-01").sessions
