"""What lives is not put away, and a kill at any moment leaves a plan whole (D32)."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from musician.processes.machine import MACHINE
from musician.runtime.conductor.conductor_lock import hold_conductor_lock
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root
from tests.plan_end.conftest import rows, write_plan
from tests.surroundings import Call, git

DIES = """
import os, signal, sys
from musician.cli.main import run
from importlib import import_module
module, name, before = sys.argv[1].split()
owner, _, attribute = name.rpartition(".")
place = import_module(module)
for part in filter(None, owner.split(".")):
    place = getattr(place, part)
real = getattr(place, attribute)
def dies(*given, **named):
    if before == "after":
        real(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, attribute, dies)
run(sys.argv[2:])
"""

MOMENTS = {
    "before the archive is whole": "musician.store.sqlite.archiving os.replace before",
    "before anything is deleted": "musician.store.sqlite.archiving os.replace after",
    "before the commit": "musician.store.sqlite.archiving delete_plan after",
    "with a file moved": "musician.runtime.archiving shutil.move after",
    "with every file moved": "musician.runtime.archiving TaskFiles.__init__ before",
}
BACK = {
    "before anything is taken back": "musician.store.sqlite.archiving _copy_rows before",
    "before the commit": "musician.store.sqlite.archiving _copy_rows after",
    "with a file moved": "musician.runtime.archiving shutil.move after",
    "before the archive is gone": "musician.runtime.archiving shutil.rmtree before",
}


def one_is_quick(moments: Mapping[str, str]) -> list[object]:
    """As parameters; all but the first are deep."""
    return [
        pytest.param(moment, id=name, marks=() if number == 0 else pytest.mark.deep)
        for number, (name, moment) in enumerate(moments.items())
    ]


def kill_at(house: Path, moment: str, *command: str) -> None:
    argv = [sys.executable, "-c", DIES, moment, *command]
    done = subprocess.run(argv, cwd=house, capture_output=True, timeout=HANG_S, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("moment", one_is_quick(MOMENTS))
def test_killed_while_archiving_it_goes_on(house: Path, call: Call, moment: str) -> None:
    """D32.2."""
    call("plan", "lock", write_plan(house, "first"))
    before = call("timeline", "--json").json
    logs = house / ".musician" / "logs" / "task-01"
    logs.mkdir(parents=True)
    (logs / "checks.log").write_text("said\n")
    kill_at(house, moment, "plan", "archive", "first", "--abandon", "why not")
    assert [each["state"] for each in call("plan", "list", "--json").json["plans"]] == ["open"]
    assert call("timeline", "--json").json == before
    call("plan", "archive", "first", "--abandon", "why not")
    assert call("timeline", "--json", "--plan", "first").json == before
    assert not logs.exists()
    call("plan", "restore", "first")
    assert (logs / "checks.log").read_text() == "said\n"


@pytest.mark.parametrize("moment", one_is_quick(BACK))
def test_killed_while_restoring_it_goes_on(house: Path, call: Call, moment: str) -> None:
    """D32.2."""
    call("plan", "lock", write_plan(house, "first"))
    before = call("timeline", "--json").json
    logs = house / ".musician" / "logs" / "task-01"
    logs.mkdir(parents=True)
    (logs / "checks.log").write_text("said\n")
    call("plan", "archive", "first", "--abandon", "why not")
    kill_at(house, moment, "plan", "restore", "first")
    if [each["state"] for each in call("plan", "list", "--json").json["plans"]] == ["abandoned"]:
        call("plan", "restore", "first")
    assert call("timeline", "--json").json == before
    assert (logs / "checks.log").read_text() == "said\n"
    call("plan", "archive", "first", "--abandon", "again")
    assert call("timeline", "--json", "--plan", "first").json == before


DROPPED = {
    "before anything": "musician.service drop_plan before",
    "before its files go": "musician.service drop_plan after",
    "with a file gone": "os unlink after",
    "before its name is free": "musician.runtime.archiving begin_anew before",
    "before that is stored": "musician.service forget_dropped before",
}


@pytest.mark.parametrize("moment", DROPPED.values(), ids=DROPPED)
def test_killed_while_dropping_it_goes_on(house: Path, call: Call, moment: str) -> None:
    """D32.4: or the next clean does the rest, and no file of its archive meets a plan of its name."""
    path = write_plan(house, "first")
    call("plan", "lock", path)
    logs = house / ".musician" / "logs" / "task-01"
    logs.mkdir(parents=True)
    (logs / "checks.log").write_text("said\n")
    call("plan", "archive", "first", "--abandon", "why not")
    kill_at(house, moment, "plan", "drop", "first", "--yes")
    away = house / ".musician" / "archive" / "first"
    if call("plan", "list", "--json").json["plans"]:
        assert (away / "logs" / "task-01" / "checks.log").read_text() == "said\n"
        call("plan", "drop", "first", "--yes")
    call("clean")
    assert not away.exists()
    assert call("plan", "drop", "first", "--yes", expect=3).err
    call("plan", "lock", path)


def test_what_a_session_plays_is_not_put_away(
    house: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D32.2."""
    call("plan", "lock", write_plan(house, "first"))
    monkeypatch.setenv("MUSICIAN_SESSION", "s1")
    call("claim", "task-01")
    refused = call("plan", "archive", "first", "--abandon", "no time", expect=4).err
    assert "session s1 plays it" in refused
    assert "musician stop task-01" in refused
    call("heartbeat", "task-01")
    call("release", "task-01")
    call("plan", "archive", "first", "--abandon", "no time")


def test_nothing_is_put_away_under_a_conductor(house: Path, call: Call) -> None:
    """D32.2: but a plan whose ids nobody needs does not keep another from being locked."""
    call("run", write_plan(house, "first"), expect=0)
    other = (house / write_plan(house, "other")).read_text().replace("task-0", "other-0")
    (house / "other.md").write_text(other)
    git(house, "commit", "-qam", "ids of its own")
    with hold_conductor_lock(find_root(house), "conductor-x", MACHINE):
        assert "conductor-x" in call("plan", "archive", "first", expect=4).err
        assert "conductor-x" in call("plan", "lock", write_plan(house, "second"), expect=4).err
        call("plan", "lock", "other.md", expect=0)
    assert {row[0] for row in rows(house, "SELECT plan_id FROM plans")} == {"first", "other"}
