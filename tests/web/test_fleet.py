"""Who is at work on which machine, as the database knows it."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from starlette.testclient import TestClient

from musician import __version__, service
from musician.processes.identity import OwnProgram, ProcessIdentity, host_name, identify
from musician.processes.machine import MACHINE
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.runtime.conductor.conductor_lock import conducting_run
from musician.service import Met
from tests.surroundings import Call


def test_who_is_at_work_is_told_by_machine(claimed: Path, desk: TestClient, call: Call) -> None:
    """A session by hand is where it claimed; a name of a machine is text; who is gone is not told."""
    page = desk.get("/fleet").text
    assert f"{host_name()} <small>1 at work, Musician {__version__}</small>" in page
    assert "by hand" in page
    project = Project(str(claimed))
    service.claim(project.store, "task-02", "s2", settings=Settings())
    for number, (task_id, host) in enumerate({"task-01": "one", "task-02": "<b>two</b>"}.items(), start=1):
        identity = ProcessIdentity(pid=4000 + number, pgid=1, started_at_s=1.0, boot_id="x", host=host)
        claim = Claim(task_id=task_id, session_id=f"s{number}", epoch=1)
        service.record_process(project.store, claim, "musician", identity)
        program = OwnProgram(host=host, version=f"9.{number}", python="3.12.1", system="Plan 9")
        service.register_program(project.store, task_id, 1, program)
    page = desk.get("/fleet").text
    assert "Mixed versions are at work: 9.1, 9.2." in page
    assert page.index("1 at work, Musician 9.2") < page.index("1 at work, Musician 9.1")
    assert "Python 3.12.1, Plan 9" in page
    told = call("status").out
    assert "on one, Musician 9.1: task-01" in told
    assert "Mixed versions are at work: 9.1, 9.2." in told
    assert call("status", "--json").json["hosts"] == [
        {"name": "<b>two</b>", "versions": ["9.2"], "tasks": ["task-02"]},
        {"name": "one", "versions": ["9.1"], "tasks": ["task-01"]},
    ]
    conducting = service.start_conducting(project.store, "c", settings=Settings())
    run = OwnProgram(host="three", version="9.1", python="3.11.2", system="<i>Inferno")
    service.register_program(project.store, "task-00", conducting.epoch, run)
    project.close()
    page = desk.get("/fleet").text
    assert "conducted by Musician 9.1 on three (Python 3.11.2, &lt;i&gt;Inferno)" in page
    assert page.index("&lt;b&gt;two&lt;/b&gt; <small>1 at work") < page.index(">one <small>1 at work")
    assert ">4002</td>" in page
    call("release", "1")
    page = desk.get("/fleet").text
    assert ">one <small>" not in page
    assert "/tasks/task-02" in page


def test_who_is_known_to_be_dead_is_at_work_nowhere(claimed: Path, desk: TestClient, call: Call) -> None:
    """Nor is the version it had, though its claim is held until somebody takes it over."""
    with closing(Project(str(claimed))) as project:
        conducting = service.start_conducting(project.store, "c", settings=Settings())
        run = OwnProgram(host=host_name(), version="8.0", python="3.11.2", system="Plan 9")
        service.register_program(project.store, "task-00", conducting.epoch, run)
        with (
            conducting_run(project.root, "c", MACHINE),
            subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as client,
        ):
            met = Met(identity=identify(client.pid), attended=True, hosted=False)
            service.meet_client(project.store, "s1", met)
            told = call("status").out
            assert f"on {host_name()} (this machine), Musician {__version__}: task-01" in told
            assert f"Mixed versions are at work: {__version__}, 8.0." in told
            client.kill()
    told = call("status").out
    assert "dead" in told
    assert "(this machine)" not in told
    assert "Mixed versions" not in told
    assert call("status", "--json").json["hosts"] == []
    page = desk.get("/fleet").text
    assert "No session is at work on a task." in page
    assert "No run holds the conductor's lock on this machine." in page
    assert "Mixed versions" not in page
