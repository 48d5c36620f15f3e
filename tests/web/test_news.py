"""A page hears that something has happened, once, and after a gap; it never hears what."""

from pathlib import Path

import anyio

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.states import State
from musician.store.bell import Bell
from musician.store.port import ONLOOKERS, Store
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


def test_what_concerns_only_a_task_itself_is_told_at_once(store: Store, walk: Walk) -> None:
    """An onlooker is rung for it, and does not have to look: a step, a message to it, and that it has heard it."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    note = Entry(kind=EntryKind.NOTE, text="half of it is there")
    with Bell(Path(store.name), ONLOOKERS) as bell:
        rung = []
        for act in (
            lambda: service.send(store, "task-01", "hello"),
            lambda: service.deliver(store, claim, tuple(row.id for row in service.unread(store, "task-01"))),
            lambda: service.acknowledge(store, claim, service.messages_of(store, "task-01")[-1].id),
            lambda: service.record(store, claim, note),
            lambda: service.record(store, claim),  # a heartbeat, which is nothing to look at
        ):
            act()
            rung.append(bell.drain())
    assert rung == [True, True, True, True, False]


def test_a_page_that_shows_more_than_rows_is_told_when_that_has_grown(store: Store) -> None:
    async def main() -> list[str]:
        news, size = News(store), [0]
        found = []
        with anyio.fail_after(HANG_S):
            async for text in news.stream(0, lambda: size[0]):
                found.append(text)
                size[0] += 1
                if len(found) > 3:
                    break
        return found[1:]

    assert anyio.run(main) == ["id: 0\nevent: beat\ndata:\n\n"] * 3
