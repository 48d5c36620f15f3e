"""From the name of a database to an open store (D25)."""

from pathlib import Path

import pytest

from musician.protocol.errors import DatabaseUnusable, NotInitialised
from musician.store.opening import create_store, database_path, open_store


def test_a_name_is_a_path_from_where_we_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_path("a/b.db") == tmp_path / "a" / "b.db"
    assert database_path("/x.db") == Path("/x.db")


@pytest.mark.parametrize("name", ["postgresql://ada:secret@host/db", "sqlite:///x.db", "", "a\0b"])
def test_what_is_no_path_is_refused_and_no_password_is_repeated(name: str) -> None:
    with pytest.raises(DatabaseUnusable) as caught:
        database_path(name)
    assert caught.value.kind == "unopenable"
    assert "secret" not in str(caught.value)


def test_opening_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotInitialised) as caught:
        open_store(tmp_path / "x.db", named=True)
    assert caught.value.named
    assert not list(tmp_path.iterdir())


def test_what_was_created_can_be_opened_and_created_again(tmp_path: Path) -> None:
    for make in (create_store, open_store, create_store):
        store = make(tmp_path / "x.db")
        assert store.path == tmp_path / "x.db"
        store.close()
