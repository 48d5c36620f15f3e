"""Who reviews is told where the work is, what it changed, and the commands that show it and answer it (AUDIT-N3)."""

import shlex
import subprocess
from pathlib import Path

from tests.surroundings import Call, git


def tree_of(folder: Path) -> Path:
    return folder / ".musician" / "trees" / "greeter" / "task-01"


def submit(folder: Path, call: Call) -> None:
    (tree_of(folder) / "greeter.py").write_text("def greet(name): return name\n")
    call("step", "1", "start", "1")
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")


def test_a_review_says_where_the_work_is_and_how_to_see_it(claimed: Path, call: Call) -> None:
    """AUDIT-N3"""
    submit(claimed, call)
    shown = call("review", "show", "1").out.splitlines()
    assert f"its work: branch musician/greeter/task-01, tree {tree_of(claimed)}" in shown
    assert "  greeter.py (+1 -0)" in shown
    (command,) = (line.removeprefix("look at it: ") for line in shown if line.startswith("look at it: "))
    diff = subprocess.run(shlex.split(command), cwd=claimed, capture_output=True, text=True, check=True)
    assert "+def greet(name): return name" in diff.stdout
    assert shown[-1] == "answer it: musician review approve task-01 | reject task-01 TEXT | fix task-01 TEXT"


def test_the_work_is_in_the_document_too(claimed: Path, call: Call) -> None:
    """AUDIT-N3"""
    submit(claimed, call)
    work = call("review", "show", "1", "--json").json["work"]
    assert work["commit"] == git(claimed, "rev-parse", "musician/greeter/task-01").strip()
    assert work["files"] == [{"path": "greeter.py", "added": 1, "removed": 0}]


def test_what_was_never_begun_has_no_work_to_look_at(claimed: Path, call: Call) -> None:
    assert call("review", "show", "2", "--json").json["work"] is None
    assert "its work" not in call("review", "show", "2").out
