"""Packages that import a name's module when the name is asked for."""

import subprocess
import sys
from types import ModuleType

import pytest

from musician import service
from musician.store import rows

_LOADED = """
import sys
from musician.service import grants_of
print(*sorted(name for name in sys.modules if name.startswith(("musician.service.", "musician.store.rows."))))
"""


@pytest.mark.parametrize("package", [service, rows], ids=["service", "rows"])
def test_every_name_that_a_package_lists_is_found_in_one_of_its_modules(package: ModuleType) -> None:
    listed = {name: getattr(package, name) for name in package.__all__}
    modules = [each for name, each in sys.modules.items() if name.startswith(f"{package.__name__}.")]
    for name, found in listed.items():
        assert any(getattr(each, name, None) is found for each in modules), name


@pytest.mark.parametrize("package", [service, rows], ids=["service", "rows"])
def test_a_name_that_nobody_gives_is_no_attribute(package: ModuleType) -> None:
    assert not hasattr(package, "conjure")


def test_a_verb_brings_along_what_it_needs_and_no_other_verbs_nor_rows() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "musician.service.permits",
        "musician.service.rowwork",
        "musician.store.rows.messages",
        "musician.store.rows.papers",
        "musician.store.rows.sessions",
        "musician.store.rows.submissions",
        "musician.store.rows.tasks",
    ]
