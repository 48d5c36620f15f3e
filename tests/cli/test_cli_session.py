"""A session played by hand, verb by verb, from the claim to complete or to the exit."""

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.store.sqlite.store import SqliteStore
from tests.surroundings import Call, git, play


def tree_of(folder: Path) -> Path:
    return folder / ".musician" / "trees" / "greeter" / "task-01"


def write_greeter(folder: Path) -> None:
    (tree_of(folder) / "greeter.py").write_text("def greet(name): return name\n")


def state(call: Call) -> str:
    return str(call("status", "task-01", "--json").json["state"])


def journal(call: Call) -> list[str]:
    found = call("timeline", "--json").json["timeline"]
    return [each["text"] for each in found if each["source"] == "journal"]


def test_what_a_subagent_says_is_handed_in_and_held_against_what_the_checkpoint_finds(
    claimed: Path, call: Call
) -> None:
    call("step", "1", "start", "1")
    call("step", "1", "start", "1", "--agent", "1")
    write_greeter(claimed)
    for words in (("start", "1", "--agent", "1"), ("done", "1")):
        assert (
            "--said can only be used with done and --agent"
            in call("step", "1", *words, "--said", "x", expect=2).err
        )
    call("step", "1", "done", "1", "--agent", "1", "--said", "all 14 tests pass")
    call("step", "1", "done", "1")
    assert "step 1 agent 1: 14 passing claimed, 1 found" in call("checkpoint", "1", "--json").json["tests"]


def test_the_whole_way_to_complete(claimed: Path, call: Call) -> None:
    call("step", "1", "start", "1")
    write_greeter(claimed)
    done = call("step", "1", "done", "1", "--commit", "--context", "12", "--json").json
    assert len(done["commit_id"]) == 40
    submitted = call("checkpoint", "1", "--json").json
    assert (submitted["checkpoint"], submitted["outcome"]) == (1, "green")
    assert "1 test" in submitted["tests"]
    assert state(call) == "needs_review"
    call("review", "approve", "1")
    call("inbox", "1", "--ack")
    call("step", "1", "start", "2")
    assert state(call) == "working"
    call("step", "1", "done", "2")
    last = call("checkpoint", "1", "--json").json
    assert last["checkpoint"] == 2
    assert "TASK COMPLETE" in call("review", "show", "1").out
    call("review", "approve", "1", "well done")
    report = call("complete", "1", "--json").json["report_path"]
    assert (claimed / report).is_file()
    assert state(call) == "complete"
    status = (claimed / "temp" / "task-01-status").read_text().splitlines()
    assert status[0] == "bootstrap started: task claimed, session: s1"
    assert status[1].startswith("instructions loaded: ")
    assert status[2:4] == [
        "step 1 started",
        "step 1 completed [ctx: 12%]",
    ]
    assert [line for line in journal(call) if line.startswith("checkpoint 1 approved")] == [
        "checkpoint 1 approved [ctx: 12%]"
    ]


def test_a_review_request_carries_what_the_program_knows(claimed: Path, call: Call) -> None:
    """D14: the agent may call its work rougher, not smoother, and describes it in its own words."""
    write_greeter(claimed)
    play(call, 1)
    call("deviation", "1", "low", "used a lambda")
    call("self-correction", "1", "wrote it twice")
    call("checkpoint", "1", "--summary", "Greets.", "--smoothness", "4", "--context", "33")
    text = call("review", "show", "1", "--json").json["message"]["message"]
    for line in (
        "REVIEW REQUEST (Smoothness: 4/9):",
        "  Checkpoint: 1 of 2",
        "  Context Usage: 33%",
        "  Deviations: 1 (Low — used a lambda)",
        "  Summary: Greets.",
        "    - greeter.py (created)",
    ):
        assert line in text.split("\n")
    assert "Self-Correction: YES" in text


def test_smoothness_is_never_made_better(claimed: Path, call: Call) -> None:
    write_greeter(claimed)
    play(call, 1)
    call("self-correction", "1", "wrote it twice")
    call("checkpoint", "1", "--smoothness", "0")
    text = call("review", "show", "1", "--json").json["message"]["message"]
    assert "Smoothness: 2/9" in text


def test_a_red_checkpoint_submits_nothing(claimed: Path, call: Call) -> None:
    play(call, 1)
    refused = call("checkpoint", "1", expect=4)
    assert "checkpoint 1 is not green" in refused.err
    assert "1 of 1 failing" in refused.err
    assert state(call) == "working"
    assert any("verification failed" in line for line in journal(call))
    write_greeter(claimed)
    call("checkpoint", "1")
    assert "Smoothness: 1/9" in call("review", "show", "1").out


def test_a_verdict_names_what_it_judged(claimed: Path, call: Call) -> None:
    """D7."""
    write_greeter(claimed)
    play(call, 1)
    first = call("checkpoint", "1", "--json").json["message_id"]
    shown = call("review", "list", "--json").json["waiting"]
    assert [(each["task_id"], each["message_id"]) for each in shown] == [("task-01", first)]
    call("review", "reject", "1", "say hello", "--message", str(first))
    assert state(call) == "review_failed"
    call("step", "1", "start", "1")
    call("step", "1", "done", "1")
    call("checkpoint", "1", "--summary", "it greets")
    shown = call("review", "show", "1").out
    assert '1. "say hello": not answered; step 1 was played since' in shown, (
        "what the session's own summary does not answer is added"
    )
    stale = call("review", "approve", "1", "--message", str(first), expect=4)
    assert "latest submission" in stale.err
    call("review", "fix", "1", "almost")
    assert state(call) == "fix_proposed"
    assert call("review", "approve", "1", expect=4).err.count("\n") == 1


def test_each_verdict_is_written_down_once(claimed: Path, call: Call) -> None:
    write_greeter(claimed)
    play(call, 1)
    for text in ("say hello", "say it louder"):
        call("checkpoint", "1")
        call("review", "reject", "1", text)
        call("step", "1", "start", "1")
    call("checkpoint", "1")
    call("review", "approve", "1", "well said")
    call("step", "1", "start", "2")
    call("step", "1", "done", "2")
    verdicts = [line for line in journal(call) if "sent back" in line or "approved" in line]
    assert verdicts == [
        "checkpoint 1 sent back: say hello",
        "checkpoint 1 sent back: say it louder",
        "checkpoint 1 approved",
    ]


def test_a_deviation_of_no_step_is_told_without_one(claimed: Path, call: Call) -> None:
    call("deviation", "1", "Low", "before any step")
    call("step", "1", "start", "1", "--agent", "1")
    call("deviation", "1", "High", "in the piece")
    assert (claimed / "temp" / "task-01-deviations").read_text().splitlines() == [
        "before any step [Low]",
        "step 1 agent 1: in the piece [High]",
    ]


def test_an_exited_task_is_opened_again_by_a_proposal(claimed: Path, call: Call) -> None:
    """D1: the text is the next session's; what waited for a person is settled."""
    call("stop", "1", "not now")
    call("release", "1")
    assert "stopped: not now" in call("review", "list").out
    assert call("review", "fix", "1", "go on", "--message", "1", expect=4).err.count("\n") == 1
    opened = call("review", "fix", "1", "go on at step 1", "--json").json
    assert opened["state"] == state(call) == "fix_proposed"
    assert call("review", "list", "--json").json["waiting"] == []
    taken = call("claim", "1", "--session", "s2", "--json").json
    assert taken["worked_by"] == "musician-task-01-S2"
    said = call("inbox", "1", "--session", "s2", "--json").json["messages"]
    assert (said[-1]["message_type"], said[-1]["message"]) == ("handoff", "go on at step 1")


def test_a_task_without_a_plan_starts_from_the_tree_as_it_is(ready: Path, call: Call) -> None:
    """However many were played before; what becomes of the user's branch later moves it no more."""

    def commit(name: str) -> None:
        (ready / name).write_text("# Add it\n\n## Step 1: Add it\n")
        for arguments in (("add", "-A"), ("commit", "-qm", name)):
            git(ready, *arguments)

    trees = {}
    for number in ("8", "9"):
        commit(f"extra-{number}.md")
        call("task", "add", number, "--instructions", f"extra-{number}.md")
        trees[number] = Path(call("claim", number, "--session", f"s{number}", "--json").json["tree"])
    assert not (trees["8"] / "extra-9.md").exists()
    assert (trees["9"] / "extra-9.md").exists()
    (trees["8"] / "made").touch()
    call("step", "8", "start", "1", "--session", "s8")
    call("step", "8", "done", "1", "--commit", "--session", "s8")
    git(ready, "merge", "-q", "musician/tasks/task-08")
    call("release", "8", "--session", "s8")
    assert "step 1 (Add it)" not in (ready / "temp" / "task-08-HANDOFF").read_text().split("Pending")[1]


def test_a_person_s_verdict_rules_the_deviations_it_saw(claimed: Path, call: Call) -> None:
    """D17."""
    write_greeter(claimed)
    play(call, 1)
    call("deviation", "1", "Medium", "another file")
    call("checkpoint", "1")
    assert "open deviation (Medium): another file" in call("review", "show", "1").out
    call("review", "approve", "1")
    assert call("review", "show", "1", "--json").json["deviations"] == []


def test_everything_approved_leaves_no_checkpoint(claimed: Path, call: Call) -> None:
    write_greeter(claimed)
    for number in (1, 2):
        play(call, number)
        call("checkpoint", "1")
        call("review", "approve", "1")
    assert "musician complete" in call("checkpoint", "1", expect=4).err
    assert "1 to 2" in call("checkpoint", "1", "7", expect=4).err


def test_complete_needs_an_approved_completion(claimed: Path, call: Call) -> None:
    assert "no approved completion" in call("complete", "1", expect=4).err
    write_greeter(claimed)
    play(call, 1)
    call("checkpoint", "1")
    assert call("complete", "1", expect=4).err.count("\n") == 1
    assert not list((claimed / "docs/implementation/reports").glob("task-01*"))


def test_errors_are_counted_and_bounded(claimed: Path, call: Call) -> None:
    """AUDIT-P12, D3: the fifth failure hands off, as it does in a driven session."""
    call("step", "1", "start", "1")
    for number in range(4):
        call("error", "1", f"broken {number}", "--report", "docs/report.md")
        assert state(call) == "error"
        call("review", "fix", "1", "again")
    shown = call("messages", "1").out
    assert "ERROR (Retry 4/5)" in shown
    assert "Error: step 1: broken 3" in shown
    assert "- docs/report.md (created)" in shown  # the session's own, beside the program's
    assert call("error", "1", "broken again", "--json").json["state"] == state(call) == "exited"
    assert (
        "retry exhaustion: step 1: broken again"
        in call("status", "1", "--json").json["sessions"][0]["exit_reason"]
    )


def test_a_step_is_not_begun_while_something_waits(claimed: Path, call: Call) -> None:
    call("error", "1", "broken")
    assert call("step", "1", "start", "1", expect=4).err.count("\n") == 1


def test_a_session_by_hand_begins_nothing_while_its_phase_pauses_and_its_wait_is_written_down(
    claimed: Path, call: Call
) -> None:
    """PLAN-21: the conductor sees that it stands still."""
    with closing(SqliteStore.open(claimed / ".musician" / "comms.db")) as store:
        service.pause(store, "task-01", "task-02 has come to a checkpoint")
        refused = call("step", "task-01", "start", "1", expect=4)
        assert "task-02 has come to a checkpoint" in refused.err
        assert "musician wait" in refused.err
        told = (
            "nothing can be started yet: task-02 has come to a checkpoint; wait for it: musician wait task-01"
        )
        assert told in call("claim", "task-01").out
        call("step", "task-01", "start", "1", expect=4)
        assert [row.kind for row in service.journal_of(store, "task-01")].count("paused") == 1
        assert "PAUSE" in call("inbox", "task-01", "--ack").out.upper()
        for _ in range(2):
            call("wait", "task-01", "--timeout", "0", expect=1)
        kinds = [row.kind for row in service.journal_of(store, "task-01")]
        assert kinds.count("paused") == 1
        service.go_on(store, "task-01")
        call("step", "task-01", "start", "1")


def test_leaving_keeps_unfinished_work_and_writes_the_handoff(claimed: Path, call: Call) -> None:
    call("step", "1", "start", "1")
    write_greeter(claimed)
    done = call("exit", "1", "--reason", "context exhaustion", "--context", "71", "--json").json
    handoff = (claimed / done["handoff_path"]).read_text()
    for line in ("- Exit reason: context exhaustion", "- Context at exit: 71%", "- step 1 (Write it)"):
        assert line in handoff.split("\n")
    assert state(call) == "exited"
    assert not (tree_of(claimed) / "greeter.py").exists()
    refs = subprocess.run(
        ["git", "for-each-ref", "refs/musician"], cwd=claimed, capture_output=True, text=True, check=True
    )
    assert "task-01" in refs.stdout
    assert "claim" in call("heartbeat", "1", expect=4).err


def test_a_session_s_own_handoff_is_kept_as_it_is(claimed: Path, call: Call) -> None:
    """AUDIT-P12: it comes with the session's report, as the program's own does."""
    (claimed / "mine").write_text("# HANDOFF: task-01\nGo on at step 2 ☂\n")
    call("exit", "1", "--handoff", "mine")
    assert (claimed / "temp" / "task-01-HANDOFF").read_text() == "# HANDOFF: task-01\nGo on at step 2 ☂\n"
    assert "EXITED: session ended" in call("messages", "1").out
    (report,) = (claimed / "docs/implementation/reports").glob("task-01*")
    assert "Go on at step 2 ☂" in report.read_text()


@pytest.mark.parametrize("data", [None, b"\xff\xfe\xff"])
def test_a_handoff_that_cannot_be_read_is_refused(claimed: Path, call: Call, data: bytes | None) -> None:
    if data is not None:
        (claimed / "mine").write_bytes(data)
    assert call("exit", "1", "--handoff", "mine", expect=2).err.count("\n") == 1
    assert state(call) == "working"


def test_releasing_is_an_exit(claimed: Path, call: Call) -> None:
    call("release", "1")
    session = call("status", "1", "--json").json["sessions"][0]
    assert session["exit_reason"] == "released"


def test_a_claim_is_blocked_by_another_session(claimed: Path, call: Call) -> None:
    """D2, D9: exit code 5; the fallback row is written unless asked not to."""
    call("claim", "1", "--session", "quiet", "--quiet", expect=5)
    call("claim", "1", "--session", "s2", expect=5)
    said = call("messages", "1", "--json").json["messages"]
    assert [m["from_session"] for m in said if m["message_type"] == "claim_blocked"] == ["s2"]
    assert "already yours" in call("claim", "1").out


def test_a_zombie_writes_nothing(claimed: Path, call: Call) -> None:
    """D2: every verb by an older claim is refused."""
    write_greeter(claimed)
    call("step", "1", "start", "1")
    before = (claimed / "temp" / "task-01-status").read_text()
    for words in (
        ["heartbeat", "1"],
        ["step", "1", "done", "1", "--commit"],
        ["deviation", "1", "Low", "text"],
        ["self-correction", "1", "text"],
        ["checkpoint", "1"],
        ["error", "1", "text"],
        ["complete", "1"],
        ["exit", "1"],
        ["release", "1"],
        ["inbox", "1"],
    ):
        assert "claim 9" in call(*words, "--epoch", "9", expect=4).err
    assert (claimed / "temp" / "task-01-status").read_text() == before
    assert (tree_of(claimed) / "greeter.py").exists()


def test_the_set_up_of_a_plan_runs_once_before_a_checkpoint(
    repository: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (repository / "PLAN.md").read_text()
    (repository / "PLAN.md").write_text(
        text.replace("test: ", "setup: echo x >> $HOME/made; test -e $HOME/fine\ntest: ")
    )
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qam", "set-up"], check=True
    )
    monkeypatch.setenv("HOME", str(repository.parent))
    monkeypatch.setenv("MUSICIAN_SESSION", "s1")
    call("init")
    call("plan", "lock", "PLAN.md")
    call("claim", "1")
    write_greeter(repository)
    play(call, 1)
    assert "set-up ended with exit code 1" in call("checkpoint", "1", expect=4).err
    (repository.parent / "fine").touch()
    call("checkpoint", "1")
    call("review", "approve", "1")
    play(call, 2)
    call("checkpoint", "1")
    assert (repository.parent / "made").read_text() == "x\n" * 2


def test_a_task_opened_by_raw_sql_without_its_instruction_is_not_claimed(ready: Path, call: Call) -> None:
    import sqlite3

    with sqlite3.connect(ready / ".musician" / "comms.db") as connection:
        connection.execute(
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
            " VALUES ('task-09', 'task-00', 'instruction', 'docs/tasks/task-09.md')"
        )
        connection.execute(
            "INSERT INTO orchestration_tasks (task_id, state, instruction_path)"
            " VALUES ('task-09', 'watching', 'docs/tasks/task-09.md')"
        )
    connection.close()
    assert "its instruction cannot be read" in call("claim", "9", "--session", "s9", expect=5).err


def test_a_claim_stands_though_its_tree_cannot_be_made(ready: Path, call: Call) -> None:
    place = tree_of(ready)
    place.mkdir(parents=True)
    (place / "mine").write_text("here first")
    held = call("claim", "1", "--session", "s1", "--json").json
    assert held["tree"] is None
    assert "stands in its place" in held["warning"]
    assert (place / "mine").read_text() == "here first"
