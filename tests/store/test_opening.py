"""From the name of a database to an open store (D25)."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from musician.protocol.errors import DatabaseUnusable, NotInitialised
from musician.store.naming import file_named, url_of
from musician.store.opening import create_store, database_path, open_store


def test_a_name_is_a_path_from_where_we_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_path("a/b.db") == tmp_path / "a" / "b.db"
    assert database_path("/x.db") == Path("/x.db")


def test_a_name_is_a_url_just_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DATA-10: three slashes for a path from where we stand, four for one from the root."""
    monkeypatch.chdir(tmp_path)
    assert database_path("sqlite:///a/b.db") == tmp_path / "a" / "b.db"
    assert database_path("SQLite:////x.db") == Path("/x.db")


@pytest.mark.parametrize("name", ["x.db", "50% off?#.db", "of ada", "ü\n.db"])
def test_whatever_a_file_is_called_its_url_leads_to_it_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """DATA-10."""
    with closing(create_store(tmp_path / name)) as store:
        monkeypatch.chdir("/")
        assert store.url.isascii()
        assert database_path(store.url) == tmp_path / name


def test_a_url_holds_whatever_bytes_a_path_has() -> None:
    """DATA-10."""
    path = os.fsdecode(b"/\xff\xfe%41.db")
    assert file_named(url_of(path), "/somewhere") == path


@pytest.mark.parametrize(
    "name",
    [
        "postgresql://ada:secret@host/db",
        "sqlite://secret/x.db",
        "sqlite:///",
        "sqlite:///x.db?key=secret",
        "sqlite:///x.db#secret",
        "sqlite:///secret%00",
        "",
        "a\0b",
    ],
)
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
        assert Path(store.name) == tmp_path / "x.db"
        store.close()


def test_a_store_knows_whether_its_name_still_leads_to_it(tmp_path: Path) -> None:
    with closing(create_store(tmp_path / "x.db")) as store:
        assert store.is_there()
        (tmp_path / "x.db").rename(tmp_path / "away.db")
        assert not store.is_there()
        with closing(create_store(tmp_path / "x.db")) as another:
            assert another.is_there()
            assert not store.is_there()
