"""Whether the owner of a claim lives, where a client's process plays it (D2.5)."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.processes.identity import ProcessIdentity, identify
from musician.processes.machine import MACHINE
from musician.protocol.rules.liveness import Owner
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.owners import lives, owner_of
from musician.service import Met
from musician.store.port import Store
from musician.trees.root import Root

if TYPE_CHECKING:
    from tests.conftest import Walk

HERE = identify(os.getpid())


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(path=tmp_path)


def met(store: Store, walk: "Walk", identity: ProcessIdentity) -> None:
    walk(store, "task-03", State.WORKING, session_id="s1")
    service.meet_client(store, "s1", Met(identity=identity, attended=True, hosted=False))


def test_a_client_that_runs_lives(store: Store, walk: "Walk", root: Root) -> None:
    met(store, walk, HERE)
    assert lives(root, service.task_view(store, "task-03"), MACHINE) is True


@pytest.mark.parametrize(("reason", "owner"), [("other", Owner.DEAD), ("clear", Owner.LIVE)])
def test_an_ended_session_is_known_dead_at_once(
    store: Store, walk: "Walk", root: Root, reason: str, owner: Owner
) -> None:
    """However fresh its heartbeat, nobody waits for that to go stale; one that was cleared goes on."""
    met(store, walk, HERE)
    service.end_client(store, "s1", reason=reason)
    assert owner_of(root, service.task_view(store, "task-03"), Settings(), MACHINE) is owner


def test_a_client_that_was_killed_is_known_dead_at_once(store: Store, walk: "Walk", root: Root) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as client:
        met(store, walk, identify(client.pid))
        assert lives(root, service.task_view(store, "task-03"), MACHINE) is True
        client.kill()
        client.wait()
    assert owner_of(root, service.task_view(store, "task-03"), Settings(), MACHINE) is Owner.DEAD


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (replace(HERE, host="another"), None),
        (replace(HERE, boot_id="another/pid:[1]"), False),
        (replace(HERE, boot_id=HERE.boot_id.partition("/")[0] + "/pid:[1]"), None),
    ],
    ids=["another host", "an earlier boot", "another pid namespace"],
)
def test_a_client_that_cannot_be_seen_is_not_called_alive(
    store: Store, walk: "Walk", root: Root, identity: ProcessIdentity, expected: bool | None
) -> None:
    met(store, walk, identity)
    assert lives(root, service.task_view(store, "task-03"), MACHINE) is expected
