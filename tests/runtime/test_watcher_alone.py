"""The watcher tells a session what it must know, soon, and writes down what reached it (D11, D12)."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.messages.kinds import MessageType
from musician.protocol.musician import inputs as i
from musician.protocol.settings import Heartbeat, Settings, Waiting
from musician.protocol.states import State
from musician.runtime.musician.watching import Watcher
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from tests.said import evidence, submission

TASK = "task-01"

SELDOM = Settings(
    heartbeat=Heartbeat(refresh_after_s=100),
    waiting=Waiting(background_poll_s=HANG_S + 100, pause_poll_s=HANG_S + 100),
)
"""What is told is told on the event itself: no test lives to see a second slow look."""


class Scene:
    """A claimed task, seen by its session through one connection and by everybody else through another."""

    def __init__(self, path: Path) -> None:
        self.others = SqliteStore.create(path)
        self.own = SqliteStore.open(path)
        service.open_task(self.others, TASK, title="a task", instruction_path="docs/tasks/task-01.md")
        self.claim: Claim = service.claim(self.own, TASK, "session-1", settings=Settings()).claim

    def submit(self) -> int:
        return service.submit(
            self.own,
            self.claim,
            submission(MessageType.REVIEW_REQUEST, "Checkpoint: 1 of 1"),
            verified=evidence(),
        )

    def approve(self) -> int:
        return service.judge(self.others, TASK, State.REVIEW_APPROVED, "go on")

    def delivered(self) -> list[int]:
        receipts = self.others.ask("SELECT message_id FROM receipts", most_rows=9, most_bytes=999)
        return [int(message_id or 0) for (message_id,) in receipts.rows]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path / "comms.db")
    yield scene
    scene.own.close()
    scene.others.close()


@asynccontextmanager
async def watched(
    scene: Scene, on_tell: Callable[[i.Input], None] = lambda _: None
) -> AsyncIterator[tuple[Watcher, MemoryObjectReceiveStream[i.Input]]]:
    send, receive = anyio.create_memory_object_stream[i.Input](100)

    async def tell(given: i.Input) -> None:
        on_tell(given)
        await send.send(given)

    watcher = Watcher(store=scene.own, claim=scene.claim, settings=SELDOM, tell=tell)
    with anyio.fail_after(HANG_S), send, receive:
        async with anyio.create_task_group() as group:
            group.start_soon(watcher.run)
            yield watcher, receive
            group.cancel_scope.cancel()


def test_a_verdict_is_told_to_who_awaits_it_and_then_written_down_as_delivered(scene: Scene) -> None:
    async def main() -> None:
        async with watched(scene) as (watcher, told):
            watcher.wait_for(scene.submit())
            verdict_id = scene.approve()
            given = await told.receive()
            assert isinstance(given, i.VerdictArrived)
            assert (given.state, given.text) == (State.REVIEW_APPROVED, "go on")
            await watcher.delivered()
            assert verdict_id in scene.delivered()

    anyio.run(main)


def test_a_verdict_that_came_before_it_was_awaited_is_told_all_the_same(scene: Scene) -> None:
    async def main() -> None:
        submission_id = scene.submit()
        verdict_id = scene.approve()
        async with watched(scene) as (watcher, told):
            with anyio.fail_after(HANG_S):
                while (
                    verdict_id not in scene.delivered()
                ):  # by then the watcher has looked, and looked past it
                    await anyio.sleep(0.01)
            watcher.wait_for(submission_id)
            assert isinstance(await told.receive(), i.VerdictArrived)

    anyio.run(main)


def test_a_note_is_written_down_as_delivered_before_it_is_told(scene: Scene) -> None:
    at_telling: list[list[int]] = []

    async def main() -> None:
        async with watched(scene, lambda _: at_telling.append(scene.delivered())) as (_, told):
            note_id = service.send(scene.others, TASK, "mind the gap")
            given = await told.receive()
            assert isinstance(given, i.MessageArrived)
            assert (given.message_id, given.text, given.urgent) == (note_id, "mind the gap", False)
            assert note_id in at_telling[0]

    anyio.run(main)


def test_a_note_and_the_verdict_after_it_are_told_in_that_order(scene: Scene) -> None:
    async def main() -> None:
        submission_id = scene.submit()
        service.send(scene.others, TASK, "about your work")
        scene.approve()
        async with watched(scene) as (watcher, told):
            watcher.wait_for(submission_id)
            kinds = [type(await told.receive()) for _ in range(2)]
            assert kinds == [i.MessageArrived, i.VerdictArrived]

    anyio.run(main)


def test_a_writer_that_rings_no_bell_is_heard_too(scene: Scene) -> None:
    """D11.9"""

    async def main() -> None:
        async with watched(scene) as (_, told):
            scene.others.connection.execute(
                "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
                " VALUES ('task-01', 'task-00', 'emergency', 'stop')"
            )
            given = await told.receive()
            assert isinstance(given, i.MessageArrived)
            assert given.urgent

    anyio.run(main)


def test_a_request_to_exit_is_told_once(scene: Scene) -> None:
    async def main() -> None:
        async with watched(scene) as (_, told):
            exit_id = service.request_exit(scene.others, TASK, "enough for today", urgent=False)
            assert await told.receive() == i.ExitWasRequested(text="enough for today", message_id=exit_id)
            service.send(scene.others, TASK, "and thank you")
            assert isinstance(await told.receive(), i.MessageArrived)

    anyio.run(main)


def test_a_session_whose_claim_is_lost_is_told_so_and_nothing_after_it(scene: Scene) -> None:
    async def main() -> None:
        async with watched(scene) as (_, told):
            service.fence(scene.others, TASK, epoch=scene.claim.epoch)
            service.send(scene.others, TASK, "to whoever comes next")
            assert await told.receive() == i.ClaimWasLost()
            with pytest.raises(anyio.WouldBlock):
                told.receive_nowait()

    anyio.run(main)
