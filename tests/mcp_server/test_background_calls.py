"""Tools that run tests go on however long their caller waits, and end when nobody wants them any more."""

import anyio
import pytest

from musician.mcp_server import background_calls
from musician.mcp_server.background_calls import BackgroundCalls
from musician.protocol.errors import NoSession


class Work:
    """Work that is done when it is told so; how often it was begun, and whether it was ended before its end."""

    def __init__(self) -> None:
        self.begun = 0
        self.was_ended = False
        self.is_over = anyio.Event()
        self.has_begun = anyio.Event()

    async def __call__(self) -> str:
        self.begun += 1
        self.has_begun.set()
        try:
            await self.is_over.wait()
        except anyio.get_cancelled_exc_class():
            self.was_ended = True
            raise
        return f"done {self.begun}"


def test_an_answer_comes_in_time_and_calling_again_waits_for_the_same_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play() -> None:
        work = Work()
        async with anyio.create_task_group() as group:
            at = BackgroundCalls(group)
            monkeypatch.setattr(background_calls, "ANSWER_WITHIN_S", 0.01)
            assert (
                await at.answer("checkpoint", work)
                == "not done after 0.01 s; call checkpoint again to wait for it"
            )
            monkeypatch.setattr(background_calls, "ANSWER_WITHIN_S", 60.0)
            work.is_over.set()
            assert await at.answer("checkpoint", work) == "done 1"
            assert await at.answer("checkpoint", work) == "done 2"

    anyio.run(play)


def test_two_callers_wait_for_one_work() -> None:
    async def play() -> list[str]:
        work, said = Work(), list[str]()

        async def call() -> None:
            said.append(await at.answer("checkpoint", work))

        async with anyio.create_task_group() as group:
            at = BackgroundCalls(group)
            group.start_soon(call)
            group.start_soon(call)
            await work.has_begun.wait()
            work.is_over.set()
        return said

    assert anyio.run(play) == ["done 1", "done 1"]


def test_a_refusal_reaches_the_caller_and_the_next_call_begins_anew() -> None:
    async def refuse() -> str:
        raise NoSession(value=None)

    async def play() -> None:
        work = Work()
        work.is_over.set()
        async with anyio.create_task_group() as group:
            at = BackgroundCalls(group)
            with pytest.raises(NoSession):
                await at.answer("claim", refuse)
            assert await at.answer("claim", work) == "done 1"

    anyio.run(play)


def test_a_cancelled_call_takes_its_work_along_and_the_next_begins_anew() -> None:
    async def play() -> None:
        work, again = Work(), Work()
        again.is_over.set()
        async with anyio.create_task_group() as group:
            at = BackgroundCalls(group)
            scope = anyio.CancelScope()

            async def call() -> None:
                with scope:
                    await at.answer("checkpoint", work)

            group.start_soon(call)
            await work.has_begun.wait()
            scope.cancel()
            assert await at.answer("checkpoint", again) == "done 1"
        assert work.was_ended

    anyio.run(play)
