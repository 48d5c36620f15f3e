"""What the program itself takes at a checkpoint, without anybody's tests.

A change of 1,000 lines in 50 files of a project of 400, each with a new import, is verified by a command that runs
one test file. What the stages take besides running tests is left: git, the selection of tests, the scan, compiling,
imports. The aim is a time and not a ratio, so it is shown as one: to half a second.
"""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.figures import Figure
from benchmarks.measuring import in_turn
from benchmarks.orchestra import SETTINGS, scratch
from musician.processes.identity import ProcessIdentity
from musician.trees.git import Git
from musician.trees.snapshot import tree_id
from musician.verification.checkpoint import verify_checkpoint
from musician.verification.earlier import Earlier

__all__ = ["TINY", "Size", "measure"]

AIM_S = 0.5
_FUNCTION = '''

def weigh_{number}(letters, limit):
    """How many of the letters are lighter than the limit."""
    found = [letter for letter in letters if letter.grams < limit + {number}]
    return sum(letter.grams for letter in found) / max(1, len(found))
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    files: int = 400
    functions: int = 30
    """In each file, of six lines."""
    changed: int = 50
    lines: int = 20
    """Added to each changed file."""
    rounds: int = 7


TINY = Size(files=4, functions=1, changed=2, lines=4, rounds=1)


def measure(size: Size) -> tuple[Figure, ...]:
    with scratch() as folder:
        tree = folder / "tree"
        base = _project(tree, size)
        _change(tree, size)
        [overhead_s] = in_turn(size.rounds, [partial(_overhead_s, tree, base, folder / "log")])
    return (
        Figure(
            what=f"verification: {size.changed * size.lines} lines in {size.changed} files, without tests",
            median=overhead_s * 1e3,
            unit="ms",
            ratio=overhead_s / AIM_S,
            against=f"{AIM_S:g} s",
            goal="aim",
            at_most=1.0,
        ),
    )


def _overhead_s(tree: Path, base: str, log: Path) -> float:
    result = anyio.run(
        partial(
            verify_checkpoint,
            [f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider tests/test_one.py"],
            tree=tree,
            tree_id=tree_id(tree),
            log=log,
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            settings=SETTINGS,
            checkpoint=1,
            final=False,
            on_process=_nobody,
            earlier=Earlier(base=base),
        )
    )
    if result.stages is None or not result.ready:
        raise RuntimeError(f"not what was to be measured: {result.tests_line()}")
    return result.stages.overhead_s


def _project(tree: Path, size: Size) -> str:
    for number in range(size.files):
        package = tree / "src" / f"package_{number % 20}"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        neighbour = (
            f"from package_{(number + 1) % min(20, size.files)} import module_{(number + 1) % size.files}\n"
        )
        body = "".join(_FUNCTION.format(number=each) for each in range(size.functions))
        imports = neighbour if number and number + 1 < size.files else ""
        (package / f"module_{number}.py").write_text(f'"""Module {number}."""\n\n{imports}{body}')
    (tree / "tests").mkdir()
    (tree / "tests" / "test_one.py").write_text("def test_one():\n    assert len('a') == 1\n")
    git = Git(tree)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "init", "-q", str(tree)], check=True, env=env)
    git.run("add", "-A")
    git.run("commit", "-q", "-m", "before")
    return git.text("rev-parse", "HEAD")


def _change(tree: Path, size: Size) -> None:
    for number in range(0, size.files, max(1, size.files // size.changed)):
        path = tree / "src" / f"package_{number % 20}" / f"module_{number}.py"
        added = [f"VALUE_{each} = {each} * {number}\n" for each in range(size.lines - 1)]
        imported = "import json\n" if number % 2 else f"from package_0 import module_0 as m{number}\n"
        path.write_text(f"{path.read_text()}{imported}{''.join(added)}")


async def _nobody(_: ProcessIdentity) -> None:
    """Nothing to record."""
