"""What docs/PLANS.md shows is a plan that can be read, and docs/PLAN_REFERENCE.md lists every key."""

import re
import subprocess
from pathlib import Path

import pytest

from musician.plans.keys import _AGENT_CHECKS, _FILE_CHECKS, _PLAN_CHECKS, _TASK_CHECKS
from musician.plans.markdown import Fence, read_document
from musician.plans.plan import parse_plan
from musician.testing.waiting import HANG_S

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "PLANS.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "PLAN_REFERENCE.md").read_text(encoding="utf-8")
FILES = {
    block.words[1]: block.content
    for block in read_document(GUIDE).blocks
    if isinstance(block, Fence) and block.words[:1] == ("markdown",) and len(block.words) == 2
}


def test_the_example_is_a_whole_plan() -> None:
    plan = parse_plan(FILES["PLAN.md"], path="PLAN.md", read_file=FILES.get)
    assert [(task.task_id, len(task.steps), len(task.checkpoints)) for task in plan.tasks] == [
        ("task-01", 2, 1),
        ("task-02", 1, 1),
        ("task-03", 1, 1),
    ]
    assert plan.task("task-01").steps[1].agents[0].title == "Document it"
    assert plan.task("task-02").checkpoints[0].tests == ("python3 -c 'import farewell'",)


def test_the_scripts_of_the_example_do_what_they_say(tmp_path: Path) -> None:
    plan = parse_plan(FILES["PLAN.md"], path="PLAN.md", read_file=FILES.get)
    for task in plan.tasks:
        scripts = [
            script for step in task.steps for script in (*step.run, *(s for a in step.agents for s in a.run))
        ]
        tests = [test for checkpoint in task.checkpoints for test in checkpoint.tests]
        for script in (*scripts, *tests, task.test or ""):
            subprocess.run(
                ["bash", "-eu", "-c", script], cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S
            )
    said = subprocess.run(
        ["python3", "main.py"], cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S
    )
    assert said.stdout == b"Hello, you! Goodbye, you!\n"


@pytest.mark.parametrize("key", sorted(_PLAN_CHECKS | _TASK_CHECKS | _FILE_CHECKS | _AGENT_CHECKS))
def test_every_key_is_in_the_reference(key: str) -> None:
    assert re.search(rf"^\| `{key}` \|", REFERENCE, re.MULTILINE) or f"`{key}:`" in REFERENCE


def test_no_key_is_in_the_reference_that_a_plan_does_not_take() -> None:
    tables = REFERENCE[REFERENCE.index("## The keys of a plan") : REFERENCE.index("## Scripts that")]
    listed = re.findall(r"^\| `([\w-]+)` \|", tables, re.MULTILINE)
    assert set(listed) <= set(_PLAN_CHECKS | _TASK_CHECKS | _AGENT_CHECKS)
    assert [key for key in set(listed) - {"files"} if listed.count(key) > 1] == [], (
        "a task's and a piece's files"
    )
