"""docs/COMMANDS.md and docs/musician.1 are what the commands say of themselves. MUSICIAN_REWRITE=1 writes it anew."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from musician.cli.main import COMMANDS
from tests.cli.manpage import render_man_page
from tests.cli.reference import render_reference

REFERENCE = Path(__file__).parents[2] / "docs" / "COMMANDS.md"
MAN_PAGE = REFERENCE.with_name("musician.1")


def test_the_reference_is_up_to_date() -> None:
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        REFERENCE.write_text(render_reference(), encoding="utf-8")
    assert REFERENCE.read_text(encoding="utf-8") == render_reference()


def test_the_man_page_is_up_to_date_and_a_page_of_the_manual() -> None:
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        MAN_PAGE.write_text(render_man_page(), encoding="utf-8")
    assert MAN_PAGE.read_text(encoding="utf-8") == render_man_page()
    for name in COMMANDS:
        assert f'.SS "musician {name}' in render_man_page()


@pytest.mark.needs("groff")
def test_the_man_page_reads_well() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(MAN_PAGE)], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stderr == ""
    assert "musician run PLAN" in re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)


def test_the_reference_has_every_command_and_every_exit_code() -> None:
    text = render_reference()
    for name in COMMANDS:
        assert f"## musician {name}\n" in text
    assert "`musician step TASK start|done|skipped N [TEXT]`" in text
    assert "- `--urgent`: " in text


@pytest.mark.parametrize("name", ["status", "claim", "send"])
def test_a_command_imports_no_other_command(name: str) -> None:
    """A hook or a script should not wait for what it does not need."""
    code = (
        "import sys; from musician.cli.main import run; run([sys.argv[1], '--help']);"
        "print([name for name in sys.modules if name.startswith('musician.cli.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
    others = {f"musician.cli.{module}'" for module in COMMANDS.values()} - {f"musician.cli.{COMMANDS[name]}'"}
    assert not [other for other in others if other in done.stderr]


@pytest.mark.parametrize(
    ("module", "left_alone"),
    [("musician.cli.main", "musician.service."), ("musician.cli.status", "musician.protocol.musician.")],
    ids=["no verb to start with", "no engine to look on with"],
)
def test_what_a_command_does_not_use_is_not_imported(module: str, left_alone: str) -> None:
    code = "import importlib, sys; importlib.import_module(sys.argv[1]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, module], capture_output=True, text=True, check=True)
    assert module in done.stdout.split()
    assert [name for name in done.stdout.split() if name.startswith(left_alone)] == []


def test_main_itself_imports_no_command_and_no_click() -> None:
    code = "import sys, musician.__main__; print([name for name in sys.modules if name.split('.')[0] == 'click'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
