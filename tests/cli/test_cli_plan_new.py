"""``plan new`` drafts a plan for a project, and what it says of the tests in a fresh tree is so."""

import os
import re
import sys
from pathlib import Path

import pytest

from musician.processes.sandbox import why_no_sandbox
from tests.needs import need
from tests.surroundings import Call, begin, git

NEEDS_ENV = 'def test_it():\n    assert open(".env").read()\n'
NEEDS_MODULE = "import unittest\nimport at_home_only\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose tests pass at home only: they read an ignored file."""
    folder = begin(tmp_path / "Räder (2)", {"test_it.py": NEEDS_ENV, ".gitignore": ".env\n.venv/\n"})
    (folder / ".env").write_text("KEY=1\r\n")
    monkeypatch.chdir(folder)
    # `python3` of a plan is the tests' own, which has pytest.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    return folder


def test_the_draft_is_tried_where_a_task_would_be_played(project: Path, call: Call) -> None:
    """D33.2."""
    call("init")
    found = call("plan", "new", "--json").json
    assert (found["plan"], found["test"], found["copy"]) == ("r-der-2", "python3 -m pytest -q", [".env"])
    assert [(trial["runs"], trial["why"]) for trial in found["trials"]] == [(True, "")]
    assert call("plan", "check", "PLAN.md", "--json").json["valid"]
    assert git(project, "worktree", "list").count("\n") == 1
    assert git(project, "status", "--short", "--", ":!docs") == "?? PLAN.md\n"


@pytest.mark.parametrize(("ignored", "is_told"), [("node_modules/", False), ("other/", True)])
def test_what_git_ignores_is_known_before_it_is_there(
    project: Path, call: Call, ignored: str, is_told: bool
) -> None:
    """In a fresh clone nothing is installed yet, and the draft asked for a line that .gitignore had."""
    (project / "package.json").write_text(
        '{"scripts": {"test": "node --test"}, "devDependencies": {"c8": "1"}}'
    )
    (project / ".gitignore").write_text(ignored)
    git(project, "rm", "-q", "test_it.py")
    git(project, "add", "package.json")
    call("init")
    notes = call("plan", "new", "--no-try", "--json").json["notes"]
    assert any("add `node_modules/` to .gitignore" in note for note in notes) == is_told


def test_why_the_tests_fail_in_a_fresh_tree_is_told(project: Path, call: Call) -> None:
    """D33.3."""
    call("init")
    call("plan", "new", "--no-try")
    plan = project / "PLAN.md"
    plan.write_text(plan.read_text().replace("copy: [.env]\n", ""))
    told = call("plan", "check", "--try", "PLAN.md").out
    assert "fails: 1 test: test_it::test_it" in told
    assert "`copy: [.env]`" in told


def test_a_draft_for_a_model_has_a_sandbox_and_what_does_not_pass_in_it_is_told(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """D36.4: the default of new plans; a plan that says nothing has none, for its tests may need more."""
    need("bwrap")
    if why_no_sandbox():
        pytest.skip(f"this machine lets nobody: {why_no_sandbox()}")  # nothing to install
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text("#!/bin/sh\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")
    cache = Path.home() / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    (project / "test_it.py").write_text(f"def test_it():\n    open({str(cache / 'x')!r}, 'w').close()\n")
    git(project, "commit", "-qam", "cached")
    call("init")
    told = call("plan", "new").out
    assert f"the sandbox lets {cache}/x be read only: `sandbox-write`" in told
    plan = project / "PLAN.md"
    assert "agent: claude\nsandbox: auto" in plan.read_text()
    for key in (f"sandbox: auto\nsandbox-write: [{cache}]", "sandbox: off"):
        plan.write_text(re.sub(r"(?m)^sandbox: .*", key, plan.read_text(), count=1))
        (trial,) = call("plan", "check", "--try", "PLAN.md", "--json").json["trials"]
        assert (trial["runs"], trial["why"]) == (True, "")
        plan.write_text(re.sub(r"(?m)^sandbox-write: .*\n", "", plan.read_text()))


def test_what_a_tree_is_given_counts_when_it_is_tried_again(project: Path, call: Call) -> None:
    """D33.3: the commit is the same, and how the tests ended without the file says nothing of the tree that has it."""
    call("init")
    call("plan", "new")
    plan = project / "PLAN.md"
    plan.write_text(plan.read_text().replace("copy: [.env]\n", ""))
    (trial,) = call("plan", "check", "--try", "PLAN.md", "--json").json["trials"]
    assert trial["failed"] == ["test_it::test_it"]


def test_a_command_that_tests_nothing_ends_with_one(project: Path, call: Call) -> None:
    call("init")
    call("plan", "new", "--no-try")
    plan = project / "PLAN.md"
    plan.write_text(plan.read_text().replace("test: python3 -m pytest -q", "test: no-such-runner"))
    told = call("plan", "check", "--try", "PLAN.md", expect=1).out
    assert "tests nothing" in told
    assert "no-such-runner is not found there" in told
    assert "no problem" not in told


def test_what_setup_and_tests_leave_for_a_commit_is_told(project: Path, call: Call) -> None:
    call("init")
    call("plan", "new", "--no-try")
    plan = project / "PLAN.md"
    plan.write_text(plan.read_text().replace("copy:", "setup: mkdir .venv ü; touch .venv/x 'ü/it s'\ncopy:"))
    told = call("plan", "check", "--try", "PLAN.md").out
    assert "it leaves ü/it s: add that to .gitignore" in told
    assert not (project / ".musician" / "trees" / "r-der-2").exists()


def test_a_missing_module_is_told_for_what_it_is(project: Path, call: Call) -> None:
    (project / "test_it.py").write_text(NEEDS_MODULE)
    git(project, "commit", "-qam", "more")
    call("init")
    told = call("plan", "new").out
    assert "Python has no module at_home_only there" in told


def test_without_a_database_or_with_changes_it_is_written_and_not_tried(project: Path, call: Call) -> None:
    assert "musician init" in call("plan", "new").out
    call("init")
    (project / "test_it.py").write_text("")
    (untried,) = [call("plan", "new", "NEXT.md", "--json").json["untried"]]
    assert "test_it.py" in untried
    assert not (project / ".musician" / "trees").exists()
    assert "test_it.py" in call("plan", "check", "--try", "NEXT.md", expect=2).err, (
        "whoever asks for it is refused"
    )


def test_nothing_is_written_over_and_ids_are_new(project: Path, call: Call) -> None:
    call("init")
    call("plan", "new", "--no-try")
    before = (project / "PLAN.md").read_bytes()
    assert "there already" in call("plan", "new", "--no-try", expect=2).err
    assert (project / "PLAN.md").read_bytes() == before
    git(project, "add", "-A")
    git(project, "commit", "-qm", "plan")
    call("plan", "lock", "PLAN.md")
    (project / "sub").mkdir()
    assert call("plan", "new", "sub/PLAN.md", "--no-try", "--json").json["plan"] == "r-der-2-2"


def test_a_project_without_tests_gets_a_plan_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    folder = begin(tmp_path / "bare", {"README.md": "x"})
    monkeypatch.chdir(folder)
    assert "nothing found" in call("plan", "new").out
    assert "# test:" in (folder / "PLAN.md").read_text()
    warnings = call("plan", "check", "PLAN.md", "--json").json["warnings"]
    assert any("is verified by nothing" in each for each in warnings)


def test_an_id_that_is_none_is_refused_before_anything_is_written(project: Path, call: Call) -> None:
    call("plan", "new", "--id", "a b", expect=2)
    assert not (project / "PLAN.md").exists()


def test_names_that_can_stand_in_no_plan_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    """A line end, a control character, bytes that are no UTF-8."""
    folder = begin(tmp_path / "odd\n# one\x1b[2J", {"README.md": "x", ".gitignore": "*.secret\n.env*\n"})
    for name in (b"a\nb", b"c\xff", b"d\x1b"):
        part = bytes(folder) + b"/" + name
        os.mkdir(part)
        Path(os.fsdecode(part), "package.json").write_text('{"scripts": {"test": "true"}}')
        Path(os.fsdecode(part), ".env").write_text("")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "odd")
    monkeypatch.chdir(folder)
    call("plan", "new")
    assert call("plan", "check", "PLAN.md", "--json").json["title"] == "odd# one[2J"
    assert "# test:" in (folder / "PLAN.md").read_text()


def test_a_plan_is_drawn(repository: Path, call: Call) -> None:
    assert "├─ task-01  Add the greeting" in call("plan", "graph", "PLAN.md").out
    assert call("plan", "graph", "PLAN.md", "--mermaid").out.startswith("flowchart TD\n")
    assert call("plan", "graph", "PLAN.md", "--json").json["never_at_once"] == []
