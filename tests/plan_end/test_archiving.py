"""A plan has an end: archived, looked at, restored, dropped; its ids are free for the next one (D32)."""

import io
from pathlib import Path

import pytest

from tests.plan_end.conftest import rows, troubles, write_plan
from tests.surroundings import Call, git


def timeless(document: object) -> object:
    """The same without ages, which go on."""
    if isinstance(document, dict):
        return {name: timeless(value) for name, value in document.items() if name != "heartbeat_age_s"}
    return [timeless(each) for each in document] if isinstance(document, list) else document


def test_the_second_plan_has_the_ids_of_the_first(house: Path, call: Call) -> None:
    """D32.2: `run` puts away what is complete, and goes on; what happened stays readable under the plan's name."""
    first = write_plan(house, "first")
    call("run", first, expect=0)
    assert "no task changed" in call("plan", "amend", first).out, "it is as complete as before"
    looks = (("messages", "task-01"), ("history", "task-01"), ("status", "task-01"), ("history", "task-02"))
    told = {what: timeless(call(*what, "--json").json) for what in looks}
    call("run", write_plan(house, "second"), expect=0)
    assert (house / "second-2.txt").read_text() == "two\n"
    listed = {each["plan_id"]: each for each in call("plan", "list", "--json").json["plans"]}
    assert {name: each["state"] for name, each in listed.items()} == {
        "first": "archived",
        "second": "complete",
    }
    assert listed["first"]["completed"] == listed["first"]["tasks"] == 2
    for what, before in told.items():
        assert timeless(call(*what, "--plan", "first", "--json").json) == before
    assert call("history", "task-01", "--json").json != told["history", "task-01"]
    shown = call("status", "--plan", "first", "--json").json
    assert [task["plan_id"] for task in shown["tasks"]] == ["first", "first"]
    told_of = call("timeline", "--plan", "first").out
    assert "task-02" in told_of
    assert len(call("timeline", "--json").json["timeline"]) > 0
    assert troubles(call) == [], "guards and rows are as they should be"
    assert call("status", "--plan", "third", expect=3).err


def test_the_work_of_an_archived_plan_is_looked_at_and_its_log_read(house: Path, call: Call) -> None:
    """D32.8: also while another plan has its ids."""
    call("run", write_plan(house, "first"), expect=0)
    log = call("log", "task-02").out
    call("plan", "lock", write_plan(house, "second"))
    assert call("log", "task-02", "--plan", "first", "-f").out == log
    assert call("log", "task-02").out != log
    shown = call("review", "show", "task-02", "--plan", "first").out
    assert "look at it: musician review diff task-02 --plan first" in shown
    assert "(its branch is gone)" in shown
    status = call("status", "--plan", "first").out
    assert "conductor: none: the plan is archived" in status
    assert "conductor: none at work; `musician run" in call("status").out, "the second was not begun"
    assert "answer it" not in shown
    assert "+two" in call("review", "diff", "task-02", "--plan", "first").out
    call("review", "checkout", "task-02", "--plan", "first")
    assert (house / ".musician" / "checkouts" / "task-02" / "first-2.txt").is_file()
    assert "nothing was submitted" in call("review", "show", "task-02").out


@pytest.mark.deep
def test_the_sources_statements_mean_the_open_plan(house: Path, call: Call) -> None:
    """D32.2."""
    call("run", write_plan(house, "first"), expect=0)
    call("plan", "lock", write_plan(house, "second"))
    assert rows(
        house,
        "SELECT task_id, state, plan_id, claim_epoch FROM orchestration_tasks WHERE task_id <> 'task-00'",
    ) == [
        ("task-01", "watching", "second", 0),
        ("task-02", "watching", "second", 0),
    ]
    newest = rows(house, "SELECT seq, task_id FROM changes ORDER BY seq")
    assert [seq for seq, _ in newest] == sorted({seq for seq, _ in newest})
    assert len(rows(house, "SELECT id FROM orchestration_messages WHERE task_id = 'task-01'")) == 1


def test_what_is_restored_is_as_it_was(house: Path, call: Call) -> None:
    """D32.2: row by row, and an open plan goes on from there."""
    path = write_plan(house, "first", second="exit 1")
    call("run", path, expect=1)
    before = call("timeline", "--json").json["timeline"]
    history = call("history", "task-02", "--json").json["history"]
    logs = sorted(each.name for each in (house / ".musician" / "logs" / "task-02").iterdir())
    refused = call("plan", "archive", "first", expect=4).err
    assert "not complete: task-02" in refused
    assert "--abandon REASON" in refused
    call("plan", "archive", "first", "--abandon", "another way")
    assert call("plan", "archive", "first", expect=4).err
    assert not (house / ".musician" / "logs" / "task-02").exists()
    listed = call("plan", "list", "--json").json["plans"]
    assert [(each["state"], each["abandoned"]) for each in listed] == [("abandoned", "another way")]
    assert git(house, "branch", "--list", "musician/first/task-02"), "an abandoned plan's branches stay"
    refused = call("run", path, expect=4).err
    assert "plan restore first" in refused
    call("plan", "restore", "first")
    assert "is not archived" in call("plan", "restore", "first", expect=4).err
    # Its session was found dead when the plan was abandoned, and the task was freed: that comes after what was.
    assert call("timeline", "--json").json["timeline"][: len(before)] == before
    assert call("history", "task-02", "--json").json["history"][: len(history)] == history
    assert call("run", path, expect=1).out, "an open plan goes on"
    assert sorted(each.name for each in (house / ".musician" / "logs" / "task-02").iterdir()) == logs
    assert not (house / ".musician" / "archive" / "first").exists()


def test_open_proposals_of_an_archived_plan_are_not_hidden(house: Path, call: Call) -> None:
    """D32.9: they go with its rows, and whoever archives it or lists proposals is told where they are."""
    call("plan", "lock", write_plan(house, "first"))
    call("claim", "task-01", "--session", "s1")
    made = ("propose", "task-01", "--session", "s1", "--type", "PATTERN", "--title", "Use fixtures")
    call(*made, "--", "In every test.")
    call("release", "task-01", "--session", "s1")
    said = call("plan", "archive", "first", "--abandon", "no time").out
    assert "first is archived with open proposals: 1 (musician proposals list --plan first)" in said
    assert "first, archived: 1 open (musician proposals list --plan first)" in call("proposals", "list").out
    assert "Use fixtures" in call("proposals", "list", "--plan", "first").out
    assert "musician plan list" in call("plan", "restore", "other", expect=3).err


@pytest.mark.deep
@pytest.mark.parametrize("how", [("plan", "lock"), ("run",)], ids=["lock", "run"])
def test_open_proposals_of_a_plan_that_is_archived_by_itself_are_told(
    house: Path, call: Call, how: tuple[str, ...]
) -> None:
    """D32.9: by the command that puts it away, and in the summary of the next run, until somebody decides them."""
    path = write_plan(house, "first")
    call("plan", "lock", path)
    call("claim", "task-01", "--session", "s1")
    made = ("propose", "task-01", "--session", "s1", "--type", "PATTERN", "--title", "Use fixtures")
    call(*made, "--", "In every test.")
    call("release", "task-01", "--session", "s1")
    call("run", path)
    told = "first is archived with open proposals: 1 (musician proposals list --plan first)"
    second = write_plan(house, "second")
    done = call(*how, second)
    assert told in done.out + done.err
    again = call("run", second, "--summary", "summary.md")
    assert told in again.out
    assert "first is archived with open proposals: 1" in (house / "summary.md").read_text()


@pytest.mark.deep
def test_whose_ids_are_taken_is_not_restored(house: Path, call: Call) -> None:
    """D32.2."""
    call("run", write_plan(house, "first"), expect=0)
    call("plan", "lock", write_plan(house, "second"))
    refused = call("plan", "restore", "first", expect=4).err
    assert "task-01, task-02" in refused
    assert call("plan", "show", "first").out


@pytest.mark.deep
def test_dropping_says_what_is_lost_and_asks(
    house: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D32.2."""
    call("run", write_plan(house, "first"), expect=0)
    assert "archive it first" in call("plan", "drop", "first", "--yes", expect=4).err
    call("plan", "archive", "first")
    head = git(house, "rev-parse", "HEAD")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    asked = call("plan", "drop", "first", expect=1)
    assert asked.err.endswith("first stays\n")
    assert "the record of its tasks, 2 of 2 tasks complete" in asked.err
    call("plan", "show", "first")
    call("plan", "drop", "first", "--yes")
    assert call("plan", "show", "first", expect=3).err
    assert call("plan", "restore", "first", expect=3).err
    assert git(house, "rev-parse", "HEAD") == head


@pytest.mark.deep
@pytest.mark.parametrize("harm", ["is lost", "is damaged"])
def test_a_broken_archive_can_be_dropped_and_blames_no_other(
    house: Path, call: Call, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """D32.2: nobody is told to move the repository's own database away."""
    call("run", write_plan(house, "first"), expect=0)
    call("plan", "archive", "first")
    archive = house / ".musician" / "archive" / "first" / "comms.db"
    archive.unlink() if harm == "is lost" else archive.write_bytes(b"junk" * 999)
    refused = call("plan", "restore", "first", expect=None).err
    assert str(archive) in refused
    assert "drop" in refused
    assert "init" not in refused
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    call("plan", "drop", "first")
    assert call("plan", "list", "--json").json["plans"] == []


@pytest.mark.deep
def test_a_plan_does_not_go_on_from_what_a_dropped_one_of_its_name_left(house: Path, call: Call) -> None:
    """D32.4: it is refused with the command that cleans; what nothing else holds stays, and is told."""
    path = write_plan(house, "first", second="exit 1")
    call("run", path, expect=1)
    call("plan", "archive", "first", "--abandon", "another way")
    assert "musician plan drop first" in call("clean").out
    assert "musician/first/task-01" in call("plan", "drop", "first", "--yes").out
    refused = call("run", path, expect=4).err
    assert "musician/first/_integration" in refused
    assert "musician clean" in refused
    said = call("clean").out
    assert "removed: branch musician/first/task-01" in said, "the plan's branch holds it"
    assert "stays: branch musician/first/_integration: commits that no other branch holds" in said
    assert "musician clean" in call("plan", "lock", path, expect=4).err
    git(house, "branch", "-q", "-D", "musician/first/_integration")
    (house / "mine.txt").write_text("mine\n")
    git(house, "add", "mine.txt")
    git(house, "commit", "-qm", "mine")
    call("run", write_plan(house, "first", first="again.txt", second="cp mine.txt copied.txt"), expect=0)
    assert not (house / "first.txt").exists(), "the dropped plan's work is not in it"
    assert (house / "copied.txt").read_text() == "mine\n"
    assert "Merge task-01" in git(house, "log", "--glob=refs/musician/partial/first"), "and yet it is kept"


def test_the_name_of_a_plan_is_not_the_programs_nor_anothers_but_for_case(house: Path, call: Call) -> None:
    """D32.5: `tasks` stands for tasks without a plan; log files lie beside the tasks' folders."""
    assert (
        "tasks stands for tasks without a plan"
        in call("plan", "lock", write_plan(house, "Tasks"), expect=2).err
    )
    text = (house / write_plan(house, "first")).read_text()
    (house / "logs.md").write_text(text.replace("task-01:", "run.log:"))
    assert "log files" in call("plan", "check", "logs.md", expect=2).err
    call("plan", "lock", "first.md")
    call("plan", "archive", "first", "--abandon", "no time")
    assert (
        "the name of plan first but for case"
        in call("plan", "lock", write_plan(house, "First"), expect=4).err
    )


@pytest.mark.deep
def test_a_plan_with_the_name_of_a_dropped_one_begins_where_the_user_is(house: Path, call: Call) -> None:
    """D32.2: not at what the old one had merged."""
    call("run", write_plan(house, "first"), expect=0)
    call("plan", "archive", "first")
    call("plan", "drop", "first", "--yes")
    (house / "mine.txt").write_text("mine\n")
    git(house, "add", "mine.txt")
    git(house, "commit", "-qm", "mine")
    path = write_plan(house, "first", second="cp mine.txt copied.txt", first="again.txt")
    assert "first is complete" in call("run", path, expect=0).out
    assert (house / "copied.txt").read_text() == "mine\n"
