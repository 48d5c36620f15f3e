"""One musician (D30): the same story, told through every entrance, leaves the same in the database.

What a driven run's agent says with lines of its output, a session by hand says with verbs: commands, or a client's
tools.
"""

import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.mcp_server import acts
from musician.mcp_server.seat import Seat
from musician.mcp_server.tools import TOOLS
from musician.project import Project
from musician.protocol.errors import EvidenceMissing, IllegalEvent
from musician.protocol.journal import Kind
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.states import State
from tests.runtime.conftest import Stage

TASK = "task-01"
PLAN = """\
---
plan: entrances
test: test -s one.txt
---
# Entrances

## Overview
One task.

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
{run}
```
#### Step 2: End
```bash run
true
```
"""
Story = tuple[tuple[str, ...], ...]
"""Each word of it with its texts; the last is the failure that ends it."""

SLOWER = ("deviation", "Medium", "slower")
STORIES: dict[str, Story] = {
    "it fails": (("error", "broke"),),
    "it tells the same again": (SLOWER, SLOWER, ("deviation", "Low", "slower"), ("error", "broke")),
    "it corrects itself": (("self-correction", "done again"), ("error", "broke")),
}


def driven(stage: Stage, story: Story) -> None:
    started = stage.start("work", TASK, "--session", "s1")
    stage.until(lambda: stage.state(TASK) in (State.ERROR, State.EXITED))
    started.terminate()  # from its wait for the answer
    stage.end(started)


def commands(stage: Stage, story: Story) -> None:
    for name, *more in (("claim",), ("step", "start", "1"), *story):
        assert stage.run(name, TASK, *more, MUSICIAN_SESSION="s1").code == 0


def tools(stage: Stage, story: Story) -> None:
    stage.run("claim", TASK, MUSICIAN_SESSION="s1")
    with closing(Client(stage)) as client:
        client.call("step", n=1, act="start")
        for name, *texts in story:
            names = ("severity", "text") if name == "deviation" else ("text",)
            client.call(name.replace("-", "_"), **dict(zip(names, texts, strict=True)))


class Client:
    """The tools of session s1, called as the server calls them."""

    def __init__(self, stage: Stage) -> None:
        environ = {"MUSICIAN_SESSION": "s1"}
        self._place = Project(str(stage.root))
        self._seat = Seat(environ, self._place)

    def call(self, name: str, **given: object) -> str:
        return str(getattr(acts, name)(self._seat, **TOOLS[name].parse(given)))

    def close(self) -> None:
        self._seat.close()
        self._place.close()


def script(story: Story) -> str:
    """What an agent prints, and how it ends, to tell the same."""
    *told, failure = story
    lines = [f"echo {shlex.quote('::' + ' '.join(said))}" for said in told]
    return "\n".join([*lines, f"echo {shlex.quote(failure[1])} >&2", "exit 1"])


def played(
    folder: Path, entrance: Callable[[Stage, Story], None], story: Story, retries: int
) -> list[object]:
    """What it left; but for the words of an error, where an agent's shell has its own."""
    folder.mkdir()
    stage = Stage(folder)
    try:
        stage.write(PLAN.format(run=script(story)))
        stage.lock()
        stage.raw("UPDATE orchestration_tasks SET retry_limit = :retries", retries=retries)
        entrance(stage, story)
        view = stage.view(TASK)
        errors = (Kind.FAILED, Kind.ERROR)
        told = (Kind.STARTED, Kind.DEVIATION, Kind.SELF_CORRECTION, *errors)
        journal = [row for row in view.journal if row.kind in told]
        said = service.messages_of(stage.store, TASK)
        return [
            [
                (row.kind, row.item, row.severity, "" if row.kind in (Kind.STARTED, *errors) else row.text)
                for row in journal
            ],
            [row.message_type for row in said if row.from_session == "s1"],
            [(change.from_state, change.to_state) for change in view.history],
            (view.row.state, view.error_count),
            [(row.exit_reason or "").partition(":")[0] for row in view.sessions if row.ended_at],
        ]
    finally:
        stage.clear()


@pytest.mark.parametrize("retries", [5, 1], ids=["with retries left", "at the last"])
@pytest.mark.parametrize("story", STORIES)
def test_a_story_leaves_the_same_through_every_entrance(story: str, retries: int, tmp_path: Path) -> None:
    """D30.2: what is told twice counts once, and the last failure hands off, whoever is told."""
    first, *others = (
        played(tmp_path / each.__name__, each, STORIES[story], retries) for each in (driven, commands, tools)
    )
    assert others == [first, first]


@pytest.fixture
def by_hand(stage: Stage) -> Stage:
    """Session s1 holds the task."""
    stage.write(PLAN.format(run="true"))
    stage.lock()
    stage.run("claim", TASK, MUSICIAN_SESSION="s1")
    return stage


def test_steps_are_begun_in_their_order(by_hand: Stage) -> None:
    """D30.2: as a driven session begins them; what is done may be begun again, to mend it."""
    with closing(Client(by_hand)) as client:
        with pytest.raises(EvidenceMissing, match="before step 2 comes what is not done yet: step 1"):
            client.call("step", n=2, act="start")
        for number in (1, 2):
            client.call("step", n=number, act="start")
            client.call("step", n=number, act="done")
        client.call("step", n=1, act="start")


def test_what_waits_for_an_answer_does_not_fail_again(by_hand: Stage) -> None:
    """D30.2: reported again, while it waits, it would be counted, and at the last retry be the end."""
    by_hand.raw("UPDATE orchestration_tasks SET retry_limit = 2")
    with closing(Client(by_hand)) as client:
        client.call("error", text="broke")
        with pytest.raises(IllegalEvent):
            client.call("error", text="broke")
    assert by_hand.state(TASK) is State.ERROR


def test_what_the_conductor_orders_is_written_down_once(by_hand: Stage) -> None:
    """D30.2: with the failure that is reported before the order is carried out."""
    service.send(by_hand.store, TASK, with_corrections("not so", ["use the other key"]))
    with closing(Client(by_hand)) as client:
        client.call("error", text="broke")
    assert [row.kind for row in by_hand.view(TASK).journal].count(Kind.CORRECTION) == 1
