"""The demo's project and plan, without the conductor: every script in order leaves the tests green."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from musician.agents.tags import LineReader
from musician.demo.story import prepare
from musician.plans.model import Plan, Step, TaskSpec
from musician.plans.plan import load_plan
from musician.protocol.errors import BadField
from musician.protocol.musician.inputs import ContextTold, DeviationTold, SelfCorrectionTold
from musician.protocol.settings import Settings
from musician.testing.waiting import HANG_S
from musician.verification.select import commands_for

CONTEXT = Settings().context


@dataclass
class Stand:
    """A copy of the project in which scripts are run as the shell agent runs them."""

    plan: Plan
    tree: Path
    scratch: Path
    env: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.env = {
            **os.environ,
            "MUSICIAN_PYTHON": sys.executable,
            "MUSICIAN_SCRATCH": str(self.scratch),
            "MUSICIAN_FEEDBACK": "1. read the tariff",
        }

    def play(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-eu", "-c", script], cwd=self.tree, env=self.env, capture_output=True, encoding="utf-8"
        )

    def play_steps(self, task: TaskSpec, *, rework: bool = False) -> None:
        for step in task.steps:
            pieces = (*step.run, *(script for agent in step.agents for script in agent.run))
            for script in (*pieces, *(step.rework if rework else ())):
                ran = self.play(script)
                assert ran.returncode == 0, (step.title, ran.stderr)

    def verify(self, task: TaskSpec) -> list[int]:
        return [self.play(command).returncode for command in commands_for(task, len(task.checkpoints))]


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    path = prepare(tmp_path / "post")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    plan = load_plan(path, root=path.parent)
    return Stand(plan, path.parent, scratch)


def _git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, encoding="utf-8")
    return ran.stdout


def _events(script: str) -> list[object]:
    """What a script tells, read from its ``echo`` lines."""
    reader = LineReader()
    said = [
        line.strip().removeprefix('echo "').removesuffix('"') for line in script.splitlines() if "::" in line
    ]
    return [line.event for line in reader.feed("".join(f"{line}\n" for line in said).encode())]


def test_the_plan_has_two_phases_and_four_tasks(stand: Stand) -> None:
    assert [[task.task_id for task in phase.tasks] for phase in stand.plan.phases] == [
        ["task-01", "task-02", "task-03"],
        ["task-04"],
    ]
    assert {task.agent for task in stand.plan.tasks} == {"shell"}


def test_tasks_of_one_phase_touch_different_files(stand: Stand) -> None:
    touched = [file for task in stand.plan.phases[0].tasks for file in task.files]
    assert len(touched) == len(set(touched)) == 3


def test_the_repository_is_fresh_clean_and_on_main(stand: Stand) -> None:
    assert _git(stand.tree, "status", "--porcelain", "--ignored") == ""
    assert _git(stand.tree, "symbolic-ref", "--short", "HEAD").strip() == "main"
    assert len(_git(stand.tree, "log", "--format=%H").split()) == 1
    assert "PLAN.md" in _git(stand.tree, "ls-files").split()
    assert _git(stand.tree, "config", "--local", "user.email").strip().endswith(".invalid")


def test_the_users_git_configuration_stays_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignore = tmp_path / "ignore"
    ignore.write_text("*.md\n")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[core]\n\texcludesFile = {ignore}\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    plan = prepare(tmp_path / "post")

    assert "README.md" in _git(plan.parent, "ls-files").split()


def test_an_empty_folder_may_be_given_but_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert prepare(tmp_path / "empty").is_file()
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    with pytest.raises(BadField, match="new or an empty"):
        prepare(full)
    assert [path.name for path in full.iterdir()] == ["mine.txt"]
    with pytest.raises(BadField, match="no folder"):
        prepare(full / "mine.txt")


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadField, match="--keep"):
        prepare(tmp_path / "file" / "below")


def test_the_tests_of_the_project_fail_at_the_start(stand: Stand) -> None:
    test = stand.plan.task("task-04").test
    assert test is not None
    ran = stand.play(test)
    assert ran.returncode == 1
    assert "Ran 20 tests" in ran.stderr
    assert "FAILED (failures=2, errors=18)" in ran.stderr


def test_every_script_in_order_makes_the_tests_green(stand: Stand) -> None:
    (stand.scratch / "struck").touch()  # the lightning has been
    for task in stand.plan.tasks:
        stand.play_steps(task, rework=True)
        assert set(stand.verify(task)) == {0}, task.task_id
    test = stand.plan.task("task-04").test
    assert test is not None
    assert stand.play(test).returncode == 0
    sent = stand.play('"$MUSICIAN_PYTHON" -X utf8 -m pigeonpost "Zoë Brandt" Saint-Élan 12')
    assert "SAINT-ÉLAN" in sent.stdout
    assert "stamp 1.01, arrives in 25 minutes" in sent.stdout


def test_each_task_of_the_first_phase_is_green_without_its_siblings(stand: Stand, tmp_path: Path) -> None:
    (stand.scratch / "struck").touch()
    for task in stand.plan.phases[0].tasks:
        tree = tmp_path / task.task_id
        shutil.copytree(stand.tree, tree)
        alone = Stand(stand.plan, tree, stand.scratch)
        alone.play_steps(task)
        assert set(alone.verify(task)) == {0}, task.task_id


def test_the_lightning_strikes_once_and_leaves_half_a_function(stand: Stand) -> None:
    task = stand.plan.task("task-01")
    (script,) = task.steps[1].run
    victim = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    stand.env["MUSICIAN_PID"] = str(victim.pid)
    # What kills the musician kills the script too; here the script ends instead of waiting for that.
    struck = stand.play(script.replace("sleep 60", "exit 9"))

    assert (struck.returncode, victim.wait(timeout=HANG_S)) == (9, -9)
    assert victim.stdin is not None
    victim.stdin.close()
    module = stand.tree / "pigeonpost" / "routes.py"
    with pytest.raises(SyntaxError):
        compile(module.read_text(encoding="utf-8"), module.name, "exec")
    _git(stand.tree, "checkout", "--", "pigeonpost")  # as the successor's restored tree
    assert stand.play(script).returncode == 0
    compile(module.read_text(encoding="utf-8"), module.name, "exec")


def test_a_half_written_step_that_is_not_restored_cannot_pass(stand: Stand) -> None:
    task = stand.plan.task("task-01")
    (script,) = task.steps[1].run
    half, _, _ = script.partition("if [ !")
    (stand.scratch / "struck").touch()
    assert stand.play(half).returncode == 0
    stand.play_steps(task)
    assert set(stand.verify(task)) == {1}


def test_only_the_short_cut_in_the_postage_is_a_deviation_and_the_rework_changes_the_tree(
    stand: Stand,
) -> None:
    told = {
        task.task_id: [event for step in task.steps for script in step.run for event in _events(script)]
        for task in stand.plan.tasks
    }
    deviations = {
        task_id: [event for event in events if isinstance(event, DeviationTold)]
        for task_id, events in told.items()
    }
    assert [event.severity for event in deviations.pop("task-02")] == ["Medium"]
    assert not any(deviations.values())

    task = stand.plan.task("task-02")
    stand.play_steps(task)
    before = (stand.tree / "pigeonpost" / "postage.py").read_text(encoding="utf-8")
    (rework,) = task.steps[0].rework
    ran = stand.play(rework)
    after = (stand.tree / "pigeonpost" / "postage.py").read_text(encoding="utf-8")
    assert "read the tariff" in ran.stdout
    assert "(10, 40, 2)" in before
    assert "(10, 40, 2)" not in after
    assert set(stand.verify(task)) == {0}


def test_only_the_labels_run_into_the_handoff_and_nothing_reaches_the_exit(stand: Stand) -> None:
    readings: dict[str, list[float]] = {}
    for task in stand.plan.tasks:
        for step in task.steps:
            pieces = (*step.run, *step.rework, *(script for agent in step.agents for script in agent.run))
            for event in (event for script in pieces for event in _events(script)):
                if isinstance(event, ContextTold) and event.used_pct is not None:
                    readings.setdefault(step.title, []).append(event.used_pct)
    high = {title: used for title, used in readings.items() if max(used) >= CONTEXT.economy_from_pct}
    assert high == {"Fit it into a line": [67.0]}
    assert CONTEXT.handoff_from_pct <= 67.0 < CONTEXT.exit_from_pct
    assert len(readings) == sum(len(task.steps) for task in stand.plan.tasks)


def test_the_desk_has_a_subagents_piece_and_a_self_correction_in_its_last_step(stand: Stand) -> None:
    task = stand.plan.task("task-04")
    *earlier, last = task.steps
    assert any(step.agents for step in task.steps)
    assert isinstance(task.items[1], type(task.checkpoints[0]))
    corrections = [event for event in _events(last.run[0]) if isinstance(event, SelfCorrectionTold)]
    assert len(corrections) == 1
    assert isinstance(last, Step)
    assert not any(
        isinstance(event, SelfCorrectionTold) for step in earlier for event in _events(step.run[0])
    )
