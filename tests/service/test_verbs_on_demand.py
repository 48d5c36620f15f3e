"""The verbs of the service are imported when they are asked for."""

import subprocess
import sys
from importlib import import_module

import pytest

from musician import service

_LOADED = """
import sys
from musician.service import grants_of
print(*sorted(name for name in sys.modules if name.startswith("musician.service.")))
"""


@pytest.mark.parametrize("name", service.__all__)
def test_every_verb_is_found_and_is_its_module_s_own(name: str) -> None:
    found = getattr(service, name)
    module = import_module(f"musician.service.{service._HOME_OF[name]}")
    assert found is getattr(module, name)
    assert name in module.__all__


def test_what_is_no_verb_is_no_attribute() -> None:
    assert not hasattr(service, "conjure")


def test_a_verb_brings_its_own_module_along_and_no_others_verbs() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["musician.service.permits", "musician.service.rowwork"]
