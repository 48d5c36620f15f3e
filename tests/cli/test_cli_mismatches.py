"""A resumption that finds what does not agree: real git, real files, each kind of mismatch (D20).

The repository is made once and put back for every test; session s1 has got checkpoint 1 approved, has begun step 2
and has handed off, and session s2 takes over.
"""

import os
import shutil
import subprocess
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from musician.__main__ import run_command
from tests.surroundings import Call

PLAN = """\
---
plan: greeter
test: test -e greeter.txt && ! test -e broken.txt
---
# Greeter

## Phase 1: Foundations

### task-01: Greet
#### Step 1: Write it
#### Checkpoint 1: it greets
#### Step 2: Polish it
#### Step 3: Sign it
"""

OPENING = """
claim 1 --session s1 | inbox 1 --ack | step 1 start 1
"""

MIDDLE = """
step 1 done 1 --commit | deviation 1 Low small | checkpoint 1 | review approve 1 | inbox 1 --ack | step 1 start 2
"""


RAW = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.execute(sys.argv[2])
"""


def git(folder: Path, *arguments: str) -> str:
    argv = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class Scene:
    """The repository, and how its task is taken up."""

    folder: Path
    call: Call

    @property
    def tree(self) -> Path:
        return self.folder / ".musician" / "trees" / "greeter" / "task-01"

    @property
    def status(self) -> Path:
        return self.folder / "temp" / "task-01-status"

    @property
    def deviations(self) -> Path:
        return self.folder / "temp" / "task-01-deviations"

    @property
    def handoff(self) -> Path:
        return self.folder / "temp" / "task-01-HANDOFF"

    def rewrite(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            (self.tree / f"{name}.txt").write_text(text)
        git(self.tree, "add", "-A")
        git(self.tree, "commit", "-qm", "by hand")

    def raw(self, statement: str) -> None:
        argv = [
            "python3",
            "-c",
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()",
        ]
        subprocess.run([*argv, str(self.folder / ".musician" / "comms.db"), statement], check=True)

    def take_up(self) -> Any:
        """What the claim says; its mismatches are the remarks of the takeover message."""
        taken = self.call("claim", "1", "--session", "s2", "--json").json
        assert taken["warning"] is None
        return taken

    def mismatches(self, taken: Any) -> str:
        lines = taken["resumption"]["message"].split("\n")
        [line] = [line for line in lines if line.startswith("  Status/comms mismatches: ")]
        return str(line.removeprefix("  Status/comms mismatches: "))


def play(line: str) -> None:
    for words in line.strip().split("|"):
        with redirect_stdout(StringIO()):
            assert run_command(words.split()) == 0, words


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The repository and a copy of it to put back."""
    folder = tmp_path_factory.mktemp("scene") / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "PLAN.md").write_text(PLAN)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin")
    tree = folder / ".musician" / "trees" / "greeter" / "task-01"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("MUSICIAN_", "GIT_"))]:
            patch.delenv(name)
        patch.setenv("MUSICIAN_SESSION", "s1")
        patch.chdir(folder)
        play("init | plan lock PLAN.md" + "|" + OPENING)
        (tree / "greeter.txt").write_text("hello\n")
        play(MIDDLE)
        (tree / "half.txt").write_text("half\n")
        play("exit 1 --reason context --context 70")
        with redirect_stdout(StringIO()):
            assert run_command(["review", "fix", "1", "go on"]) == 0
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept, symlinks=True)
    return folder, kept


@pytest.fixture
def scene(prepared: tuple[Path, Path], call: Call, monkeypatch: pytest.MonkeyPatch) -> Scene:
    folder, kept = prepared
    shutil.rmtree(folder)
    shutil.copytree(kept, folder, symlinks=True)
    monkeypatch.chdir(folder)
    return Scene(folder, call)


def test_what_agrees_is_a_clean_handoff(scene: Scene) -> None:
    taken = scene.take_up()
    assert scene.mismatches(taken) == "0"
    assert taken["resumption"]["assessment"] == "clean handoff"
    assert taken["done"] == ["step 1", "checkpoint 1"]


# -- benign: corrected ----------------------------------------------------------------------------------------------


def test_a_step_that_only_git_has_heard_of_is_written_down(scene: Scene) -> None:
    """D20.5: the session died between the commit and the journal."""
    (scene.tree / "two.txt").write_text("two\n")
    git(scene.tree, "add", "-A")
    message = "task-01, step 2: Polish it\n\nMusician-Task: task-01\nMusician-Item: step 2\n"
    own = ["-c", "user.name=Musician", "-c", "user.email=musician@localhost"]
    subprocess.run(["git", *own, "commit", "-qm", message], cwd=scene.tree, check=True)
    taken = scene.take_up()
    assert "benign: git holds what the journal has not heard of (step 2)" in scene.mismatches(taken)
    assert taken["next_item"] == "step 3"


def test_a_branch_that_was_moved_off_a_finished_step_is_back(scene: Scene) -> None:
    """D20.4: git's own record of a step stands against what somebody did to the branch."""
    git(scene.tree, "reset", "-q", "--hard", "HEAD~1")
    taken = scene.take_up()
    assert "benign: the branch was moved off a finished step, and is back" in scene.mismatches(taken)
    assert (scene.tree / "greeter.txt").exists()
    assert taken["done"] == ["step 1", "checkpoint 1"]


def test_files_that_were_cleared_are_written_anew_from_the_database(scene: Scene) -> None:
    """D20.4: the files in temp/ count for less than the database, and are corrected by it."""
    before = scene.status.read_text()
    scene.status.unlink()
    scene.deviations.unlink()
    found = scene.mismatches(scene.take_up())
    assert "benign: the status file lacks lines of the journal" in found
    assert "benign: the deviations file is gone" in found
    assert set(before.splitlines()) <= set(scene.status.read_text().splitlines())
    assert scene.deviations.read_text() == "small [Low]\n"


def test_a_handoff_that_lacks_one_step_does_not_undo_it(scene: Scene) -> None:
    """D20.4: what git and the database say beats what a file says."""
    scene.rewrite(scene.handoff, "- step 1 ✅\n", "")
    taken = scene.take_up()
    assert "benign: the HANDOFF lacks one step or one checkpoint (step 1)" in scene.mismatches(taken)
    assert taken["done"] == ["step 1", "checkpoint 1"]


def test_a_checkpoint_that_only_a_file_calls_approved_is_not(scene: Scene) -> None:
    """D20.4: an approval is a verdict in the database, whatever a file tells."""
    scene.rewrite(scene.status, "checkpoint 1 approved\n", "checkpoint 1 approved\ncheckpoint 2 approved\n")
    taken = scene.take_up()
    assert "benign: one more checkpoint is said to be approved than is" in scene.mismatches(taken)
    assert taken["done"] == ["step 1", "checkpoint 1"]


# -- suspicious: a verification decides -------------------------------------------------------------------------------


def tell_step_2_done(scene: Scene) -> None:
    scene.rewrite(scene.handoff, "- step 1 ✅\n", "- step 1 ✅\n- step 2 ✅\n")
    scene.rewrite(scene.handoff, "- step 2 (Polish it)\n", "")


def test_a_step_told_done_is_done_if_its_work_is_there_and_its_tests_pass(scene: Scene) -> None:
    """D20.5: done; the log is corrected, and what was found is a Low deviation in the file."""
    tell_step_2_done(scene)
    scene.commit(two="polished\n")
    taken = scene.take_up()
    assert "suspicious, found done: steps are said to be done that nobody wrote down" in scene.mismatches(
        taken
    )
    assert taken["next_item"] == "step 3"
    assert "step 2 found completed: by its verification" in scene.status.read_text()
    assert "HANDOFF: step 2) [Low]" in scene.deviations.read_text()


def test_a_step_told_done_whose_tests_fail_is_partly_done(scene: Scene) -> None:
    """D20.5: partly; it is played again."""
    tell_step_2_done(scene)
    scene.commit(broken="oh\n")
    taken = scene.take_up()
    assert "suspicious, found partly: steps are said to be done" in scene.mismatches(taken)
    assert taken["next_item"] == "step 2"


def test_a_step_told_done_that_was_only_begun_is_partly_done(scene: Scene) -> None:
    """D20.5: the tests pass without it, and prove nothing: its work was set aside unfinished."""
    tell_step_2_done(scene)
    taken = scene.take_up()
    assert "suspicious, found partly: steps are said to be done" in scene.mismatches(taken)
    assert taken["next_item"] == "step 2"


def test_a_step_told_done_that_left_no_trace_is_not_done_at_all(scene: Scene) -> None:
    """D20.5: not at all; passing tests do not make it done."""
    tell_step_2_done(scene)
    for ref in git(scene.folder, "for-each-ref", "--format=%(refname)", "refs/musician").splitlines():
        git(scene.folder, "update-ref", "-d", ref)
    taken = scene.take_up()
    assert "suspicious, found not at all: steps are said to be done" in scene.mismatches(taken)
    assert taken["next_item"] == "step 2"


def test_what_was_decided_once_is_not_found_again_by_the_next_session(scene: Scene) -> None:
    """D20.5: the log is corrected where a step is not done, too; else each successor adds a deviation."""
    with scene.status.open("a") as file:
        file.write("step 3 completed [ctx: 70%]\n")
    taken = scene.take_up()
    assert "(status file: step 3)" in scene.mismatches(taken)
    assert "step 3 undone: found partly done\n" in scene.status.read_text()
    scene.call("exit", "1", "--session", "s2", "--reason", "context")
    scene.call("handoff", "1")
    again = scene.call("claim", "1", "--session", "s3", "--json").json
    assert scene.mismatches(again) == "0"
    assert again["next_item"] == "step 2"


def lose_step_1(scene: Scene) -> None:
    """As if the branch had been cut back and git had tidied up; the tree begins where the task began."""
    git(scene.tree, "reset", "-q", "--hard", "HEAD~1")
    for ref in git(scene.folder, "for-each-ref", "--format=%(refname)", "refs/musician").splitlines():
        git(scene.folder, "update-ref", "-d", ref)
    git(scene.folder, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    (scene.folder / ".git" / "worktrees" / "task-01" / "ORIG_HEAD").unlink(missing_ok=True)
    git(scene.folder, "gc", "-q", "--prune=now")


def test_a_finished_step_whose_commit_is_gone_is_played_again_with_what_it_was_approved_for(
    scene: Scene,
) -> None:
    """D20.5: not at all; the journal is corrected, and what judged that work has judged nothing."""
    lose_step_1(scene)
    taken = scene.take_up()
    assert "suspicious, found not at all: a finished step's commit is gone (step 1)" in scene.mismatches(
        taken
    )
    assert (taken["done"], taken["next_item"]) == ([], "step 1")
    assert "step 1 undone: its commit is gone" in scene.status.read_text()
    again = scene.call("claim", "1", "--session", "s2", "--json").json
    assert again["next_item"] == "step 1"


def test_a_finished_step_whose_history_was_written_anew_stays_done(scene: Scene) -> None:
    """D20.5: its commit has another id now, its work is there, and its tests pass."""
    lose_step_1(scene)
    scene.commit(greeter="hello\n")
    taken = scene.take_up()
    assert "suspicious, found done: a finished step's commit is gone (step 1)" in scene.mismatches(taken)
    assert taken["done"] == ["step 1", "checkpoint 1"]


def test_a_tree_that_is_not_as_it_was_left_is_decided_by_the_tests(scene: Scene) -> None:
    scene.commit(more="more\n")
    taken = scene.take_up()
    assert "suspicious, found done: the tree is not as the HANDOFF left it" in scene.mismatches(taken)
    assert taken["question"] is None


def test_another_current_step_is_decided_by_the_tests(scene: Scene) -> None:
    scene.rewrite(scene.handoff, "- step 2 (Polish it)\n", "")
    taken = scene.take_up()
    assert "another step is said to be the current one (HANDOFF: step 3, not step 2)" in scene.mismatches(
        taken
    )
    assert taken["next_item"] == "step 2"


def test_a_handoff_that_lacks_several_steps_is_decided_by_the_tests(scene: Scene) -> None:
    scene.rewrite(scene.handoff, "- step 1 ✅\n- checkpoint 1 ✅\n", "")
    taken = scene.take_up()
    assert "suspicious, found done: several steps or checkpoints differ" in scene.mismatches(taken)
    assert taken["done"] == ["step 1", "checkpoint 1"]


def test_a_deviation_that_only_the_file_tells_counts_all_the_same(scene: Scene) -> None:
    """D20.5: who wrote it into the file has told it; the database hears of it now."""
    with scene.deviations.open("a") as file:
        file.write("checkpoint 1: took another library [High]\n")
    taken = scene.take_up()
    assert "another number of deviations is given (deviations file: 2, database: 1)" in scene.mismatches(
        taken
    )
    assert "Deviations found: 3 (High — 1 High, 2 Low)" in taken["resumption"]["message"]


# -- contradictory: the conductor is asked ----------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_cannot_be_meant_is_the_conductor_s_to_answer_first(scene: Scene, number: int) -> None:
    """D20.5: nothing is begun before the answer."""
    told = {
        1: "the task is said to be complete",
        2: "said to have passed, and the session ended in an error",
        3: "after now",
    }
    match number:
        case 1:
            with scene.status.open("a") as file:
                file.write("task complete [ctx: 40%]\n")
        case 2:
            scene.call("claim", "1", "--session", "s1b")
            scene.call("error", "1", "it fails", "--session", "s1b")
            scene.call("exit", "1", "--session", "s1b")
            scene.call("review", "fix", "1", "go on")
            with scene.status.open("a") as file:
                file.write("checkpoint 1 verification: All passing\n")
        case _:
            scene.raw(
                "INSERT INTO orchestration_messages (task_id, from_session, message_type, message, timestamp)"
                " VALUES ('task-01', 'task-00', 'note', 'later', datetime('now', '+1 day'))"
            )
    taken = scene.take_up()
    assert "contradictory: " in scene.mismatches(taken)
    assert told[number] in taken["question"]
    assert taken["resumption"]["assessment"] == "needs guidance"
    assert "not answered" in scene.call("step", "1", "start", "2", "--session", "s2", expect=4).err
