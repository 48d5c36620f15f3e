"""What starting the command costs, against an interpreter that does nothing. Every launch and every command pays it.

Measured as a user with byte code has it: once for warming, then in turn. For information: the goal for hooks (P4) is
about hooks.
"""

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measuring import in_turn, seconds
from benchmarks.orchestra import scratch
from benchmarks.task import prepare, surroundings

__all__ = ["TINY", "Size", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rounds: int = 15


TINY = Size(rounds=1)

_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_COMMANDS = {
    "musician --version": (sys.executable, "-m", "musician", "--version"),
    "musician status": (sys.executable, "-m", "musician", "status"),
    "import for musician work": (sys.executable, "-c", "import musician.cli.work"),
}


def measure(size: Size) -> tuple[Figure, ...]:
    """Wall time of whole processes."""
    with scratch() as folder:
        project = folder / "project"
        prepare(project, steps=1)
        environment = surroundings(folder)
        arms = [partial(_run, command, project, environment) for command in (_BARE, *_COMMANDS.values())]
        for arm in arms:
            arm()
        bare, *others = in_turn(size.rounds, [partial(seconds, arm) for arm in arms])
    return (
        Figure(what="start: python -I -S -c pass", median=bare * 1e3, unit="ms"),
        *(
            Figure(
                what=f"start: {what}", median=each * 1e3, unit="ms", ratio=each / bare, against="bare python"
            )
            for what, each in zip(_COMMANDS, others, strict=True)
        ),
    )


def _run(command: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
