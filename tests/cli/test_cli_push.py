"""A person publishes a task's work: its branch to push, and the text of a pull request. A musician does not."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.protocol.messages.feedback import answer_text
from musician.protocol.values import replace
from musician.reporting.account import SentBack, account_of
from musician.reporting.pull_request import pull_request_of
from musician.reporting.standing import Standing
from musician.store.opening import open_store
from musician.trees.root import find_root
from tests.surroundings import Call, begin, git

PLAN = """\
---
plan: greeter
test: python3 -m unittest -q
---
# Greet

## Phase 1: Foundations
### task-01: Make `it` @everybody
#### Step 1: Make it
```bash run
cat > test_it.py <<'PYTHON'
import unittest

class It(unittest.TestCase):
    def test_it(self):
        import it
        self.assertEqual(it.it(), 1)
PYTHON
echo 'def it(): return 1' > it.py
echo '::deviation Low fixes #12, thanks @octocat <img src=x>'
```
### task-02: Never begun
```yaml task
after: [task-01]
```
#### Step 1: Fail
```bash run
exit 1
```
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Call, call: Call) -> Path:
    found = begin(tmp_path / "a b", {"PLAN.md": PLAN, "test_old.py": "import unittest\n"})
    git(tmp_path, "init", "-q", "--bare", "far.git")
    git(found, "remote", "add", "origin", str(tmp_path / "far.git"))
    monkeypatch.chdir(found)
    call("init")
    program("run", "PLAN.md", "--jobs", "2")
    return found


def far(folder: Path, *arguments: str) -> str:
    return git(folder.parent / "far.git", *arguments)


def test_a_tasks_work_is_pushed_to_a_branch_of_its_own_and_the_users_hook_has_its_say(
    folder: Path, call: Call
) -> None:
    hook = folder / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\ncat >> '{folder.parent}/asked'\n")
    hook.chmod(0o755)
    done = call("push", "1", "--json")
    commit = git(folder, "rev-parse", "musician/greeter/task-01").strip()
    assert done.json == {
        "task_id": "task-01",
        "remote": "origin",
        "branch": "musician/greeter/task-01",
        "commit": commit,
    }
    assert far(folder, "rev-parse", "musician/greeter/task-01").strip() == commit
    assert commit in (folder.parent / "asked").read_text()
    call("push", "1", "--remote", str(folder.parent / "far.git"), "--branch", "feature/it")
    assert far(folder, "rev-parse", "feature/it").strip() == commit


@pytest.mark.deep
def test_what_was_merged_and_tidied_away_can_still_be_pushed(folder: Path, call: Call) -> None:
    commit = git(folder, "rev-parse", "musician/greeter/task-01").strip()
    git(folder, "worktree", "prune")
    for tree in git(folder, "worktree", "list", "--porcelain").split("worktree ")[2:]:
        git(folder, "worktree", "remove", "--force", tree.splitlines()[0])
    git(folder, "branch", "-qD", "musician/greeter/task-01")
    call("push", "1")
    assert far(folder, "rev-parse", "musician/greeter/task-01").strip() == commit


@pytest.mark.deep
def test_nothing_is_forced_and_what_git_says_is_told(folder: Path, call: Call) -> None:
    elsewhere = git(folder, "commit-tree", "HEAD^{tree}", "-m", "other").strip()
    git(folder, "push", "-q", "origin", f"{elsewhere}:refs/heads/musician/greeter/task-01")
    call("push", "1", expect=2)
    assert far(folder, "rev-parse", "musician/greeter/task-01").strip() == elsewhere
    call("push", "1", "--remote", "--upload-pack=touch x", expect=2)
    assert not (folder / "x").exists()


def test_a_task_without_work_has_nothing_to_push(ready: Path, call: Call) -> None:
    assert "has submitted nothing" in call("push", "1", expect=2).err
    call("push", "9", expect=3)


@pytest.mark.deep
@pytest.mark.parametrize("verb", ["push", pytest.param("pr", marks=pytest.mark.deep)])
def test_a_musician_publishes_nothing(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """D21.1."""
    with monkeypatch.context() as patch:
        patch.setenv("MUSICIAN_TASK", "task-01")
        assert "may not publish its work" in call(verb, "1", expect=None).err
    call("send", "2", "again", "--retries", "3")
    owner = call("claim", "2", "--session", "s1", "--force", expect=None)
    assert owner.code == 0, owner.err
    with monkeypatch.context() as patch:
        patch.setenv("MUSICIAN_SESSION", "s1")
        assert "may not publish its work" in call(verb, "1", expect=None).err
        patch.setenv("MUSICIAN_SESSION", "a-conductors")
        call(verb, "1")
    monkeypatch.chdir(folder / ".musician" / "trees" / "greeter" / "task-02")
    assert "may not publish its work" in call(verb, "1", expect=None).err


@pytest.mark.deep
def test_the_text_of_a_pull_request_says_what_was_done_and_calls_nobody(folder: Path, call: Call) -> None:
    title, empty, *body = call("pr", "1").out.splitlines()
    assert (title, empty) == ("Make `it` @everybody", "")
    text = "\n".join(body)
    assert "Task `task-01` of plan `greeter` (Greet): complete, 1 session" in text
    assert "### Tests" in text
    assert "1 new or changed test" in text
    found = call("pr", "1", "--json").json
    assert (found["head"], found["base"], found["url"]) == ("musician/greeter/task-01", "trunk", None)
    for reference in ("@octocat", "#12", "<img"):
        assert reference not in text


@pytest.mark.deep
def test_what_was_sent_back_is_told_in_short(folder: Path) -> None:
    """All points of a person's, and of a conflict what it begins with; the summary is that of the work alone."""
    with closing(open_store(folder / ".musician" / "comms.db")) as store:
        view = service.task_view(store, "task-01")
        account = account_of(find_root(folder), store, (Standing(view),), plan_id="greeter", title="").tasks[
            0
        ]
    reworked = replace(account, summary="Made.\n" + answer_text(["conflicts"], {}, ["rework 1.1"]))
    sent_back = tuple(
        SentBack(task_id="task-01", checkpoint=1, why=why)
        for why in ("Conflicts in a.py\ndiff --git a/a.py", "1. Mend it.\n2. Test it.")
    )
    body = pull_request_of(view, reworked, sent_back, None).body
    assert body.startswith("Made.\n\nTask")
    assert "on the way\n\n- Conflicts in a.py …\n- Mend it.; Test it.\n" in body


@pytest.mark.deep
def test_it_is_opened_by_the_forges_program_where_there_is_one(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "not installed" in call("pr", "1", "--create", expect=2).err
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "gh").write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{tmp_path}/asked'; cat > '{tmp_path}/body'; echo https://forge.example/1\n"
    )
    (bin_folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    assert call("pr", "1", "--create").out == "https://forge.example/1\n"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:4] == ["pr", "create", "--title", "Make `it` @everybody"]
    assert asked[-4:] == ["--head", "musician/greeter/task-01", "--base", "trunk"]
    assert "### Tests" in (tmp_path / "body").read_text()
