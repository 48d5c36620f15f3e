"""A run for programs: events as lines, exit codes, and the workflow that docs/CI.md shows."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from musician.plans.markdown import Fence, read_document
from tests.surroundings import Call, begin, git

GUIDE = (Path(__file__).parents[2] / "docs" / "CI.md").read_text(encoding="utf-8")
PLAN = """\
---
plan: greeter
test: python3 -m unittest -q
---
# Greet people

## Phase 1: Foundations
### task-01: Make it — ✓
#### Step 1: Make it
```bash run
touch made
```
#### Checkpoint 1: it is there
- test: `test -e made`
"""
TEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_t(self): self.assertTrue(__file__)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = begin(tmp_path / "a b", {"PLAN.md": PLAN, "test_old.py": TEST})
    monkeypatch.chdir(found)
    return found


def test_each_event_is_an_object_on_a_line_and_the_end_is_the_last(folder: Path, program: Call) -> None:
    program("init")
    done = program("run", "PLAN.md", "--events")
    assert (done.code, done.err) == (0, "")
    *news, end = [json.loads(line) for line in done.out.splitlines()]
    assert {each["event"] for each in news} == {"news"}
    assert [(each["task_id"], each["state"]) for each in news][:: len(news) - 1] == [
        ("task-01", "watching"),
        ("task-01", "complete"),
    ]
    assert set(news[0]) == {"event", "at", "task_id", "state", "text", "needs_person"}
    assert (end["event"], end["ending"], end["branch"]["move"]) == ("end", "complete", "moved")
    named = [line.split("|")[1] for line in GUIDE.splitlines() if line.startswith("| `")]
    assert {key for cell in named for key in re.findall(r"`(\w+)`", cell)} == set(end) - {"event"}
    assert "—" in news[0]["text"]


def _workflow() -> dict[Any, Any]:
    (text,) = [
        fence.content
        for fence in read_document(GUIDE).blocks
        if isinstance(fence, Fence) and fence.words == ("yaml",)
    ]
    found: dict[Any, Any] = yaml.safe_load(text)
    return found


@pytest.mark.deep
def test_the_steps_of_the_workflow_play_a_plan_as_they_are_written(folder: Path, shell: Call) -> None:
    """All but those that need the forge's own surroundings: the checkout, Python, the installation."""
    far = folder.parent / "far.git"
    git(folder.parent, "init", "-q", "--bare", str(far))
    git(folder, "remote", "add", "origin", str(far))
    (job,) = _workflow()["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "pip install" not in step.get("run", "pip install")]
    summary = folder.parent / "shown.md"
    for step in steps:
        line = re.sub(r"\bmusician (?=init|plan|run)", "$MUSICIAN ", step)
        done = shell(f"set -eo pipefail; {line}", PLAN="PLAN.md", GITHUB_STEP_SUMMARY=str(summary))
        assert done.code == 0, (step, done.err)
    assert "greeter is complete" in summary.read_text(encoding="utf-8")
    pushed = git(far, "for-each-ref", "--format=%(refname:short)").split()
    assert "musician/greeter/_integration" in pushed


def test_the_guide_names_every_exit_code_of_a_run() -> None:
    from musician.cli.run import EXIT_CODES

    for code in {*EXIT_CODES.values(), 2}:
        assert f"| {code} |" in GUIDE


def test_what_needs_a_person_ends_with_one_and_the_last_line_says_what(folder: Path, program: Call) -> None:
    plan = folder / "PLAN.md"
    plan.write_text(plan.read_text().replace("---\n# Greet", "review: human\n---\n# Greet"))
    git(folder, "commit", "-qam", "human")
    program("init")
    done = program("run", "PLAN.md", "--events", env=dict(os.environ))
    assert done.code == 1
    *news, end = [json.loads(line) for line in done.out.splitlines()]
    assert any(each["needs_person"] for each in news)
    assert end["needs_human"][0]["commands"][1] == "musician review approve task-01"
