"""What starting the command costs, against an interpreter that does nothing. Every launch and every command pays it.

Measured as a user with byte code has it: once for warming, then in turn. `musician status` is to stay within eight bare
Pythons; the goal for hooks (P4) is about hooks.
"""

import resource
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measuring import in_turn
from benchmarks.orchestra import scratch
from benchmarks.task import prepare, surroundings

__all__ = ["TINY", "Size", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rounds: int = 15


TINY = Size(rounds=1)

_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_MUSICIAN = str(Path(sys.executable).with_name("musician"))
_COMMANDS = {
    "musician --version": (_MUSICIAN, "--version"),
    "musician status": (_MUSICIAN, "status"),
    "import for musician work": (sys.executable, "-c", "import musician.cli.work"),
}

_AT_MOST = {"musician status": 8}
"""The goal, in bare Pythons."""


def measure(size: Size) -> tuple[Figure, ...]:
    """CPU time of whole processes."""
    with scratch() as folder:
        project = folder / "project"
        prepare(project, steps=1)
        environment = surroundings(folder)
        arms = [partial(_cpu_s, command, project, environment) for command in (_BARE, *_COMMANDS.values())]
        for arm in arms:
            arm()
        bare, *others = in_turn(size.rounds, arms)
    return (
        Figure(what="start: python -I -S -c pass", median=bare * 1e3, unit="ms"),
        *(
            Figure(
                what=f"start: {what}",
                median=each * 1e3,
                unit="ms",
                ratio=each / bare,
                against="bare python",
                goal="start" if what in _AT_MOST else "",
                at_most=_AT_MOST.get(what),
            )
            for what, each in zip(_COMMANDS, others, strict=True)
        ),
    )


def _cpu_s(command: tuple[str, ...], folder: Path, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
