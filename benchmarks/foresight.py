"""What looking ahead costs: all pairs of branches at first, what one commit makes of it, and a look when nothing moved.

The repository is made here: folders with small files, and branches from one commit, a fifth of whose pairs change the
same lines. Everything is measured against one trial merge, as the conductor makes it, in the same rounds.
"""

import os
import subprocess
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measuring import in_turn, seconds
from benchmarks.orchestra import scratch
from musician.trees.branches import branch_of, integration_branch
from musician.trees.foresight import Foresight
from musician.trees.merge import drop_trial, trial_merge
from musician.trees.root import Root, exclude_private, find_root

__all__ = ["TINY", "Size", "measure"]

_PLAN = "benchmark"
_FILES_A_FOLDER = 50
_LINES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    branches: int = 20
    files: int = 2200
    files_changed: int = 5
    rounds: int = 5


TINY = Size(branches=3, files=20, files_changed=1, rounds=1)


def measure(size: Size) -> tuple[Figure, ...]:
    with scratch() as folder:
        root = _repository(folder / "project", size)
        tasks = [_task(number) for number in range(size.branches)]
        places = (folder / f"look-{number}" for number in count())
        sight = _sight(root, folder / "look")
        sight.look(tasks)
        commits = count(1)

        def commit() -> None:
            branch = branch_of(_PLAN, tasks[0])
            added = {f"more/{next(commits)}": _text(0)}
            _fast_import(root.path, _entry(branch, f"refs/heads/{branch}^0", added))

        def merge() -> None:
            trial_merge(root, plan_id=_PLAN, task_id=tasks[0], title="T", base="trunk")

        def after_commit() -> float:
            commit()
            return seconds(partial(sight.look, tasks))

        def again() -> float:
            drop_trial(root, _PLAN)
            return seconds(merge)

        merge()
        again_s, whole_s, one_s, none_s = in_turn(
            size.rounds,
            [
                again,
                lambda: seconds(partial(_sight(root, next(places)).look, tasks)),
                after_commit,
                lambda: seconds(partial(sight.look, tasks)),
            ],
        )
    pairs = size.branches * (size.branches - 1) // 2
    named = {
        f"foresight: a first look at {pairs} pairs": whole_s,
        f"foresight: after a commit, {size.branches - 1} pairs": one_s,
        "foresight: nothing has moved": none_s,
    }
    return tuple(
        Figure(what=what, median=found_s * 1e3, unit="ms", ratio=found_s / again_s, against="one trial merge")
        for what, found_s in named.items()
    )


def _sight(root: Root, folder: Path) -> Foresight:
    folder.mkdir()
    return Foresight(root, _PLAN, "trunk", folder)


def _task(number: int) -> str:
    return f"task-{number + 1:02}"


def _repository(folder: Path, size: Size) -> Root:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(folder)], check=True)
    files = {_name(number): _text(number) for number in range(size.files)}
    first = _entry("trunk", "", files)
    integration = b"reset refs/heads/" + integration_branch(_PLAN).encode() + b"\nfrom refs/heads/trunk\n\n"
    branches = [_branch(number, size) for number in range(size.branches)]
    _fast_import(folder, b"".join((first, integration, *branches)))
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=folder, check=True)
    root = find_root(folder)
    exclude_private(root)
    return root


def _branch(number: int, size: Size) -> bytes:
    """A task's branch. Every other changes one of two files that all such change: a fifth of the pairs conflicts."""
    own = range(number * size.files_changed, (number + 1) * size.files_changed)
    files = {_name(each % size.files): _text(each % size.files, changed=number) for each in own}
    if number % 2 == 0:
        shared = size.files - 1 - number % 4
        files[_name(shared)] = _text(shared, changed=number)
    return _entry(branch_of(_PLAN, _task(number)), "refs/heads/trunk", files)


def _name(number: int) -> str:
    return f"src/{number // _FILES_A_FOLDER}/{number}.txt"


def _text(number: int, *, changed: int | None = None) -> bytes:
    lines = [f"line {line} of file {number}" for line in range(_LINES)]
    if changed is not None:
        lines[_LINES // 2] = f"changed by {changed}"
    return "\n".join((*lines, "")).encode()


def _entry(branch: str, start: str, files: dict[str, bytes]) -> bytes:
    head = f"commit refs/heads/{branch}\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\n"
    begun = f"from {start}\n" if start else ""
    written = b"".join(
        f"M 100644 inline {name}\ndata {len(text)}\n".encode() + text + b"\n" for name, text in files.items()
    )
    return (head + begun).encode() + written + b"\n"


def _fast_import(folder: Path, what: bytes) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "fast-import", "--quiet", "--force"], input=what, cwd=folder, env=env, check=True)
