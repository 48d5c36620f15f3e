"""One musician (D30): the same story, told through every entrance, leaves the same in the database.

What a driven run's agent says with lines of its output, a session by hand says with verbs: commands, or a client's
tools; and the sources' own scripts say it in SQL.
"""

import shlex
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from musician import service
from musician.mcp_server import acts, verifying
from musician.mcp_server.served_session import ServedSession
from musician.mcp_server.tools import TOOLS
from musician.project import Project
from musician.protocol.errors import EvidenceMissing, IllegalEvent
from musician.protocol.journal import EntryKind
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.states import State
from musician.trees.root import find_root
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
echo two > two.txt
```
"""
CLAIM = (
    "UPDATE orchestration_tasks SET state = 'working', session_id = 's1', worked_by = 'musician-task-01',"
    " started_at = datetime('now'), last_heartbeat = datetime('now')"
    " WHERE task_id = 'task-01' AND state IN ('watching', 'fix_proposed', 'exit_requested')"
)
SAY = (
    "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
    " VALUES ('task-01', 's1', :kind, :text)"
)
MOVE = (
    "UPDATE orchestration_tasks SET state = :state, last_heartbeat = datetime('now')"
    " WHERE task_id = 'task-01' AND session_id = 's1'"
)
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


def sql(stage: Stage, story: Story) -> None:
    """As the sources' scripts do: the message, then the state."""
    stage.raw(CLAIM)
    say(stage, "error", story[-1][1], State.ERROR)


def say(stage: Stage, kind: str, text: str, state: State) -> None:
    stage.raw(SAY, kind=kind, text=text)
    stage.raw(MOVE, state=state.value)


class Client:
    """The tools of session s1, called as the server calls them."""

    def __init__(self, stage: Stage) -> None:
        environ = {"MUSICIAN_SESSION": "s1"}
        self._place = Project(str(stage.root))
        self._seat = ServedSession(environ, self._place)

    def call(self, name: str, **given: object) -> str:
        arguments = TOOLS[name].parse(given)
        if TOOLS[name].is_errand:
            return str(anyio.run(partial(getattr(verifying, name), self._seat, **arguments)))
        return str(getattr(acts, name)(self._seat, **arguments))

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
    with opened(folder, script(story)) as stage:
        stage.raw("UPDATE orchestration_tasks SET retry_limit = :retries", retries=retries)
        entrance(stage, story)
        view = stage.view(TASK)
        errors = (EntryKind.FAILED, EntryKind.ERROR)
        told = (EntryKind.STARTED, EntryKind.DEVIATION, EntryKind.SELF_CORRECTION, *errors)
        journal = [row for row in view.journal if row.kind in told]
        said = service.messages_of(stage.store, TASK)
        return [
            [
                (
                    row.kind,
                    row.item,
                    row.severity,
                    "" if row.kind in (EntryKind.STARTED, *errors) else row.text,
                )
                for row in journal
            ],
            [row.message_type for row in said if row.from_session == "s1"],
            [(change.from_state, change.to_state) for change in view.history],
            (view.row.state, view.error_count),
            [(row.exit_reason or "").partition(":")[0] for row in view.sessions if row.ended_at],
        ]


@contextmanager
def opened(folder: Path, run: str) -> Iterator[Stage]:
    folder.mkdir()
    stage = Stage(folder)
    try:
        stage.write(PLAN.format(run=run))
        stage.lock()
        yield stage
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


def test_a_failure_in_sql_leaves_the_rows_that_every_entrance_leaves(tmp_path: Path) -> None:
    """D30.3: the sources' script has no journal; messages, states and what counts as an error are the same."""
    in_sql, by_tool = (
        played(tmp_path / each.__name__, each, STORIES["it fails"], 5)[1:] for each in (sql, tools)
    )
    assert in_sql == by_tool


# -- a whole task ---------------------------------------------------------------------------------------------------

FAILS_ONCE = """\
if test -e "$MUSICIAN_SCRATCH/again"; then echo one > one.txt; exit; fi
touch "$MUSICIAN_SCRATCH/again"
echo broke >&2
exit 1
"""
ANSWER = "try again"


class Life:
    """One entrance's acts, from the claim to the end; what the conductor says in between is the same."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def wait_for(self, state: State) -> None:
        assert self.stage.state(TASK) is state

    def fail(self) -> None: ...
    def submit(self) -> None: ...
    def complete(self) -> None: ...
    def close(self) -> None: ...


class Driven(Life):
    def fail(self) -> None:
        self._started = self.stage.start("work", TASK, "--session", "s1")

    def wait_for(self, state: State) -> None:
        self.stage.until(lambda: self.stage.state(TASK) is state)

    def complete(self) -> None:
        assert self.stage.end(self._started).code == 0


class ByVerbs(Life):
    def do(self, name: str, *texts: str) -> None:
        assert self.stage.run(name, TASK, *texts, MUSICIAN_SESSION="s1").code == 0

    def step(self, act: str, number: int) -> None:
        self.do("step", act, str(number))

    def fail(self) -> None:
        self.do("claim")
        self.step("start", 1)
        self.do("error", "broke")

    def submit(self) -> None:
        self.step("start", 1)
        tree = find_root(self.stage.root).trees_dir / "entrances" / TASK
        (tree / "one.txt").write_text("one\n")
        self.step("done", 1)
        self.step("start", 2)
        (tree / "two.txt").write_text("two\n")
        self.step("done", 2)
        self.do("checkpoint")

    def complete(self) -> None:
        self.do("complete")


class ByTools(ByVerbs):
    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._client = Client(stage)

    def do(self, name: str, *texts: str) -> None:
        given = {"claim": {"task": TASK}, "checkpoint": {"summary": "all"}, "error": {"text": "".join(texts)}}
        self._client.call(name, **given.get(name, {}))

    def step(self, act: str, number: int) -> None:
        self._client.call("step", n=number, act=act)

    def close(self) -> None:
        self._client.close()


class InSql(Life):
    def fail(self) -> None:
        sql(self.stage, (("error", "broke"),))

    def submit(self) -> None:
        self.stage.raw(MOVE, state="working")
        say(self.stage, "completion", "TASK COMPLETE", State.NEEDS_REVIEW)

    def complete(self) -> None:
        say(self.stage, "completed", "done", State.COMPLETE)


def lived(folder: Path, entrance: type[Life]) -> tuple[list[object], list[object]]:
    """What a task that fails, is answered and comes to its end leaves in its rows, and in its journal."""
    with opened(folder, FAILS_ONCE) as stage, closing(entrance(stage)) as life:
        life.fail()
        life.wait_for(State.ERROR)
        service.judge(stage.store, TASK, State.FIX_PROPOSED, ANSWER)
        life.submit()
        life.wait_for(State.NEEDS_REVIEW)
        service.judge(stage.store, TASK, State.REVIEW_APPROVED, "so be it")
        life.complete()
        view = stage.view(TASK)
        rows: list[object] = [
            [row.message_type for row in service.messages_of(stage.store, TASK)],
            [(change.from_state, change.to_state) for change in view.history],
            (view.row.state, view.error_count),
        ]
        free = (EntryKind.FAILED, EntryKind.ERROR)  # an agent's shell has words of its own
        journal: list[object] = [
            (row.kind, row.item, "" if row.kind in free else row.text) for row in view.journal
        ]
        return rows, journal


def test_a_task_comes_to_its_end_the_same_through_every_entrance(tmp_path: Path) -> None:
    """D30.3: failed, answered, played, verified, approved, complete."""
    rows, journal = lived(tmp_path / "driven", Driven)
    for entrance in (ByVerbs, ByTools):
        assert lived(tmp_path / entrance.__name__, entrance) == (rows, journal)
    assert lived(tmp_path / "sql", InSql)[0] == rows


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
    assert [row.kind for row in by_hand.view(TASK).journal].count(EntryKind.CORRECTION) == 1


def test_what_a_process_plays_is_not_played_by_hand_too(stage: Stage) -> None:
    """D30.4: while it lives its claim is moved by nobody else, under the same session either."""
    stage.write(PLAN.format(run=stage.gate("here")))
    stage.lock()
    started = stage.start("work", TASK, "--session", "s1")
    stage.wait_at("here")
    for name, *more in (
        ("step", "start", "1"),
        ("step", "done", "1"),
        ("step", "skipped", "2", "no need"),
        ("checkpoint",),
        ("error", "broke"),
        ("exit",),
    ):
        refused = stage.run(name, TASK, *more, MUSICIAN_SESSION="s1")
        assert (refused.code, f"process {started.pid} plays it" in refused.err) == (4, True), (name, refused)
    assert stage.run("deviation", TASK, "Low", "slower", MUSICIAN_SESSION="s1").code == 0
    started.kill()
    started.wait()
    assert stage.run("exit", TASK, MUSICIAN_SESSION="s1").code == 0
