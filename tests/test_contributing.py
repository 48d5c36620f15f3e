"""What CONTRIBUTING.md and the files for editors, commits and forges say is so."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]

_FOLDERS = ("", "src/musician/", "src/musician/store/")


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`([\w./-]+\.(?:py|sql|md)|[\w./-]+/)`|\]\(([\w./]+)\)", GUIDE)))
)
def test_every_path_it_names_is_there(path: tuple[str, str]) -> None:
    name = path[0] or path[1]
    assert name == ".venv/" or any((ROOT / folder / name).exists() for folder in _FOLDERS), name


def test_every_target_it_names_is_one_of_the_makefile() -> None:
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*)`", GUIDE)) | set(re.findall(r"\$ make (\w+)", GUIDE))
    assert targets
    assert targets <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_the_checks_before_a_commit_are_those_of_the_makefile() -> None:
    for hook in HOOKS:
        program, *arguments = hook["entry"].split()
        assert program.removeprefix(".venv/bin/") in MAKEFILE
        assert all((ROOT / each).exists() for each in arguments if each.endswith(".py"))
        assert hook["language"] == "system"


def test_the_templates_are_what_a_forge_reads() -> None:
    for template in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"):
        _, front, body = template.read_text(encoding="utf-8").split("---\n", 2)
        assert {"name", "about", "labels"} == set(yaml.safe_load(front))
        assert body.strip()


def test_editors_are_told_the_line_length_of_the_linter() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]
    config = (ROOT / ".editorconfig").read_text(encoding="utf-8")
    assert f"max_line_length = {linter['lint']['pycodestyle']['max-line-length']}" in config
