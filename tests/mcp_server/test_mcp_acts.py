"""Each tool is one act of the protocol, and says in few words what came of it."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from musician import service
from musician.mcp_server import acts
from musician.protocol.errors import (
    BadField,
    BadId,
    BeyondClaim,
    ClaimBlocked,
    EvidenceMissing,
    UnknownTask,
    WhichTask,
)
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.states import State
from musician.store.queries.sessions import Sessions
from musician.store.queries.subagents import SubagentRow
from tests.no_ids import ESCAPING, WIDENING

Seated = Callable[..., Any]


def test_a_claim_says_where_to_read_where_to_work_and_what_is_next(project: Any, seated: Seated) -> None:
    said = seated("s1")("claim", task="#1").splitlines()
    assert said[0] == "task-01 claimed, as musician-task-01"
    assert said[1].startswith("instruction: .musician/instructions/greeter/task-01.")
    assert said[2] == f"work only in: {project.tree}"
    assert said[3] == "next: step 1 agent 1 (Document it); 0 done, 4 to do"
    assert said[4:] == ["1 unread: call inbox"]
    assert project.view().row.session_id == "s1"


def test_claiming_again_tells_where_the_task_stands_and_changes_nothing(project: Any, tools: Any) -> None:
    before = project.view()
    assert tools("claim").startswith("task-01 is yours, as musician-task-01\n")
    assert tools("claim", task="task-01").startswith("task-01 is yours")
    assert project.view().history == before.history


def test_a_claim_of_a_task_somebody_lives_on_is_blocked_and_written_down(
    project: Any, tools: Any, seated: Seated
) -> None:
    with pytest.raises(ClaimBlocked):
        seated("s2")("claim", task="task-01")
    assert project.said().message_type == "claim_blocked"
    assert service.task_row(project.store, "fallback-s2").state is State.EXITED


@pytest.mark.parametrize("task", ["task-09", "task-010", "task_01", "1000"])
def test_b18_an_unknown_task_is_not_found_and_nothing_is_touched(
    project: Any, seated: Seated, task: str
) -> None:
    with pytest.raises(UnknownTask):
        seated("s1")("claim", task=task)
    assert not project.root.locks_dir.exists()


@pytest.mark.parametrize("task", [*ESCAPING, *WIDENING])
def test_b43_what_is_no_id_is_refused_and_nothing_is_touched(project: Any, seated: Seated, task: str) -> None:
    files = sorted(project.root.path.rglob("*"))
    with pytest.raises(BadId):
        seated("s1")("claim", task=task)
    assert [each for each in sorted(project.root.path.rglob("*")) if "comms.db" not in each.name] == [
        each for each in files if "comms.db" not in each.name
    ]


def test_the_whole_of_a_task_goes_by_tools(project: Any, tools: Any) -> None:
    assert tools("step", n=1, act="start") == "step 1 started"
    (project.tree / "greeter.py").write_text("def greet(name): return name\n")
    assert tools("agent", piece="1.1", act="launched") == "step 1 agent 1 launched"
    assert tools("agent", piece="1.1", act="returned", report="documented") == "step 1 agent 1 returned"
    done = tools("step", n="1", act="done")
    assert done.startswith("step 1 done, commit ")
    assert done.endswith("; next: checkpoint 1")
    assert tools("deviation", severity="Low", text="one file more") == "Low deviation noted"
    submitted = tools("checkpoint", summary="it greets")
    assert submitted.startswith("checkpoint 1: All passing")
    assert submitted.endswith("End your turn; you are woken with the answer.")
    assert project.state() is State.NEEDS_REVIEW
    assert "Summary: it greets" in project.said().message
    project.judge()
    tools("step", n=2, act="start")
    tools("step", n=2, act="done")
    tools("checkpoint", summary="all done", smoothness=3)
    project.judge(text="well done")
    assert "well done" in tools("inbox")
    assert tools("complete").startswith("task-01 is complete, report in docs/")
    assert project.state() is State.COMPLETE
    with pytest.raises(WhichTask, match="owns nothing any more"):
        tools("step", n=2, act="start")


def test_only_what_was_played_goes_by_tools(project: Any, tools: Any) -> None:
    """AUDIT-V5, AUDIT-V7, D29: the tools refuse what the verbs refuse."""
    (project.tree / "greeter.py").write_text("def greet(name): return name\n")
    for call in (
        partial(tools, "step", n=99, act="start"),
        partial(tools, "agent", piece="9.9", act="returned"),
    ):
        with pytest.raises(BadField, match="the task has step 1, step 2"):
            call()
    for call in (
        partial(tools, "step", n=1, act="done"),
        partial(tools, "agent", piece="1.1", act="returned"),
    ):
        with pytest.raises(EvidenceMissing, match="was not started"):
            call()
    with pytest.raises(EvidenceMissing, match="step 1 agent 1"):
        tools("checkpoint", summary="nothing played")
    with pytest.raises(BadField, match="why"):
        tools("step", n=1, act="skipped")
    assert "a Medium deviation" in tools("step", n=1, act="skipped", why="it is there")
    assert tools("checkpoint", summary="left out").startswith("checkpoint 1: ")


def test_what_a_subagent_tells_is_kept_for_the_next_checkpoint(project: Any, tools: Any) -> None:
    tools("agent", piece="1.1", act="launched")
    tools("agent", piece="1.1", act="returned", report="12 tests pass")
    assert ("returned", "step 1 agent 1", "12 tests pass") in project.journal()


def test_a_red_checkpoint_says_exactly_what_failed_and_submits_nothing(project: Any, tools: Any) -> None:
    tools("step", n=1, act="start")
    tools("step", n=1, act="done")
    said = tools("checkpoint", summary="it greets")
    assert said.startswith("checkpoint 1 is not green, nothing was submitted.")
    assert "greeter.py is missing" in said
    assert project.state() is State.WORKING
    assert not project.view().submissions


def test_what_the_conductor_wants_corrected_comes_first(project: Any, tools: Any) -> None:
    tools("step", n=1, act="start")
    tools("error", text="stuck")
    project.judge(State.FIX_PROPOSED, with_corrections("once more", ("use the old name",)))
    with pytest.raises(EvidenceMissing, match="comes before anything else: use the old name"):
        tools("step", n=1, act="start")
    (project.tree / "greeter.py").write_text("")
    assert re.match(
        r"correction [0-9.]+ done, commit [0-9a-f]{12}; next: step 1 agent 1$", tools("correction")
    )
    assert tools("step", n=1, act="start") == "step 1 started"
    with pytest.raises(EvidenceMissing, match="no correction step"):
        tools("correction")


def test_an_error_waits_for_its_answer(project: Any, tools: Any) -> None:
    tools("step", n=1, act="start")
    assert tools("error", text="the compiler is gone").startswith("reported as message ")
    row = project.view().row
    assert (row.state, row.last_error) == (State.ERROR, "step 1: the compiler is gone")


def test_an_error_without_a_text_warns_of_the_context_that_was_measured(project: Any, tools: Any) -> None:
    """D15"""
    tools("step", n=1, act="start")
    with pytest.raises(BadField, match="context warning"):
        tools("error")
    with project.store.write() as tx:
        tx.run(Sessions.measure_context, task_id="task-01", claim_epoch=1, context_pct=66.0)
    assert tools("error").startswith("warned by message ")
    assert project.view().row.state is State.ERROR
    assert project.said().message_type == "context_warning"
    assert "CONTEXT WARNING: 66% usage" in project.said().message
    assert "Recommendation: hand off now" in project.said().message


def test_a_self_correction_and_a_deviation_belong_to_the_step_at_hand(project: Any, tools: Any) -> None:
    tools("step", n=1, act="start")
    tools("self_correction", text="wrong name")
    tools("deviation", severity="High", text="another library")
    assert ("self-correction", "step 1", "wrong name") in project.journal()
    assert ("deviation", "step 1", "another library") in project.journal()
    assert project.view().journal[-1].severity == "High"


def test_a_question_is_answered_before_the_next_step(project: Any, tools: Any) -> None:
    assert tools("ask_conductor", text="tabs or spaces?").startswith("asked as message ")
    assert project.said().message_type == "question"
    assert project.said().message.splitlines() == ["tabs or spaces?", "  Context Usage: unknown"]
    with pytest.raises(EvidenceMissing, match="question"):
        tools("step", n=1, act="start")
    service.send(project.store, "task-01", "spaces")
    assert "spaces" in tools("inbox")
    assert tools("step", n=1, act="start") == "step 1 started"


def test_b18_the_inbox_hands_over_each_message_once_and_byte_for_byte(project: Any, tools: Any) -> None:
    bodies = ("it's done", "'); --\n$(touch x) `y` ✓", "ends with a backslash \\", "%s {0} :name ?1 @p")
    for body in bodies:
        service.send(project.store, "task-01", body)
    service.send(project.store, "task-01", "stop", urgent=True)
    said = tools("inbox")
    assert [body for body in bodies if body not in said] == []
    assert ", emergency:\nstop" in said
    assert tools("inbox") == "nothing new"


def test_a_full_inbox_is_handed_over_bit_by_bit_and_nothing_is_lost(project: Any, tools: Any) -> None:
    for number in range(45):
        service.send(project.store, "task-01", f"note {number}.")
    said = [tools("inbox") for _ in range(3)]
    assert said[0].endswith("25 more: call inbox again")
    assert [number for number in range(45) if f"note {number}." not in "".join(said)] == []
    assert tools("inbox") == "nothing new"


def test_b16_a_message_that_is_too_long_is_cut_in_whole_characters_and_says_so(
    project: Any, tools: Any
) -> None:
    service.send(project.store, "task-01", "é" * 100_000)
    said = tools("inbox")
    assert len(said.encode()) < 8500
    assert "truncated: true" in said
    assert tools("inbox") == "nothing new"


def test_a_message_is_acknowledged_once_its_reply_was_delivered_and_not_before(
    project: Any, tools: Any
) -> None:
    service.send(project.store, "task-01", "hear this")
    reply = acts.inbox(tools.served)
    assert isinstance(reply, acts.Reply)
    assert project.view().unread == 1
    reply.once_delivered()
    assert project.view().unread == 0


def test_a_proposal_is_kept_and_written(project: Any, tools: Any) -> None:
    said = tools("propose", type="anti-pattern", title="No globals", text="they leak")
    assert "is open, docs/implementation/proposals/" in said
    assert (project.folder / said.rpartition(", ")[2]).is_file()
    with pytest.raises(BadField, match="ANTI_PATTERN"):
        tools("propose", type="idea", title="t", text="x")


def test_a_handoff_ends_the_session_with_its_own_notes(project: Any, tools: Any) -> None:
    tools("step", n=1, act="start")
    said = tools("handoff", reason="context exhaustion", notes="mind the parser")
    assert said.startswith("task-01 is handed off, HANDOFF in temp/task-01-HANDOFF")
    text = (project.folder / "temp" / "task-01-HANDOFF").read_text()
    assert "> mind the parser" in text
    assert "Exit reason: context exhaustion" in text
    assert project.state() is State.EXITED
    with pytest.raises(WhichTask):
        tools("inbox")


def test_siblings_and_conductor_are_seen(project: Any, tools: Any) -> None:
    assert tools("siblings") == "task-02 watching"
    assert tools("conductor_health") == "no conductor has been here"
    service.start_conducting(project.store, "c1", settings=project.settings)
    assert tools("conductor_health").startswith("conductor working, heartbeat ")
    assert tools("conductor_health").endswith(" s old, ok")


def test_a_query_answers_a_line_a_row(tools: Any) -> None:
    said = tools(
        "query", sql="SELECT task_id, state, plan_id, NULL AS n, x'00ff' AS b FROM orchestration_tasks"
    )
    assert said == (
        "task_id|state|plan_id|n|b\n"
        "task-01|working|greeter|NULL|x'00ff'\n"
        "task-02|watching|greeter|NULL|x'00ff'"
    )
    assert tools("query", sql="SELECT 1 WHERE 0") == "no rows"


def test_execute_changes_the_sessions_own_rows_and_no_others(tools: Any) -> None:
    beat = "UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = '{}'"
    assert tools("execute", sql=beat.format("task-01")) == "rows_affected=1"
    assert tools("execute", sql=beat.format("task-07")) == "rows_affected=0"
    with pytest.raises(BeyondClaim):
        tools("execute", sql=beat.format("task-02"))


def test_context_is_what_was_measured_and_nobody_is_asked(project: Any, tools: Any) -> None:
    tools("step", n=1, act="start")
    assert project.view().journal[-1].context_pct is None
    with project.store.write() as tx:
        tx.run(Sessions.measure_context, task_id="task-01", claim_epoch=1, context_pct=41.5)
    tools("error", text="stuck")
    assert "Context Usage: 41.5%" in project.said().message


def test_a_call_refreshes_a_heartbeat_that_is_due_and_no_other(project: Any, tools: Any) -> None:
    """D10.3"""
    for age_s, fresh in ((400, False), (500, True)):
        project.store.connection.execute(
            "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', ?) WHERE task_id = 'task-01'",
            (f"-{age_s} seconds",),
        )
        tools.served.beat()
        assert (project.view().row.heartbeat_age_s < 60) == fresh


@pytest.mark.parametrize(
    ("tool", "given", "field"),
    [
        ("step", {"n": 1}, "act"),
        ("step", {"n": "x", "act": "start"}, "n"),
        ("step", {"n": True, "act": "start"}, "n"),
        ("step", {"n": -1, "act": "start"}, "n"),
        ("step", {"n": 1, "act": "finish"}, "act"),
        ("step", {"n": 1, "act": "done", "commit": True}, "commit"),
        ("agent", {"piece": "1", "act": "launched"}, "piece"),
        ("ask_conductor", {"text": "  "}, "text"),
        ("error", {"text": 7}, "text"),
        ("error", {"text": "x" * 1_000_001}, "text"),
        ("deviation", {"severity": "huge", "text": "x"}, "severity"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_done(
    project: Any, tools: Any, tool: str, given: dict[str, object], field: str
) -> None:
    before = project.journal()
    with pytest.raises(BadField) as wrong:
        tools(tool, **given)
    assert wrong.value.field == field
    assert project.journal() == before


def test_no_step_is_begun_with_a_spent_context(project: Any, tools: Any) -> None:
    """AUDIT-C6, D35.1: what was begun is finished, handed off or submitted; the refusal names the tool."""
    tools("step", n=1, act="start")
    with project.store.write() as tx:
        tx.run(Sessions.measure_context, task_id="task-01", claim_epoch=1, context_pct=75.0)
    assert tools("step", n=1, act="done").startswith("step 1 done")
    for begins in (
        partial(tools, "agent", piece="1.1", act="launched"),
        partial(tools, "step", n=2, act="start"),
    ):
        with pytest.raises(EvidenceMissing, match="hand off"):
            begins()
    assert tools("handoff", reason="context").startswith("task-01 is handed off")


def test_a_waiting_musicians_heart_beats_while_its_subagents_work(project: Any, tools: Any) -> None:
    """D34.1: their own events say nothing of it."""
    project.store.connection.execute(
        "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-500 seconds') WHERE task_id = 'task-01'"
    )
    tools.served.beat(delegated=True)
    assert project.view().row.heartbeat_age_s > 400
    subagent = SubagentRow(agent_id="a1", kind="general-purpose")
    service.begin_subagent(project.store, tools.served.claim, subagent)
    tools.served.beat(delegated=True)
    assert project.view().row.heartbeat_age_s < 60


def test_work_is_not_judged_while_anything_of_its_session_is_at_work(project: Any, tools: Any) -> None:
    """AUDIT-K6, D41.1: a checkpoint and the end wait for it, naming it."""
    claim = tools.served.claim
    service.begin_subagent(project.store, claim, SubagentRow(agent_id="a1", kind="general-purpose"))
    for act in (partial(tools, "checkpoint", summary="x"), partial(tools, "complete")):
        with pytest.raises(EvidenceMissing, match=r"subagent a1 \(general-purpose\)"):
            act()
    service.end_subagent(project.store, "a1")
    with pytest.raises(EvidenceMissing, match="no approved completion"):
        tools("complete")
