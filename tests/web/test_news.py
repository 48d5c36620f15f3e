"""A page hears that something has happened, once, and after a gap; it never hears what."""

import anyio

from musician import service
from musician.protocol.states import State
from musician.store.port import Store
from musician.testing.waiting import HANG_S
from musician.web.news import News, seen_before
from tests.conftest import Walk


async def heard(news: News, last_seen: int, events: int) -> list[str]:
    found = []
    async for text in news.stream(last_seen):
        found.append(text)
        if len(found) > events:
            break
    return found[1:]


def test_what_happened_is_told_with_its_place_and_nothing_else(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING)
    seq = service.newest_seq(store)

    async def main() -> tuple[list[str], list[str], list[str]]:
        news = News(store)
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(news.listen)
                while not news.seq:
                    await anyio.sleep(0)
                behind, level = await heard(news, seq - 1, 1), await heard(news, seq, 1)
                await anyio.to_thread.run_sync(lambda: service.send(store, "task-01", "hello"))
                news.look()
                while news.seq == seq:
                    await anyio.sleep(0)
                ahead = await heard(news, seq, 1)
                news.stop()
        return behind, level, ahead

    behind, level, ahead = anyio.run(main)
    assert behind == [f"id: {seq}\nevent: news\ndata:\n\n"]
    assert level == [f"id: {seq}\nevent: beat\ndata:\n\n"]
    assert ahead == [f"id: {service.newest_seq(store)}\nevent: news\ndata:\n\n"]


def test_a_stop_ends_every_stream(store: Store) -> None:
    async def main() -> list[str]:
        news = News(store)
        found: list[str] = []

        async def follow() -> None:
            found.extend([text async for text in news.stream(0)])

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(news.listen)
                group.start_soon(follow)
                await anyio.wait_all_tasks_blocked()
                news.stop()
        return found

    assert anyio.run(main)


def test_what_a_page_says_it_has_seen_is_a_number_or_nothing() -> None:
    assert [seen_before(each) for each in (None, "", "x", "-1", "7", "9" * 99, "²")] == [
        -1,
        -1,
        -1,
        -1,
        7,
        -1,
        -1,
    ]
