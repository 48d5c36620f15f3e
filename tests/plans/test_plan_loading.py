"""Reading a plan and its instruction files from the disk."""

import os
from pathlib import Path

import pytest

from musician.plans.plan import MAX_FILE_BYTES, load_plan
from musician.protocol.errors import InvalidPlan

PLAN = "---\nplan: p\n---\n# T\n## Phase 1: A\n### t-1: B\n```yaml task\ninstructions: docs/ï.md\n```\n"
BODY = "# B\n## Step 1: größer\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "My Proj (é) $x"
    (project / "docs").mkdir(parents=True)
    (project / "PLAN.md").write_text(PLAN, encoding="utf-8")
    (project / "docs" / "ï.md").write_text(BODY, encoding="utf-8")
    return project


def problem(path: Path, root: Path) -> str:
    with pytest.raises(InvalidPlan) as caught:
        load_plan(path, root=root)
    (line,) = caught.value.problems
    return line


def test_a_plan_is_read_with_its_instruction_files(root: Path) -> None:
    plan = load_plan(root / "docs" / ".." / "PLAN.md", root=root)
    assert plan.path == "PLAN.md"
    assert plan.text == PLAN
    assert plan.task("t-1").steps[0].title == "größer"
    assert plan.instruction_files == (("docs/ï.md", BODY),)


def test_a_plan_outside_the_project_is_named_in_full(root: Path) -> None:
    outside = root.parent / "other.md"
    outside.write_text(PLAN, encoding="utf-8")
    assert load_plan(outside, root=root).path == str(outside)


def test_a_link_to_the_project_is_the_project(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert load_plan(link / "PLAN.md", root=link).path == "PLAN.md"


def test_files_that_are_no_text_are_told_in_one_line(root: Path) -> None:
    (root / "latin.md").write_bytes(b"---\nplan: p\n# caf\xe9\n")
    assert problem(root / "latin.md", root) == "latin.md:3: a byte that is not UTF-8; expected UTF-8 text"
    (root / "big.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert problem(root / "big.md", root).startswith("big.md:1: a file that is too large; expected at most ")
    os.mkfifo(root / "pipe.md")
    assert problem(root / "pipe.md", root) == "pipe.md:1: a folder or device; expected a Markdown file"
    assert problem(root / "docs", root) == "docs:1: a folder or device; expected a Markdown file"
    assert problem(root / "none.md", root) == "none.md:1: no such file; expected a Markdown file"
    name = "x" * 300
    assert "cannot be read (file name too long)" in problem(root / name, root)
    loop = root / "loop.md"
    loop.symlink_to(loop)
    assert problem(loop, root).startswith("loop.md:1: ")


def test_an_instruction_file_that_is_missing_or_no_text_is_told(root: Path) -> None:
    file = root / "docs" / "ï.md"
    file.write_bytes(b"\xff")
    assert problem(root / "PLAN.md", root) == "docs/ï.md:1: a byte that is not UTF-8; expected UTF-8 text"
    file.unlink()
    assert problem(root / "PLAN.md", root) == (
        "PLAN.md:8: `instructions: docs/ï.md`, which is not there; expected a file in the project"
    )


def test_an_instruction_path_that_no_system_takes_is_not_there(root: Path) -> None:
    (root / "PLAN.md").write_text(PLAN.replace("docs/ï.md", "x" * 300), encoding="utf-8")
    assert "which is not there" in problem(root / "PLAN.md", root)


def test_an_instruction_file_cannot_be_a_link_out_of_the_project(root: Path) -> None:
    outside = root.parent / "outside.md"
    outside.write_text(BODY, encoding="utf-8")
    file = root / "docs" / "ï.md"
    file.unlink()
    file.symlink_to(outside)
    assert problem(root / "PLAN.md", root) == (
        "docs/ï.md:1: a link out of the project; expected a file inside it"
    )
