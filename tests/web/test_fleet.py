"""Who is at work on which machine, as the database knows it."""

from pathlib import Path

from starlette.testclient import TestClient

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from tests.surroundings import Call


def test_who_is_at_work_is_told_by_machine(claimed: Path, desk: TestClient, call: Call) -> None:
    """One that left no process is of no known machine; a name of a machine is text; who is gone is not told."""
    page = desk.get("/fleet").text
    assert "Machine not known <small>1 at work</small>" in page
    assert "by hand" in page
    project = Project(str(claimed))
    service.claim(project.store, "task-02", "s2", settings=Settings())
    for number, (task_id, host) in enumerate({"task-01": "one", "task-02": "<b>two</b>"}.items(), start=1):
        identity = ProcessIdentity(pid=4000 + number, pgid=1, started_at_s=1.0, boot_id="x", host=host)
        claim = Claim(task_id=task_id, session_id=f"s{number}", epoch=1)
        service.record_process(project.store, claim, "musician", identity)
    project.close()
    page = desk.get("/fleet").text
    assert page.index("&lt;b&gt;two&lt;/b&gt; <small>1 at work") < page.index(">one <small>1 at work")
    assert "<td>4002</td>" in page
    call("release", "1")
    page = desk.get("/fleet").text
    assert ">one <small>" not in page
    assert "/tasks/task-02" in page
