"""Put into a test run's Python: loads the guard of the old code, and the record of the tests that ran.

Python imports this file by itself when its folder is on PYTHONPATH, whatever started it and however deep: a Makefile,
a script, a launcher. Runs in whatever Python the project uses, so it keeps to what every Python 3 understands, and
imports nothing that the project may have in a version of its own. A file of the same name that it hides is run too.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

HERE = os.path.dirname(os.path.realpath(__file__))


def _run_the_hidden_one() -> None:
    elsewhere = [path for path in sys.path if os.path.realpath(path or ".") != HERE]
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None and os.path.realpath(spec.origin or "") != __file__:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("MUSICIAN_TREE_NOW"):
    import musician_guard  # type: ignore[import-not-found]  # it lies beside this file

    musician_guard.install(os.environ["MUSICIAN_TREE_NOW"])

if os.environ.get("MUSICIAN_RECORD"):
    import musician_record  # type: ignore[import-not-found]

    musician_record.install(os.environ["MUSICIAN_RECORD"])

_run_the_hidden_one()
