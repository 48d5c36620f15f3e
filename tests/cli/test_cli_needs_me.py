"""The one list of what waits for a person: each with its reason, what it blocks, and the command to give."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.processes.identity import identify
from musician.processes.machine import MACHINE
from musician.project import Project
from musician.protocol.settings import Settings
from musician.reporting.asks import ANSWERS
from musician.reporting.needs_me import WHY, needs_me
from musician.reporting.run_at_work import is_conducted
from musician.runtime.conductor.conductor_lock import conducting_run
from musician.service import Met
from musician.store.opening import open_store
from musician.trees.root import find_root
from tests.cli.test_cli_session import write_greeter
from tests.surroundings import Call, play

TWO_PHASES = """\
---
plan: greeter
---
# Greeter
## Phase 1: One
### task-01: Greet
#### Step 1: Write it
### task-02: Part
```yaml task
after: [task-01]
```
#### Step 1: Write it
### task-05: Part of the part
```yaml task
after: [task-02]
```
#### Step 1: Write it
### task-03: Alone
#### Step 1: Write it
## Phase 2: Two
### task-04: Polish
#### Step 1: Write it
"""


def waiting(call: Call) -> list[dict[str, Any]]:
    found = call("needs-me", "--json", expect=None)
    needs: list[dict[str, Any]] = found.json["waiting"]
    assert found.code == (1 if needs else 0)
    assert call("status", "--json").json["needs"] == needs, "status is one more look at the same"
    told = call("status").out.splitlines()
    assert [each for each in told if each.startswith("needs a person: ")] == [
        f"needs a person: {need['reason']}" for need in needs
    ]
    return needs


def test_nothing_waits_where_nobody_has_asked(ready: Path, call: Call) -> None:
    """NEEDS-ME: a plan that no run has begun is played by hand."""
    assert call("needs-me", expect=0).out == "nothing waits\n"


def test_a_need_has_its_reason_what_it_blocks_and_the_command(ready: Path, call: Call) -> None:
    """NEEDS-ME."""
    (ready / "OTHER.md").write_text(TWO_PHASES.replace("task-0", "other-0").replace("greeter", "other"))
    call("plan", "lock", "OTHER.md")
    with closing(open_store(ready / ".musician" / "comms.db")) as store:
        service.ask_human(store, "other-01", kind="question", subject_id=7, text="red\nor blue?")
    (need,) = waiting(call)
    assert (need["task_id"], need["plan_id"], need["kind"], need["subject_id"]) == (
        "other-01",
        "other",
        "question",
        7,
    )
    assert need["reason"] == "other-01 asks: red or blue?"
    assert need["text"] == "red\nor blue?", "whole for programs"
    assert need["blocks"] == ["other-02", "other-05", "other-04"]
    assert need["answers"][0]["command"] == 'musician send other-01 "your answer"'
    told = call("needs-me", expect=1).out
    assert "waiting for it: other-02, other-05, other-04" in told
    assert 'musician send other-01 "your answer"' in told


def test_what_no_run_would_judge_waits_for_a_person(claimed: Path, call: Call) -> None:
    """NEEDS-ME: the rules judge it while a run is at work, and nobody does when it is gone."""
    write_greeter(claimed)
    play(call, 1)
    sent = call("checkpoint", "1", "--json").json["message_id"]
    (need,) = waiting(call)
    assert (need["kind"], need["subject_id"]) == ("review", sent)
    assert "no run is at work" in need["reason"]
    with (
        closing(open_store(claimed / ".musician" / "comms.db")) as store,
        conducting_run(find_root(claimed), "c1", MACHINE),
    ):
        service.start_conducting(store, "c1", settings=Settings())
        assert is_conducted(find_root(claimed), store, Settings())
        assert needs_me(store, is_conducted=True, owner_of=lambda _: None) == ()
    assert [each["kind"] for each in waiting(call)] == ["review"], "the lock says that the run is dead"


def test_a_plan_whose_run_is_gone_waits_for_one(ready: Path, call: Call) -> None:
    """NEEDS-ME: nothing of it goes on by itself, unless somebody plays it by hand."""
    with closing(open_store(ready / ".musician" / "comms.db")) as store:
        conducting = service.start_conducting(store, "c1", settings=Settings())
        service.interrupt_conducting(store, conducting)
    (need,) = waiting(call)
    assert (need["task_id"], need["kind"], need["blocks"]) == ("task-00", "run", ["task-01", "task-02"])
    assert need["answers"][0]["command"] == "musician run PLAN.md"
    call("claim", "1", "--session", "s1")
    assert waiting(call) == []
    with closing(open_store(ready / ".musician" / "comms.db")) as store:
        service.meet_client(store, "s1", Met(identity=identify(os.getpid()), attended=True, hosted=False))
        assert waiting(call) == []
        service.end_client(store, "s1", reason="other")
    assert [each["kind"] for each in waiting(call)] == ["run"], "a claim whose session is dead moves nothing"
    assert "no run is at work on the plan" in call("status").out


def test_no_kind_is_without_words() -> None:
    """NEEDS-ME."""
    assert ANSWERS.keys() <= WHY.keys()


@pytest.mark.parametrize("kind", ["retries", "a kind of tomorrow's"])
def test_every_kind_has_a_reason_and_a_command(claimed: Path, call: Call, kind: str) -> None:
    """NEEDS-ME."""
    with closing(open_store(claimed / ".musician" / "comms.db")) as store:
        service.ask_human(store, "task-01", kind=kind, subject_id=1, text="five times")
    (need,) = waiting(call)
    assert need["reason"].startswith("task-01 ")
    assert need["reason"].endswith(": five times")
    assert need["answers"]


def test_the_document_has_the_keys_that_its_help_names(claimed: Path, call: Call) -> None:
    """NEEDS-ME: scripts read them."""
    project = Project(str(claimed))
    service.ask_human(project.store, "task-01", kind="trouble", subject_id=7, text="no disk")
    project.close()
    (need,) = call("needs-me", "--json", expect=1).json["waiting"]
    told = " ".join(call("needs-me", "--help").out.split())
    assert [name for name in (*need, *need["answers"][0]) if name not in told] == []
    assert set(need) == {
        "task_id", "plan_id", "kind", "subject_id", "at", "reason", "text", "blocks", "answers",
    }  # fmt: skip
    assert set(need["answers"][0]) == {"command", "effect"}
