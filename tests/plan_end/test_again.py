"""A complete plan whose branches are gone is run again, amended and played on (D32)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from musician.testing.waiting import HANG_S
from tests.plan_end.conftest import write_plan
from tests.plan_end.test_cleaning import ours
from tests.surroundings import Call, git


def test_a_cleaned_plan_can_be_run_again_and_amended(house: Path, call: Call) -> None:
    """D32.3: the branch moves forward after the amended plan was committed."""
    path = write_plan(house, "first")
    call("run", path)
    head = git(house, "rev-parse", "HEAD")
    call("run", path)
    assert ours(house) == ([], [])
    assert git(house, "rev-parse", "HEAD") == head
    text = (house / path).read_text()
    more = "\n### task-03: A third\n#### Step 1: Write\n```bash run\ncat first-2.txt > third.txt\n```\n"
    (house / path).write_text(text + more)
    git(house, "commit", "-qam", "a third")
    call("plan", "amend", path)
    said = call("run", path)
    assert "your branch trunk was moved to the result" in said.out
    assert (house / "third.txt").read_text() == "two\n", "it saw what was merged before"
    assert ours(house) == ([], [])
    assert git(house, "status", "--porcelain", "--untracked-files=no") == ""


def test_a_plans_branch_that_was_moved_is_not_brought_back_without_a_word(house: Path, call: Call) -> None:
    """D32.6: what it was moved to is kept, and the run begins with where."""
    path = write_plan(house, "first", second="exit 1")
    call("run", path, expect=1)
    mine = git(house, "commit-tree", "-p", "trunk", "-m", "mine", "trunk^{tree}").strip()
    git(house, "update-ref", "refs/heads/musician/first/_integration", mine)
    said = call("run", path, expect=1).err
    assert (
        "branch musician/first/_integration was moved by somebody else; it stays where the program left it"
        in said
    )
    assert git(house, "rev-parse", said.split("`git merge ")[1].split("`")[0]).strip() == mine
    assert "was moved" not in call("run", path, expect=1).err


@pytest.mark.deep
def test_a_run_says_that_the_sandbox_it_would_like_is_not_to_be_had(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D36.6: in a line of the run, not in a journal alone."""
    tools = house.parent / "tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for each in Path(folder).glob("*"):
            if each.name != "bwrap" and not (tools / each.name).is_symlink():
                (tools / each.name).symlink_to(each)
    monkeypatch.setenv("PATH", str(tools))
    argv = [sys.executable, "-m", "musician", "run", write_plan(house, "first", keys="sandbox: auto\n")]
    done = subprocess.run(argv, cwd=house, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("there is no sandbox: bubblewrap is not installed") == 1


@pytest.mark.deep
def test_who_wants_to_look_first_keeps_trees_and_branches(house: Path, call: Call) -> None:
    """D32.1: by a flag or a setting; `clean` removes them later."""
    path = write_plan(house, "first")
    call("run", path, "--keep")
    kept = ours(house)
    assert "first/task-01" in kept[0]
    assert "musician/first/task-01" in kept[1]
    config = house / ".musician" / "config.toml"
    config.write_text(config.read_text().replace("#keep = false", "keep = true"))
    call("plan", "amend", path)
    call("run", path)
    assert ours(house) == kept
    call("clean")
    assert ours(house) == ([], [])


@pytest.mark.deep
def test_the_work_of_a_cleaned_plan_can_be_looked_at(house: Path, call: Call) -> None:
    """D32.3: its branches are gone, and what was submitted is in the user's."""
    call("run", write_plan(house, "first"), expect=0)
    assert "+two" in call("review", "diff", "task-02", expect=0).out
    assert "first.txt" not in call("review", "diff", "task-02", "--stat").out
    call("review", "checkout", "task-02", expect=0)
    assert (house / ".musician" / "checkouts" / "task-02" / "first-2.txt").read_text() == "two\n"
