"""What a refusal must leave alone: everything."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore


def everything(store: Store) -> dict[str, list[object]]:
    """Every row of every table."""
    assert isinstance(store, SqliteStore)
    connection = store.connection
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    )
    return {
        str(name): list(connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2"))  # noqa: S608
        for (name,) in list(tables)
    }


@pytest.fixture
def untouched(store: Store) -> Callable[[], AbstractContextManager[None]]:
    """``with untouched():`` not one row of the database is another afterwards."""

    @contextmanager
    def check() -> Iterator[None]:
        before = everything(store)
        yield
        assert everything(store) == before

    return check
