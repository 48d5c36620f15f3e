"""A session is whole: its subagents and background programs are part of it, and end with it (D34, D41)."""

import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil

from musician import service
from musician.testing import Part, PrintClient, Received, Reply, say, until, use
from musician.testing.received import RequestKind

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

PROMPT = "/musician task-03"


def delegate(prompt: str = "count the pipes", *, in_background: bool, kind: str = "general-purpose") -> Reply:
    return use(
        "Agent",
        description="count",
        prompt=prompt,
        subagent_type=kind,
        run_in_background=in_background,
    )


def refused(received: Received) -> str:
    """What the last call was answered, which was an error."""
    (answer,) = received.answers
    assert answer.is_error, answer.text
    return answer.text


def test_a_subagent_cannot_end_its_musicians_claim(hall: "Hall") -> None:
    """AUDIT-C2, AUDIT-C4, D34.2: nor do anything else in its name, by tool or by command; it may look."""

    def was_refused(received: Received) -> Reply:
        assert "musician's own act" in refused(received)
        return hall.tool("siblings")

    def could_look(received: Received) -> Reply:
        (answer,) = received.answers
        assert not answer.is_error, answer.text
        return say("I counted them.")

    def still_mine(received: Received) -> Reply:
        assert hall.state() == "working"
        return hall.tool("handoff", reason="enough")

    sub = Part(hall.tool("handoff", reason="bored"), was_refused, could_look)
    delegates = delegate(in_background=False, kind="Explore")
    part = Part(hall.tool("step", n=1, act="start"), delegates, still_mine, say("Done."))
    _, home = hall.played(part, sub=sub)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        client.end()
    assert sub.is_over
    assert part.is_over
    assert hall.state() == "exited"


def test_a_subagent_is_not_offered_the_protocols_tools(hall: "Hall") -> None:
    """AUDIT-C2, D34.3: neither ours nor the client's own all-round ones, named or not; their musician is.

    S-TIER-4: ours plays with the sources' model.
    """
    counted = Part(*[say("I counted them.") for _ in range(4)])
    part = Part(
        *(
            delegate(in_background=False, kind=kind)
            for kind in ("musician:subagent", "general-purpose", "claude")
        ),
        use("Agent", description="count", prompt="count the pipes", run_in_background=False, model="haiku"),
        hall.tool("handoff", reason="enough"),
        say("Done."),
    )
    model, home = hall.played(part, sub=counted, ANTHROPIC_MODEL="sonnet")
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        client.end()
    assert counted.is_over
    offered = {
        kind: [
            sum("comms-link" in name for name in each.tools) for each in model.requests if each.kind is kind
        ]
        for kind in (RequestKind.SUB, RequestKind.MAIN)
    }
    assert offered[RequestKind.SUB] == [0] * 4
    assert "sonnet" in model.main[0].model
    assert all("opus" in each.model for each in model.requests if each.kind is RequestKind.SUB)
    assert all(offered[RequestKind.MAIN])


def test_a_subagent_is_waited_for_before_work_is_judged_and_bound_after_the_claim_has_ended(
    hall: "Hall",
) -> None:
    """AUDIT-K6, AUDIT-K1, D41.1, D41.4: a checkpoint names it; after the handoff it writes and publishes nothing."""
    late, after_the_end = hall.tree / "late.txt", threading.Event()

    def waits(received: Received) -> Reply:
        return use("Bash", command=f"touch '{hall.folder}/begun'; while true; do sleep 0.05; done")

    def writes(received: Received) -> Reply:
        command = f"echo late > '{late}'; git push origin HEAD:refs/heads/stolen"
        return replace(use("Bash", command=command), hold=after_the_end)

    def edits(received: Received) -> Reply:
        assert "has ended" in refused(received)
        return use("Write", file_path=str(hall.root / "late.txt"), content="late")

    def was_bound(received: Received) -> Reply:
        assert "has ended" in refused(received)
        return say("I stop.")

    def named(received: Received) -> Reply:
        (answer,) = received.answers
        assert "musician:subagent" in answer.text, answer.text
        assert hall.state() == "working"
        return hall.tool("handoff", reason="enough")

    def left(received: Received) -> Reply:
        after_the_end.set()
        return say("Handed off.")

    sub = Part(waits, writes, edits, was_bound)
    part = Part(
        hall.tool("step", n=1, act="start"),
        delegate(in_background=True),
        use(
            "Bash",
            command=f"until test -e '{hall.folder}/begun'; do sleep 0.05; done; {hall.writing(hall.right)}",
        ),
        hall.tool("step", n=1, act="done"),
        hall.tool("step", n=2, act="start"),
        hall.tool("step", n=2, act="done"),
        say("I wait for it."),
        hall.tool("checkpoint", summary="counted"),
        named,
        left,
    )
    _, home = hall.played(part, sub=sub)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        hall.wait(hall.is_in("exited"))
        hall.wait(lambda: sub.is_over)
        client.end()
    assert not late.exists()
    assert not (hall.root / "late.txt").exists()
    assert hall.git("ls-remote", "origin") == ""


def loop(hall: "Hall") -> str:
    """A command that writes into the tree for ever, and says who it is."""
    return (
        f"echo $$ > '{hall.folder}/pid'; while true; do echo late >> '{hall.tree}/late.txt'; sleep 0.05; done"
    )


def pid_of(hall: "Hall") -> int:
    file = hall.folder / "pid"
    until(lambda: file.exists() and file.read_text().strip())
    return int(file.read_text())


def runs(pid: int) -> bool:
    """A zombie does not."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_what_a_session_runs_in_the_background_is_waited_for_and_ends_with_its_handoff(hall: "Hall") -> None:
    """AUDIT-K2, AUDIT-K6, D41.2"""

    def running(received: Received) -> Reply:
        pid_of(hall)
        return hall.tool("checkpoint", summary="counted")

    def named(received: Received) -> Reply:
        (answer,) = received.answers
        assert f"process {pid_of(hall)}" in answer.text, answer.text
        return hall.tool("handoff", reason="enough")

    part = Part(
        hall.tool("step", n=1, act="start"),
        hall.write(hall.right),
        hall.tool("step", n=1, act="done"),
        use("Bash", command=loop(hall), run_in_background=True),
        running,
        named,
        say("Handed off."),
    )
    _, home = hall.played(part)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        client.end()
        assert not runs(pid_of(hall))
    assert hall.state() == "exited"
    assert not (hall.tree / "late.txt").exists()


def test_what_a_killed_session_left_running_is_ended_before_its_tree_is_handed_on(hall: "Hall") -> None:
    """AUDIT-K2, D41.3: none of it is in the successor's step."""
    part = Part(hall.tool("step", n=1, act="start"), use("Bash", command=loop(hall)))
    _, home = hall.played(part)
    with PrintClient(home, hall.root, PROMPT, plugins=[hall.plugin]) as client:
        orphan = psutil.Process(pid_of(hall))
        client.kill()
        assert orphan.is_running()
        with hall.opened() as store:
            service.fence(store, "task-03", epoch=1)
            service.take_over(store, "task-03", "It is gone.", reason="died")
        hall.person("claim", "task-03", "--session", "successor")
        assert not runs(orphan.pid)
        assert not (hall.tree / "late.txt").exists()
        assert "left running" in hall.person("timeline")
