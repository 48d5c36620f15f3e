"""Compiling, and new import cycles."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from musician.verification import integration
from musician.verification.integration import broken_files, compile_command, new_cycles

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop


def cycles(workshop: "Workshop") -> tuple[str, ...]:
    return new_cycles(workshop.git, workshop.change(), workshop.project())


def test_changed_files_that_do_not_compile_are_named_with_the_place(workshop: "Workshop") -> None:
    workshop.before({"old.py": "def (\n", "a.py": "", "b.txt": ""})
    workshop.now(
        {
            "a.py": "x = 1\ndef f(:\n",
            "b.txt": "def (",
            "null.py": b"x\0",
            "good.py": "x = '\\d'\nraise SystemExit\n",
            "late.py": "return 1\n",
            "latin.py": b"# coding: latin-1\nx = '\xe9'\n",
        }
    )
    broken = broken_files(workshop.git, workshop.change(), workshop.project())
    assert broken["a.py"].startswith("2: ")
    assert broken["late.py"] == "1: 'return' outside function"
    assert sorted(broken) == ["a.py", "late.py", "null.py"]


def test_another_interpreter_is_asked_by_a_command_that_runs_nothing(workshop: "Workshop") -> None:
    workshop.now({"good one.py": "raise SystemExit(3)\n", "bad.py": "def ("})

    def ask(*paths: str) -> int:
        command = compile_command(f"'{sys.executable}'", paths)
        done = subprocess.run(["bash", "-c", command], cwd=workshop.tree, capture_output=True)
        return done.returncode

    assert ask("good one.py") == 0
    assert ask("good one.py", "bad.py") == 1


def test_an_import_that_closes_a_cycle_is_named_with_the_way(workshop: "Workshop") -> None:
    workshop.before(
        {"p/__init__.py": "", "p/a.py": "from p import b\n", "p/b.py": "from . import c\n", "p/c.py": ""}
    )
    workshop.now({"p/c.py": "from p.a import x\n"})
    assert cycles(workshop) == ("p/c.py -> p/a.py -> p/b.py -> p/c.py",)


@pytest.mark.parametrize(
    "now",
    [
        "def late():\n    from p.a import x\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import x\n",
        "import os\n",
        "'''\nfrom p.a import x\n'''\n",
        "from p import a\ndef (\n",
    ],
)
def test_what_is_not_imported_at_import_makes_no_cycle(workshop: "Workshop", now: str) -> None:
    workshop.before({"p/__init__.py": "", "p/a.py": "from p import b\n", "p/b.py": ""})
    workshop.now({"p/b.py": now})
    assert cycles(workshop) == ()


def test_a_late_import_that_moves_up_closes_a_cycle(workshop: "Workshop") -> None:
    late = "def f():\n    import a\n"
    workshop.before({"a.py": "import b\n", "b.py": late, "c.py": late})
    workshop.now({"b.py": "import a\n", "c.py": "import a\n"})
    assert cycles(workshop) == ("b.py -> a.py -> b.py",)


def test_what_only_looks_like_a_way_back_is_read_before_it_counts(workshop: "Workshop") -> None:
    said = '"""\nimport a\n"""\n'
    workshop.before({"a.py": "", "b.py": "import c\n", "c.py": "def f():\n    import a\n", "d.py": said})
    workshop.now({"a.py": "import b\nimport d\n"})
    assert cycles(workshop) == ()
    workshop.now({"c.py": "import a\n"})
    assert cycles(workshop) == ("a.py -> b.py -> c.py -> a.py",)


def test_a_cycle_that_was_there_before_is_not_blamed(workshop: "Workshop") -> None:
    workshop.before({"a.py": "import b\n", "b.py": "import c\n", "c.py": "import a\n", "d.py": ""})
    workshop.now({"b.py": "import c\nimport a\n"})
    assert cycles(workshop) == ()
    workshop.now({"d.py": "import a\n", "c.py": "import a\nimport d\n"})
    assert cycles(workshop) == ("c.py -> d.py -> a.py -> b.py -> c.py",)


def test_new_files_in_a_new_cycle_are_named_once(workshop: "Workshop") -> None:
    workshop.before({})
    workshop.now({"a.py": "import b\n", "b.py": "import a\n", "self.py": "import self\n"})
    assert cycles(workshop) == ("a.py -> b.py -> a.py",)


def test_a_package_that_gathers_its_modules_is_no_cycle(workshop: "Workshop") -> None:
    workshop.before({"p/__init__.py": "from p.a import x\nfrom p.b import y\n", "p/a.py": "", "p/b.py": ""})
    workshop.now({"p/b.py": "from p import a\nfrom p.a import x\n"})
    assert cycles(workshop) == ()
    workshop.now({"p/b.py": "from p import x\n"})
    assert cycles(workshop) == ("p/b.py -> p/__init__.py -> p/b.py",)


def test_cycles_are_bounded(workshop: "Workshop", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integration, "MAX_CYCLES", 2)
    workshop.before({})
    workshop.now({f"{x}{n}.py": f"import {y}{n}\n" for n in range(4) for x, y in ("ab", "ba")})
    assert len(cycles(workshop)) == 2
