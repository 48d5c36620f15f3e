"""A week: five plans one after another with the same ids, two of them abandoned, one archived and restored (D32)."""

from pathlib import Path

import pytest

from tests.plan_end.conftest import troubles, write_plan
from tests.plan_end.test_cleaning import ours
from tests.surroundings import Call, git

MOST_BYTES = 5_000_000


def refs_of_the_user(house: Path) -> list[str]:
    """All but the branch he works on, and ours."""
    refs = git(house, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return [ref for ref in refs if "musician" not in ref and not ref.startswith("refs/heads/trunk ")]


@pytest.mark.deep
def test_a_week_leaves_the_repository_as_it_was_but_for_its_work(house: Path, call: Call) -> None:
    """D32.3."""
    git(house, "branch", "mine")
    git(house, "tag", "v1")
    git(house, "update-ref", "refs/remotes/origin/trunk", "HEAD")
    (house / "README.md").write_text("half an idea\n")
    git(house, "stash", "push", "-q")
    before = refs_of_the_user(house)
    for name, second in (("mon", "echo 2 > mon-2.txt"), ("tue", "exit 1"), ("wed", "echo 2 > wed-2.txt")):
        call("run", write_plan(house, name, second=second), expect=1 if name == "tue" else 0)
        if name == "tue":
            call("plan", "archive", "tue", "--abandon", "another way")
    call("plan", "lock", write_plan(house, "thu"))
    call("plan", "archive", "thu", "--abandon", "not this week")
    call("run", write_plan(house, "fri"))

    call("plan", "archive", "fri")
    call("plan", "restore", "wed")
    assert [row["plan_id"] for row in call("status", "--json").json["tasks"]] == ["wed", "wed"]
    call("run", "wed.md")
    call("plan", "archive", "wed")

    states = {each["plan_id"]: each["state"] for each in call("plan", "list", "--json").json["plans"]}
    over, given_up = ("mon", "wed", "fri"), ("tue", "thu")
    assert states == {**dict.fromkeys(over, "archived"), **dict.fromkeys(given_up, "abandoned")}
    for name in over:
        assert (house / f"{name}-2.txt").is_file()
        assert len(call("history", "task-02", "--plan", name, "--json").json["history"]) > 4
    call("clean")
    trees, branches = ours(house)
    assert trees == []
    assert {branch.split("/")[1] for branch in branches} == {"tue"}, "an abandoned plan's work is still there"
    assert refs_of_the_user(house) == before
    assert git(house, "stash", "list").count("\n") == 1
    assert git(house, "worktree", "list").count("\n") == 1
    assert git(house, "status", "--porcelain", "--untracked-files=no") == ""
    git(house, "fsck", "--strict")
    kept = [each for each in (house / ".musician").rglob("comms.db*") if each.is_file()]
    assert sum(each.stat().st_size for each in kept) < MOST_BYTES
    assert troubles(call) == []
