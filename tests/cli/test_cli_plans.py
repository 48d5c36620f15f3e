"""``plan check``, ``plan lock``, ``plan amend`` and ``task add`` (DESIGN 7)."""

import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.plans.plan import load_plan
from musician.plans.tasks import without_script
from musician.processes.machine import MACHINE
from musician.protocol.settings import Settings
from musician.reporting.run_at_work import is_conducted, run_process
from musician.runtime.conductor.conductor_lock import conducting_run, hold_conductor_lock
from musician.store.opening import open_store
from musician.trees.root import find_root
from tests.surroundings import Call, begin, git


def commit(folder: Path) -> None:
    argv = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qam", "change"]
    subprocess.run(argv, cwd=folder, check=True)


def test_a_plan_is_checked_without_a_database(repository: Path, call: Call) -> None:
    found = call("plan", "check", "PLAN.md", "--json").json
    assert (found["plan"], found["valid"], found["problems"]) == ("greeter", True, [])
    tasks = found["phases"][0]["tasks"]
    assert [(task["task_id"], task["steps"], task["checkpoints"]) for task in tasks] == [
        ("task-01", 2, 2),
        ("task-02", 1, 1),
    ]
    assert "Add the farewell" in call("plan", "check", "PLAN.md").out
    assert not (repository / ".musician").exists()


def test_every_problem_of_a_plan_is_told_with_its_line(repository: Path, call: Call) -> None:
    (repository / "bad.md").write_text(
        "---\nplan: a b\n---\n# T\n## Phase 1: P\n### x y: T\n#### Step 2: S\n"
    )
    done = call("plan", "check", "bad.md", expect=2)
    *problems, last = done.err.splitlines()
    assert len(problems) >= 3
    assert all(problem.startswith("bad.md:") for problem in problems)
    assert last.startswith("musician: ")
    found = call("plan", "check", "bad.md", "--json", expect=2).json
    assert found["problems"] == problems
    assert not found["valid"]


@pytest.mark.parametrize("path", ["missing.md", ".", "/dev/null"])
def test_a_plan_that_cannot_be_read_is_one_line(repository: Path, call: Call, path: str) -> None:
    assert call("plan", "check", path, expect=2).err.count("\n") == 1


def test_locking_opens_the_tasks_with_their_instructions(ready: Path, call: Call) -> None:
    tasks = call("status", "--json").json["tasks"]
    assert [task["state"] for task in tasks] == ["watching", "watching"]
    text = (ready / tasks[0]["instruction_path"]).read_text()
    assert "Greets people like Zoë." in text
    assert call("messages", "1", "--json").json["messages"][0]["message"] == tasks[0]["instruction_path"]
    assert (
        subprocess.run(["git", "status", "--short"], cwd=ready, capture_output=True, check=True).stdout
        == b"?? docs/\n"
    )


def test_a_dirty_tree_is_not_locked_and_the_paths_are_named(repository: Path, call: Call) -> None:
    """D24."""
    call("init")
    (repository / "test_greeter.py").write_text("x")
    assert "test_greeter.py" in call("plan", "lock", "PLAN.md", expect=2).err
    assert call("status", "--json").json["plans"] == []


def test_a_changed_plan_is_refused_with_the_difference_and_taken_up_by_amend(ready: Path, call: Call) -> None:
    plan = ready / "PLAN.md"
    plan.write_text(plan.read_text().replace("Add the farewell", "Add the good-bye"))
    refused = call("plan", "lock", "PLAN.md", expect=2)
    assert "-### task-02: Add the farewell" in refused.err
    assert "+### task-02: Add the good-bye" in refused.err
    assert refused.err.splitlines()[-1].startswith("musician: plan 'greeter' was changed")
    made = call("plan", "amend", "PLAN.md", "--json").json
    assert (made["added"], made["changed"], made["withdrawn"]) == ([], ["task-02"], [])
    call("plan", "lock", "PLAN.md")
    assert "no task changed" in call("plan", "amend", "PLAN.md").out


def test_amend_says_that_it_has_taken_up_changed_settings(ready: Path, call: Call) -> None:
    settings = ready / ".musician" / "config.toml"
    settings.write_text(settings.read_text().replace('#quiet = ""', 'quiet = "22:00-07:00"'))
    told = "no task changed\nthe settings file has changed, and is in force now\n"
    assert call("plan", "amend", "PLAN.md").out == told
    assert call("plan", "amend", "PLAN.md").out == "no task changed\n"


def test_what_a_run_would_refuse_to_play_is_a_warning_of_amend_and_of_check_alike(
    ready: Path, call: Call
) -> None:
    """PLAN-AMEND-PLAYERS: an agent that is not here, a price that nobody knows, a reviewer without a script."""
    plan = ready / "PLAN.md"
    keys = "```yaml task\n{}\n```\n"
    text = plan.read_text()
    later = f"\n### task-05: Later\n{keys.format('agent: acp:nowhere-to-be-found')}#### Step 1: S\nS.\n"
    dear = (
        f"\n### task-06: Dear\n{keys.format('agent: acp:sh' + chr(10) + 'budget: 1usd')}#### Step 1: S\nS.\n"
    )
    judged = f"\n### task-07: Judged\n{keys.format('review: agent')}#### Step 1: S\n{RUNS}"
    plan.write_text(text + later + dear + judged)
    checked = call("plan", "check", "PLAN.md", "--json").json["warnings"]
    warned = call("plan", "amend", "PLAN.md", "--json").json["warnings"]
    assert [
        ("task-05: agent 'acp:nowhere-to-be-found' is not available" in warned[0]),
        ("task-06: agent 'acp:sh' does not say what it costs" in warned[1]),
        ("task-07 with `review: agent` and no `reviewer`" in warned[2]),
    ] == [True, True, True]
    assert checked[: len(warned)] == warned
    assert all(f"warning: {each}" in call("plan", "amend", "PLAN.md").out for each in warned)
    assert "nowhere-to-be-found" in call("run", "PLAN.md", expect=2).err


RUNS = "```bash run\ntrue\n```\n"


def test_a_check_tells_which_ids_are_another_plans(ready: Path, call: Call) -> None:
    text = (ready / "PLAN.md").read_text().replace("plan: greeter", "plan: next")
    (ready / "NEXT.md").write_text(text)
    told = call("plan", "check", "NEXT.md", expect=2).err
    assert "'task-01' is a task of plan 'greeter'" in told


def test_a_command_that_decides_for_a_moment_is_no_run(ready: Path, call: Call) -> None:
    """D13.4: after a run was killed its row looks fresh for minutes, and the command's own lock must not hide that."""
    root = find_root(ready)
    with closing(open_store(ready / ".musician" / "comms.db")) as store:
        with conducting_run(root, "c1", MACHINE):
            service.start_conducting(store, "c1", settings=Settings())
            assert is_conducted(root, store, Settings())
            assert run_process(root) is not None
        with hold_conductor_lock(root, "amend-1", MACHINE):
            assert not is_conducted(root, store, Settings())
            assert run_process(root) is None
        call("plan", "amend", "PLAN.md")
        assert not is_conducted(root, store, Settings())
    call("task", "skip", "2", "nobody wants it")
    assert "No run is at work" in call("task", "retry", "2").out
    assert "archived" in call("plan", "archive", "greeter", "--abandon", "no time").out


def test_a_plan_from_before_amend_is_not_taken_for_locked(repository: Path, call: Call) -> None:
    call("init")
    assert "musician plan list" in call("plan", "amend", "PLAN.md", expect=3).err


INSTRUCTIONS = "---\ntask: task-07\n---\n# Tidy up\n## Step 1: Sweep\n```bash run\ntrue\n```\n"


def test_a_task_without_a_plan_is_opened_from_its_file(repository: Path, call: Call) -> None:
    call("init")
    (repository / "tidy.md").write_text(INSTRUCTIONS)
    assert call("task", "add", "7", "--instructions", "tidy.md", "--json").json == {
        "task_id": "task-07",
        "instruction_path": "tidy.md",
        "state": "watching",
    }
    row = call("status", "7", "--json").json
    assert (row["title"], row["plan_id"], row["state"]) == ("Tidy up", None, "watching")
    assert call("task", "add", "7", "--instructions", "tidy.md", expect=4).err.count("\n") == 1
    assert call("task", "skip", "7", "not now").out == "skipped: task-07\nIt belongs to no plan.\n"
    assert "play it with `musician work task-07`" in call("task", "retry", "7").out, "no run takes it up"


@pytest.fixture
def linked(repository: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working tree of the user's own beside the main one, and we stand in it."""
    call("init")
    folder = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", "-b", "side", str(folder))
    (folder / "tidy.md").write_text(INSTRUCTIONS)
    monkeypatch.chdir(folder)
    return folder


def test_a_tasks_file_in_a_linked_tree_is_read_there(linked: Path, repository: Path, call: Call) -> None:
    """It was wanted in the main tree. A copy is kept: the tree may be gone when the task is played."""
    name = call("task", "add", "7", "--instructions", "tidy.md", "--json").json["instruction_path"]
    assert (repository / name).read_text() == INSTRUCTIONS
    (linked / "tidy.md").unlink()
    assert call("claim", "7", "--session", "s7", "--json").json["next_title"] == "Sweep"
    other = begin(linked.parent / "other", {"other.md": INSTRUCTIONS.replace("07", "08")})
    told = call("task", "add", "8", "--instructions", str(other / "other.md"), expect=2).err
    assert "a file outside the project" in told


def test_a_task_is_added_to_a_plan_in_a_linked_tree(linked: Path, repository: Path, call: Call) -> None:
    before = (repository / "PLAN.md").read_text()
    call("plan", "lock", "PLAN.md")
    call("task", "add", "7", "--instructions", "tidy.md", "--to", "PLAN.md")
    assert call("status", "7", "--json").json["title"] == "Tidy up"
    assert 'instructions: "tidy.md"' in (linked / "PLAN.md").read_text()
    assert (repository / "PLAN.md").read_text() == before


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tidy.md", b"# Nothing to do\n"),
        ("tidy.md", b"\xff\xfe"),
        ("tidy.md", INSTRUCTIONS.replace("task-07", "task-08").encode()),
        ("tidy.md", b"x" * 2_000_001),
        ("tidy.md", None),
        ("../tidy.md", INSTRUCTIONS.encode()),
    ],
)
def test_a_file_that_is_no_instruction_opens_nothing(
    repository: Path, call: Call, name: str, data: bytes | None
) -> None:
    call("init")
    if data is not None:
        (repository / name).write_bytes(data)
    assert call("task", "add", "7", "--instructions", name, expect=2).err.count("\n") >= 1
    assert call("status", "--json").json["tasks"] == []


def test_several_problems_are_listed_and_then_counted_not_told_twice(repository: Path, call: Call) -> None:
    (repository / "bad.md").write_text("# No front matter\n## Phase 2: late\n", encoding="utf-8")
    told = call("plan", "check", "bad.md", expect=2).err.splitlines()
    assert len(told) == len(set(told)) > 2
    assert told[-1] == f"musician: {len(told) - 1} problems: mend them and run `musician plan check`"


def test_a_long_difference_is_cut_and_its_rest_counted(ready: Path, call: Call) -> None:
    plan = ready / "PLAN.md"
    plan.write_text(plan.read_text(encoding="utf-8") + "more\n" * 5000, encoding="utf-8")
    told = call("run", "PLAN.md", expect=2).err.splitlines()
    assert len(told) < 210
    assert re.fullmatch(r"\(and 48\d\d more lines\)", told[-2])
    assert "plan amend" in told[-1]


@pytest.mark.parametrize(("key", "script"), [("review", "reviewer"), ("answers", "answerer")])
def test_a_review_by_the_shell_agent_without_a_script_is_refused_when_it_is_run_and_not_before(
    repository: Path, call: Call, key: str, script: str
) -> None:
    """D18.6: who plays is known then; a model needs no script."""
    text = (repository / "PLAN.md").read_text().replace("plan: greeter", f"plan: greeter\n{key}: agent")
    (repository / "PLAN.md").write_text(text)
    commit(repository)
    call("init")
    found = call("plan", "check", "PLAN.md")
    assert f"task-01 with `{key}: agent` and no `{script}`" in found.out
    assert "greeter: no error, 2 warnings" in found.out
    assert len(call("plan", "check", "PLAN.md", "--json").json["warnings"]) == 2
    assert f"task-01 with `{key}: agent`" in call("run", "PLAN.md", expect=2).err
    read = load_plan(repository / "PLAN.md", root=repository)
    assert len(without_script(read)) == 2
    assert without_script(read, "claude") == ()
