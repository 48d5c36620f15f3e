"""A repository and a home in a folder whose name no shell would let pass, and the commands (B09)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root
from tests.surroundings import GREETER, Call, begin

PLAN = (
    GREETER.format(test="python3 -m unittest -q")
    + """\
### task-03: Add the greeting ✓
#### Step 1: Write it
Write `greet(name)` into greeter.py.
"""
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own whose name no shell would let pass."""
    folder = tmp_path / "My Home (é) $x `id`"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def repository(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One commit with a plan, and we stand in it."""
    folder = begin(tmp_path / "My Proj (é) $x 'q' \"${HOME}\"", {"PLAN.md": PLAN})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def store(repository: Path, call: Call) -> Iterator[SqliteStore]:
    call("init")
    call("plan", "lock", "PLAN.md")
    opened = SqliteStore.open(find_root(repository).database)
    yield opened
    opened.close()


@pytest.fixture
def claim(store: SqliteStore) -> Claim:
    """Session s1 holds task-03 and has read its instruction."""
    made = service.claim(store, "task-03", "s1", settings=Settings()).claim
    read = tuple(message.id for message in service.unread(store, "task-03"))
    service.deliver(store, made, read)
    service.acknowledge(store, made, read[-1])
    return made
