"""README.md is true: its example plan is played as it says, Ctrl-C included, and what it names is there."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from musician.cli.main import COMMANDS
from musician.plans.markdown import Fence, read_document
from musician.plans.plan import parse_plan
from musician.reporting.asks import ANSWERS
from musician.testing.waiting import HANG_S

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TROUBLES = (ROOT / "docs" / "TROUBLESHOOTING.md").read_text(encoding="utf-8")
FENCES = [block for block in read_document(README).blocks if isinstance(block, Fence)]
(PLAN,) = (fence.content for fence in FENCES if fence.words == ("markdown", "PLAN.md"))
TYPED = [
    line.removeprefix("$ ")
    for fence in FENCES
    if fence.words == ("console",)
    for line in fence.content.splitlines()
    if line.startswith("$ ")
]


def _musician(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "musician", *arguments],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
    )


def _environment() -> dict[str, str]:
    """A newcomer's: nothing of ours in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MUSICIAN_")}


def _git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, encoding="utf-8")
    return ran.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A user's own repository with one commit and the example plan committed."""
    folder = tmp_path / "my dice"
    folder.mkdir()
    _git(folder, "init", "--quiet")
    _git(folder, "config", "user.name", "A User")
    _git(folder, "config", "user.email", "user@example.invalid")
    (folder / "README.md").write_text("Dice.\n")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "-m", "Begin")
    assert _musician(folder, "init").returncode == 0
    (folder / "PLAN.md").write_text(PLAN, encoding="utf-8")
    return folder


def test_the_example_has_three_tasks_in_two_phases() -> None:
    plan = parse_plan(PLAN, path="PLAN.md", read_file=lambda _: None)
    assert [len(phase.tasks) for phase in plan.phases] == [2, 1]


def test_the_commands_are_the_ones_that_are_shown() -> None:
    own = [line for line in TYPED if line.startswith("musician ")]
    assert own == [
        "musician init",
        "musician plan new FIRST.md",
        "musician plan check PLAN.md",
        "musician plan graph PLAN.md",
        "musician run PLAN.md",
        "musician run PLAN.md",
    ]


def test_the_example_is_played_as_the_readme_says(repository: Path) -> None:
    checked = _musician(repository, "plan", "check", "PLAN.md")
    assert checked.returncode == 0, checked.stderr
    _git(repository, "add", "PLAN.md")
    _git(repository, "commit", "--quiet", "-m", "A plan")

    code, told = _run_and_interrupt(repository)
    assert code == 130, told
    again = _musician(repository, "run", "PLAN.md")
    assert again.returncode == 0, again.stdout + again.stderr

    rolled = subprocess.run(
        [sys.executable, "main.py", "3d6"], cwd=repository, capture_output=True, encoding="utf-8"
    )
    assert re.fullmatch(r"\d \+ \d \+ \d = \d+\n", rolled.stdout)
    subjects = _git(repository, "log", "--format=%s").splitlines()
    steps = [subject for subject in subjects if re.match(r"task-\d+, step", subject)]
    assert len(steps) == len(set(steps)) == 4
    assert _musician(repository, "status").returncode == 0


RED = (
    "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.fail('red')\n"
)
FOREIGN = "import a_runner_that_is_not_there\n\n\ndef test_it():\n    assert True\n"
THEIRS = {
    "nothing": {},
    "a red test": {"test_old.py": RED, "src/thing.py": "x = 1\n"},
    "red tests in a package, one of another runner": {
        "tests/__init__.py": "",
        "tests/test_old.py": RED,
        "tests/test_foreign.py": FOREIGN,
        "conftest.py": "import a_runner_that_is_not_there\n",
        "setup.cfg": "[tool:pytest]\naddopts = -x\n",
    },
    "tests that pass": {"test_old.py": RED.replace("self.fail('red')", "pass")},
    "no Python": {"Makefile": "test:\n\tfalse\n", "src/main.c": "int main(void) { return 0; }\n"},
}
"""What a newcomer's repository may hold; "nothing" is one without a commit."""


@pytest.mark.deep
@pytest.mark.parametrize("theirs", THEIRS.values(), ids=THEIRS)
def test_the_example_plays_in_the_repository_of_whoever_follows_the_readme(
    theirs: dict[str, str], tmp_path: Path
) -> None:
    """AUDIT-N1: every line that is typed, in its order, and nothing besides."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    _git(folder, "init", "--quiet")
    _git(folder, "config", "user.name", "A User")
    _git(folder, "config", "user.email", "user@example.invalid")
    for name, text in theirs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if theirs:
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "-m", "Theirs")
    (folder / "PLAN.md").write_text(PLAN, encoding="utf-8")
    program = tmp_path / "bin" / "musician"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m musician "$@"\n')
    program.chmod(0o755)
    env = {**_environment(), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    for line in _typed_in_their_repository():
        played = subprocess.run(
            ["bash", "-eu", "-c", line],
            cwd=folder,
            env=env,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_S,
        )
        assert played.returncode == 0, (line, played.stdout + played.stderr)
        if line == "musician run PLAN.md":
            break
    assert {"main.py", *theirs} <= set(_git(folder, "ls-files").split())
    assert ("Still failing, as before the plan" in played.stdout) is (RED in theirs.values())


def _typed_in_their_repository() -> list[str]:
    """From `musician init` on; before it stands how to get the program."""
    return TYPED[TYPED.index("musician init") :]


def _run_and_interrupt(repository: Path) -> tuple[int, str]:
    """Start the plan, interrupt it once a step is committed and another is being played; how it ended."""
    running = subprocess.Popen(
        [sys.executable, "-m", "musician", "run", "PLAN.md"],
        cwd=repository,
        env=_environment(),
        stdout=subprocess.PIPE,  # a few lines
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    deadline_s = time.monotonic() + HANG_S
    while running.poll() is None and time.monotonic() < deadline_s:
        branch = subprocess.run(
            ["git", "-C", repository, "log", "--format=%s", "musician/dice/task-01"],
            capture_output=True,
            encoding="utf-8",
        )
        if "step 1" in branch.stdout:
            break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    told, _ = running.communicate(timeout=HANG_S)
    return running.returncode, told


@pytest.mark.deep
def test_a_complete_task_is_kept_from_raw_sql_with_the_words_that_are_shown(repository: Path) -> None:
    _git(repository, "add", "PLAN.md")
    _git(repository, "commit", "--quiet", "-m", "A plan")
    assert _musician(repository, "run", "PLAN.md").returncode == 0
    (sql,) = (line.split('"')[1] for line in TYPED if line.startswith("sqlite3 "))
    shown = re.search(r"^Error: stepping, (.*) \(19\)$", README, re.MULTILINE)
    assert shown is not None
    connection = sqlite3.connect(repository / ".musician" / "comms.db")
    try:
        with pytest.raises(sqlite3.IntegrityError) as refused:
            connection.execute(sql)
    finally:
        connection.close()
    assert str(refused.value) == shown[1]


@pytest.mark.parametrize("text", [README, TROUBLES], ids=["README", "TROUBLESHOOTING"])
def test_every_command_that_is_named_exists(text: str) -> None:
    named = {match[1] for match in re.finditer(r"(?:`|\$ |bin/)musician ([a-z-]+)", text)}
    assert named
    assert named <= set(COMMANDS)


def test_every_document_that_is_linked_exists() -> None:
    linked = set(re.findall(r"\]\((docs/[^)#]+)\)", README))
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md")}
    assert {name for name in linked if name.endswith(".md")} == pages
    assert {name for name in linked if not (ROOT / name).is_file()} == set()


def test_every_kind_of_decision_that_waits_for_a_person_is_explained() -> None:
    explained = set(re.findall(r"^\| (\w+) \|", TROUBLES, re.MULTILINE)) - {"kind"}
    assert explained == set(ANSWERS)
