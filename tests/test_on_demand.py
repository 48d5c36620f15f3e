"""What is imported when it is needed, and not before: names of packages, and what only some commands need."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from musician import service
from musician.store import rows

_LOADED = """
import sys
from musician.service import grants_of
print(*sorted(name for name in sys.modules if name.startswith(("musician.service.", "musician.store.rows."))))
"""

_LOADED_BY = """
import sys
from musician.__main__ import run_command
assert run_command(sys.argv[1:]) == 0
print("loaded:", *sys.modules)
"""


@pytest.mark.parametrize("package", [service, rows], ids=["service", "rows"])
def test_every_name_that_a_package_lists_is_found_in_one_of_its_modules(package: ModuleType) -> None:
    listed = {name: getattr(package, name) for name in package.__all__}
    modules = [each for name, each in sys.modules.items() if name.startswith(f"{package.__name__}.")]
    for name, found in listed.items():
        assert any(getattr(each, name, None) is found for each in modules), name


def test_a_name_that_is_used_of_a_package_is_in_its_list() -> None:
    """A type checker sees more: all that the modules give."""
    used: dict[str, set[str]] = {"service": set(), "rows": set()}
    for path in Path(service.__file__).parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "from musician import service" in text:
            used["service"] |= set(re.findall(r"(?<![\w.])service\.([A-Za-z]\w*)\b(?! import)", text))
        for package, names in re.findall(r"from musician\.(?:store\.)?(service|rows) import ([^(\n]+)", text):
            used[package] |= set(names.split(", "))
    assert {"claim", "task_view"} <= used["service"]
    assert used["service"] - set(vars(service)["__all__"]) == set()
    assert used["rows"] - set(vars(rows)["__all__"]) == set()


@pytest.mark.parametrize("package", [service, rows], ids=["service", "rows"])
def test_a_name_that_nobody_gives_is_no_attribute(package: ModuleType) -> None:
    assert not hasattr(package, "conjure")


def test_a_verb_brings_along_what_it_needs_and_no_other_verbs_nor_rows() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "musician.service.permits",
        "musician.service.rowwork",
        "musician.store.rows.documents",
        "musician.store.rows.messages",
        "musician.store.rows.sessions",
        "musician.store.rows.submissions",
        "musician.store.rows.tasks",
    ]


def test_a_musician_brings_along_no_way_out_of_a_sandbox_that_few_plans_ask_for() -> None:
    asked = "import sys, musician.cli.work; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "musician.runtime.sandboxing" in loaded
    assert loaded & {"musician.processes.gateway", "urllib.request", "http.client"} == set()


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        # It looks for agents, and plays with none.
        (
            "--version",
            ("claude_agent_sdk", "acp", "anyio", "psutil", "musician.agents.port", "musician.store.port"),
        ),
        # What is made this moment has no damage.
        ("init", ("musician.store.sqlite.mending", "anyio._backends", "markdown_it", "yaml")),
        ("status", ("musician.store.sqlite.migrating", "markdown_it", "yaml", "anyio._backends")),
    ],
)
def test_a_command_does_not_import_what_it_does_not_use(
    command: str, needless: tuple[str, ...], tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    if command != "init":
        subprocess.run([sys.executable, "-m", "musician", "init"], cwd=tmp_path, check=True)
    asked = [sys.executable, "-c", _LOADED_BY, command]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("loaded: ")[2].split()
    assert "musician.cli.main" in loaded
    assert set(loaded) & set(needless) == set()
