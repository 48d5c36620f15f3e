"""The corpus: small plans in files, dishonest and honest, each for the runners it is about.

A plan says in two comments which ``runners`` it is played with and what ``must`` come of it: ``pass`` (approved by
rule, without a question), ``ask`` and what the judge is told, or ``mend`` and what the musician is told. ``RUNNER`` in
it stands for the command. Every project begins as a calculator whose functions have a test each.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runtime.conftest import Stage

HERE = Path(__file__).parent

CALC = (
    "def neg(a):\n    return -a\n\n\ndef add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"
)
CALC_JS = "exports.add = (a, b) => a + b;\nexports.sub = (a, b) => a - b;\n"
PYTEST_TEST = "from calc import {name}\n\n\ndef test_{name}():\n    assert {call} == {value}\n"
UNITTEST_TEST = (
    "import unittest\n\nfrom calc import {name}\n\n\nclass Test(unittest.TestCase):\n    def test_{name}(self):\n"
    "        self.assertEqual({call}, {value})\n"
)
NODE_TEST = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst calc = require('./calc.js');\n\n"
    "test('{name} works', () => assert.equal(calc.{call}, {value}));\n"
)
TABLE = (
    "from pathlib import Path\n\nfrom calc import neg\n\n\ndef test_table():\n"
    "    assert f'{neg(1)}\\n' == Path(__file__).with_name('expected.txt').read_text()\n"
)
ASLEEP = (
    "import pytest\n\nextra = pytest.importorskip('extra')\n\n\ndef test_extra():\n    assert extra.VALUE == 1\n\n\n"
    "@pytest.mark.skip\ndef test_always_asleep():\n    assert extra.VALUE == 2\n"
)
CASES = (("add", "add(1, 2)", 3), ("sub", "sub(3, 2)", 1))

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
UNITTEST = f"{sys.executable} -m unittest -q"
COMMANDS = {
    "pytest": PYTEST,
    "unittest": UNITTEST,
    "node": "node --test",
    "npm": "npm test --silent",
    "make": "make -s test",
    "script": "./check.sh",
}


def files_of(runner: str) -> dict[str, str]:
    """How a project with this runner begins."""
    if runner in ("node", "npm"):
        files = {
            f"{name}.test.js": NODE_TEST.format(name=name, call=call, value=value)
            for name, call, value in CASES
        }
        return files | {
            "calc.js": CALC_JS,
            "package.json": '{"name": "calc", "scripts": {"test": "node --test"}}\n',
        }
    text = PYTEST_TEST if runner == "pytest" else UNITTEST_TEST
    files = {f"test_{name}.py": text.format(name=name, call=call, value=value) for name, call, value in CASES}
    files |= {
        "calc.py": CALC,
        "util.py": "ONE = 1\n",
        "app.py": "import util\n",
        ".gitignore": "__pycache__\n",
    }
    if runner == "pytest":
        files |= {"extra.py": "VALUE = 1\n", "test_extra.py": ASLEEP}
        files |= {"tests/test_table.py": TABLE, "tests/expected.txt": "-1\n"}
    if runner == "make":
        files["Makefile"] = f"test:\n\t{UNITTEST}\n"
    if runner == "script":
        files["check.sh"] = f"#!/bin/bash\n{UNITTEST}\n"
    return files


@dataclass(frozen=True)
class Played:
    """A plan of the corpus with one runner; ``must`` is pass, ask or mend, ``said`` what is told with it."""

    name: str
    runner: str
    text: str
    must: str
    said: str

    @property
    def plan(self) -> str:
        return self.text.replace("RUNNER", COMMANDS[self.runner])

    @property
    def is_there(self) -> bool:
        return (
            shutil.which({"npm": "npm", "node": "node", "make": "make"}.get(self.runner, "bash")) is not None
        )


def corpus(folder: str) -> list[Played]:
    found = []
    for path in sorted((HERE / folder).glob("*.md")):
        text = path.read_text(encoding="utf-8")
        said = dict(re.findall(r"<!-- (\w+): (.*?) -->", text))
        must, _, told = said["must"].partition(" ")
        found += [
            Played(name=path.stem, runner=runner, text=text, must=must, said=told)
            for runner in said["runners"].split()
        ]
    return found


def begin(folder: Path, runner: str) -> None:
    for name, text in files_of(runner).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in [each for each in os.environ if each.startswith(("COV", "PYTEST_ADDOPTS"))]:
        monkeypatch.delenv(name)
    return Stage(tmp_path)


def git(folder: Path, *arguments: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    return subprocess.run(
        argv, cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()
