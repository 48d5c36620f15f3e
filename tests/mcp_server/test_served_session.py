"""Whose musician a server is: the session it was started in, wherever that goes, and nobody else's (B05, D2)."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.mcp_server.served_session import ServedSession
from musician.processes.identity import identify
from musician.processes.life_lock import LifeLock, hold, holder, is_held
from musician.processes.machine import MACHINE
from musician.project import Project
from musician.protocol.errors import ClaimBlocked, NoSession, NotInitialised, WhichTask
from musician.protocol.rules.liveness import Owner
from musician.protocol.states import State
from musician.reporting.owners import lives, owner_of, processes_of

Seated = Callable[..., Any]


def met(pid: int) -> service.Met:
    return service.Met(identity=identify(pid), attended=True, hosted=False)


def cleared(project: Any, old: str, new: str) -> None:
    """What the hook does when the conversation of a session that owns something is cleared."""
    client = service.client_of(project.store, old)
    assert client is not None
    service.rebind(project.store, new, met(client.pid))


@pytest.mark.parametrize("session_id", [None, "", "null", "None"])
def test_without_a_session_every_tool_refuses(project: Any, seated: Seated, session_id: str | None) -> None:
    mine = seated(session_id)
    for tool, given in (
        ("claim", {"task": "task-01"}),
        ("step", {"n": 1, "act": "start"}),
        ("inbox", {}),
        ("execute", {"sql": "UPDATE orchestration_tasks SET state = 'working'"}),
    ):
        with pytest.raises(NoSession):
            mine(tool, **given)
    assert project.state() is State.WATCHING


def test_without_a_claim_a_session_is_told_to_claim_first(seated: Seated) -> None:
    with pytest.raises(WhichTask, match="owns no task: claim one with"):
        seated("s1")("step", n=1, act="start")


def test_a_session_with_two_claims_is_told_which(tools: Any) -> None:
    tools("claim", task="task-02")
    with pytest.raises(WhichTask, match="owns task-01, task-02"):
        tools("step", n=1, act="start")


def test_a_host_of_ours_names_its_session_itself(project: Any, seated: Seated) -> None:
    """And is not followed by its process, which may host several."""
    for number in ("1", "2"):
        mine = seated(f"host-{number}", CLAUDE_CODE_SESSION_ID="the-clients")
        mine("claim", task=f"task-0{number}")
        assert project.view(f"task-0{number}").row.session_id == f"host-{number}"
    with pytest.raises(WhichTask):
        seated("host-3")("inbox")


def test_b05_after_clear_the_server_acts_under_its_clients_new_id(project: Any, tools: Any) -> None:
    """Its environment still has the old one."""
    cleared(project, "s1", "s2")
    assert tools("step", n=1, act="start") == "step 1 started"
    assert project.view().journal[-1].session_id == "s2"


def test_b05_a_claim_made_under_a_later_id_of_its_own_client_is_the_servers(
    project: Any, seated: Seated
) -> None:
    """Nothing was ever claimed under the id that the server was started with."""
    mine = seated(CLAUDE_CODE_SESSION_ID="before-clear")
    service.claim(project.store, "task-01", "after-clear", settings=project.settings)
    service.meet_client(project.store, "after-clear", met(os.getppid()))
    assert mine("step", n=1, act="start") == "step 1 started"


def test_b05_another_clients_claim_is_never_the_servers(project: Any, seated: Seated) -> None:
    mine = seated(CLAUDE_CODE_SESSION_ID="s1")
    service.claim(project.store, "task-01", "other", settings=project.settings)
    service.meet_client(project.store, "other", met(os.getpid()))
    with pytest.raises(WhichTask):
        mine("step", n=1, act="start")


def test_b05_a_session_its_client_has_ended_is_not_followed(project: Any, seated: Seated) -> None:
    mine = seated(CLAUDE_CODE_SESSION_ID="s1")
    service.claim(project.store, "task-01", "ended", settings=project.settings)
    service.meet_client(project.store, "ended", met(os.getppid()))
    service.end_client(project.store, "ended", reason="logout")
    with pytest.raises(WhichTask):
        mine("step", n=1, act="start")


def test_a_claim_by_tool_writes_down_its_client_where_no_hook_has(project: Any, seated: Seated) -> None:
    seated("s1", CLAUDE_CODE_SESSION_ATTENDED="1")("claim", task="task-01")
    client = service.client_of(project.store, "s1")
    assert client is not None
    assert (client.pid, client.attended, client.hosted) == (os.getppid(), True, False)


def test_where_nothing_is_set_up_the_remedy_is_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    project = Project(str(tmp_path))
    assert not project.is_set_up
    with pytest.raises(NotInitialised, match="musician init"):
        _ = ServedSession({"MUSICIAN_SESSION": "s1"}, project).claim


# -- the life lock -----------------------------------------------------------------------------------------------


def test_the_life_lock_is_held_from_the_claim_to_the_end_of_it(project: Any, tools: Any) -> None:
    assert is_held(project.lock)
    assert holder(project.lock).session_id == "s1"
    tools("handoff", reason="enough")
    assert not is_held(project.lock)


def test_a_blocked_claim_holds_no_lock(project: Any, seated: Seated) -> None:
    service.claim(project.store, "task-01", "other", settings=project.settings)
    with pytest.raises(ClaimBlocked):
        seated("s1")("claim", task="task-01")
    assert not is_held(project.lock)


def test_a_task_whose_lock_another_process_holds_is_blocked_and_that_is_written_down(
    project: Any, seated: Seated
) -> None:
    held = hold(project.lock, session_id="driver")
    assert isinstance(held, LifeLock)
    with held, pytest.raises(ClaimBlocked, match="session driver lives on it"):
        seated("s1")("claim", task="task-01")
    assert project.state() is State.WATCHING
    assert project.said().message_type == "claim_blocked"


def test_a_claim_made_elsewhere_is_taken_up_and_a_lost_one_let_go(project: Any, seated: Seated) -> None:
    mine = seated("s1")
    service.claim(project.store, "task-01", "s1", settings=project.settings)
    assert not is_held(project.lock)
    mine.served.take_up()
    assert is_held(project.lock)
    service.fence(project.store, "task-01", epoch=1)
    mine.served.take_up()
    assert not is_held(project.lock)


def test_a_lock_is_kept_while_its_claim_is_under_way(project: Any, seated: Seated) -> None:
    """A bell that rings in between finds no claim yet."""
    mine = seated("s1")
    mine.served.lock("task-01", "s1")
    mine.served.take_up()
    assert is_held(project.lock)
    mine.served.settle("task-01")
    assert not is_held(project.lock)


def test_the_lock_is_signed_anew_when_the_client_goes_on_under_another_id(project: Any, tools: Any) -> None:
    cleared(project, "s1", "s2")
    tools.served.take_up()
    assert is_held(project.lock)
    assert holder(project.lock).session_id == "s2"


def test_a_raw_claim_is_taken_up_too(project: Any, seated: Seated) -> None:
    claim = (
        "UPDATE orchestration_tasks SET state = 'working', session_id = 's1', last_heartbeat = datetime('now')"
        " WHERE task_id = 'task-01' AND state IN ('watching', 'fix_proposed', 'exit_requested')"
    )
    assert seated("s1")("execute", sql=claim) == "rows_affected=1"
    assert is_held(project.lock)


# -- what the conductor sees of it -------------------------------------------------------------------------------


def test_a_client_that_lives_without_its_server_is_alive(project: Any, tools: Any) -> None:
    """A server can be started anew; the client is what plays."""
    tools.served.close()
    assert not is_held(project.lock)
    assert lives(project.root, project.view(), MACHINE) is True
    assert owner_of(project.root, project.view(), project.settings, MACHINE) is Owner.LIVE


def test_a_client_that_is_gone_is_dead_at_once_whatever_its_server_still_holds(
    project: Any, tools: Any
) -> None:
    gone = subprocess.Popen(["sleep", "60"])
    service.meet_client(project.store, "s1", met(gone.pid))
    gone.kill()
    gone.wait()
    assert is_held(project.lock)
    assert owner_of(project.root, project.view(), project.settings, MACHINE) is Owner.DEAD


def test_nothing_of_a_client_is_the_conductors_to_end(project: Any, tools: Any) -> None:
    """Neither the client nor its server: it is fenced and flagged."""
    assert os.getpid() not in [each.pid for each in processes_of(project.root, project.view())]
    assert os.getppid() not in [each.pid for each in processes_of(project.root, project.view())]
