"""Which files of a tree import which."""

from typing import TYPE_CHECKING

import pytest

from musician.verification.imports import Import, imports_of, skim

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop

SOURCE = b'''\
"""import nothing_in_a_docstring"""
import os, a.b as c
from . import sibling
if TYPE_CHECKING:
    from x import y
else:
    import z
try:
    from ..up import (
        one,
        two,
    )
except ImportError:
    up = None
class C:
    import in_class
def f():
    import late
if typing.TYPE_CHECKING:
    import never
'''


def test_every_import_is_found_and_told_eager_from_late() -> None:
    assert set(imports_of(SOURCE)) == {
        Import("os", (), 0, True),
        Import("a.b", (), 0, True),
        Import("", ("sibling",), 1, True),
        Import("x", ("y",), 0, False),
        Import("z", (), 0, True),
        Import("up", ("one", "two"), 2, True),
        Import("in_class", (), 0, True),
        Import("late", (), 0, False),
        Import("never", (), 0, False),
    }


@pytest.mark.parametrize("source", [b"def (", b"\0", b"# coding: nonsense\nimport a"])
def test_a_module_that_does_not_parse_imports_nothing(source: bytes) -> None:
    assert imports_of(source) == ()


def test_skimming_finds_at_least_what_reading_finds() -> None:
    read = {(each.module, each.names, each.level) for each in imports_of(SOURCE)}
    skimmed = {(each.module, each.names, each.level) for each in skim(SOURCE)}
    assert read <= skimmed
    assert all(each.is_eager for each in skim(SOURCE))
    assert [
        (each.module, each.names)
        for each in skim(b"from a import (b as x,  # c, d\n  e)\nimport f.g as h, i; x = 1\n")
    ] == [
        ("a", ("b", "e")),
        ("f.g", ()),
        ("i", ()),
    ]
    assert skim(b"from a import b, \\\n    c\n")[0].names == ("b", "c")
    assert skim("from \xe9 import b".encode("latin-1")) == ()


FILES = {
    "src/pkg/__init__.py": "from pkg.core import main\n",
    "src/pkg/core.py": "from . import low\nfrom pkg.deep import leaf as l\nimport os\n",
    "src/pkg/low.py": "",
    "src/pkg/deep/__init__.py": "",
    "src/pkg/deep/leaf.py": "from .. import low\nfrom ..missing import x\nfrom ....too.far import y\n",
    "tools/script.py": "import helper\nimport pkg.deep.leaf.nothing\n",
    "tools/helper.py": "",
    "services/app/__init__.py": "",
    "services/app/api.py": "import app.api\nfrom app import *\n",
    "tests/test_low.py": "def test():\n    from pkg.low import x\n",
}


@pytest.mark.parametrize(
    ("path", "imported"),
    [
        ("src/pkg/__init__.py", {"src/pkg/core.py"}),
        ("src/pkg/core.py", {"src/pkg/low.py", "src/pkg/deep/leaf.py"}),
        ("src/pkg/deep/leaf.py", {"src/pkg/low.py"}),
        ("tools/script.py", {"tools/helper.py", "src/pkg/deep/leaf.py"}),
        ("services/app/api.py", {"services/app/__init__.py"}),
        ("tests/test_low.py", {"src/pkg/low.py"}),
        ("not/there.py", set()),
    ],
)
def test_imports_lead_to_files_of_the_tree(workshop: "Workshop", path: str, imported: set[str]) -> None:
    workshop.before(FILES)
    assert workshop.project().imported_by(path) == imported


def test_a_late_import_is_not_eager(workshop: "Workshop") -> None:
    workshop.before(FILES)
    project, path = workshop.project(), "tests/test_low.py"
    read = imports_of(project.sources[path])
    assert project.resolved(path, read, eager_only=True) == set()
    assert project.resolved(path, read) == {"src/pkg/low.py"}


def test_importers_are_found_near_and_far(workshop: "Workshop") -> None:
    workshop.before(FILES)
    assert workshop.project().importers_of(["src/pkg/low.py"]) == {
        "src/pkg/core.py": 1,
        "src/pkg/deep/leaf.py": 1,
        "tests/test_low.py": 1,
        "src/pkg/__init__.py": 2,
        "tools/script.py": 2,
    }
    assert workshop.project().importers_of(["not/there.py"]) == {}


def test_a_cycle_of_imports_comes_to_an_end(workshop: "Workshop") -> None:
    workshop.before({"a.py": "import b\n", "b.py": "import c\n", "c.py": "import a\n"})
    assert workshop.project().importers_of(["a.py"]) == {"c.py": 1, "b.py": 2}


def test_only_python_files_are_part_of_it(workshop: "Workshop") -> None:
    workshop.before({"a.py": "", "b.txt": "", "c.pyc": ""})
    (workshop.tree / "link.py").symlink_to("a.py")
    assert set(workshop.project().blobs) == {"a.py"}
    assert not workshop.project().is_too_large


def test_what_imports_begin_with_is_known_of_a_project_in_a_folder_too(workshop: "Workshop") -> None:
    workshop.before(
        {"a.py": "", "src/b.py": "", "sub/src/pkg/__init__.py": "", "sub/src/pkg/c.py": "", "sub/d.py": ""}
    )
    assert {"a", "b", "pkg", "d"} <= workshop.project().top_modules
    assert "c" not in workshop.project().top_modules
