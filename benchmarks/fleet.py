"""What the program costs around agents that answer at once: a step, a task, and fifty musicians at the same time.

One run of ``musician run`` each, conductor, musicians, leashes, git and agents together. CPU is what their processes
have used when they have ended; memory is the share that is counted to each where several share a page, summed while all
the musicians stand in their first step. The scripted agent speaks the Agent Client Protocol, in a process of its own:
what such a process takes by itself is told apart.
"""

import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.figures import Figure
from benchmarks.orchestra import scratch
from benchmarks.task import prepare, surroundings
from musician.testing import scripted_agent as scripted
from musician.testing.scripted_acp import scripted_acp

__all__ = ["TINY", "Size", "measure"]

_SHELLS = (b"bash\0", b"/bin/bash\0", b"/bin/sh\0", b"sleep\0")
_PACE_S = 0.2
_LIMIT_S = 1800.0

_HEAD = """\
---
plan: benchmark
test: "true"
---
# A benchmark's plan

## Overview
Agents that answer at once.

## Phase 1: All of it
"""
_TASK = "\n### task-{number:02d}: Write\n"
_STEP = "#### Step {number}: Write line {number}\n```bash run\n{command}\n```\n"
_WRITE = 'echo line >> "$MUSICIAN_TASK.txt"'
_TOGETHER = 'touch "{folder}/here-$MUSICIAN_TASK"; while [ ! -e "{folder}/go" ]; do sleep 0.5; done'


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    few_steps: int = 5
    many_steps: int = 25
    musicians: int = 50


TINY = Size(few_steps=1, many_steps=2, musicians=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    wall_s: float
    cpu_s: float
    own_mib: float = 0.0
    agents_mib: float = 0.0
    processes: int = 0


def measure(size: Size) -> tuple[Figure, ...]:
    """With the shell agent, and with the scripted one."""
    figures: list[Figure] = []
    for agent in ("shell", "scripted"):
        figures += _overhead(size, agent)
        figures += _together(size, agent)
    return tuple(figures)


def _overhead(size: Size, agent: str) -> tuple[Figure, ...]:
    few, many = (_one_task(steps, agent) for steps in (size.few_steps, size.many_steps))
    more = size.many_steps - size.few_steps
    wall_s = max(0.0, many.wall_s - few.wall_s) / more  # on a busy machine the longer run may be the quicker
    cpu_s = max(0.0, many.cpu_s - few.cpu_s) / more
    what = f"fleet: {agent},"
    return (
        Figure(what=f"{what} a step more", median=wall_s * 1e3, unit="ms"),
        Figure(what=f"{what} CPU of a step more", median=cpu_s * 1e3, unit="ms"),
        Figure(
            what=f"{what} a run of one task, without its steps",
            median=max(0.0, few.wall_s - size.few_steps * wall_s),
            unit="s",
        ),
        Figure(what=f"{what} CPU of that", median=max(0.0, few.cpu_s - size.few_steps * cpu_s), unit="s"),
    )


def _one_task(steps: int, agent: str) -> _Run:
    with scratch() as folder:
        return _run(folder, agent, tasks=1, commands=[_WRITE] * steps)


def _together(size: Size, agent: str) -> tuple[Figure, ...]:
    with scratch() as folder:
        commands = [_TOGETHER.format(folder=folder), _WRITE]
        run = _run(folder, agent, tasks=size.musicians, commands=commands)
    what = f"fleet: {size.musicians} musicians at once, {agent},"
    return (
        Figure(what=f"{what} from start to end", median=run.wall_s, unit="s"),
        Figure(what=f"{what} CPU", median=run.cpu_s, unit="s"),
        Figure(what=f"{what} memory, all of ours", median=run.own_mib, unit="MiB"),
        Figure(what=f"{what} memory of the agents", median=run.agents_mib, unit="MiB"),
        Figure(what=f"{what} processes", median=run.processes, unit=""),
    )


def _run(folder: Path, agent: str, *, tasks: int, commands: list[str]) -> _Run:
    steps = "".join(
        _STEP.format(number=number, command=command) for number, command in enumerate(commands, start=1)
    )
    plan = _HEAD + "".join(_TASK.format(number=number) + steps for number in range(1, tasks + 1))
    project = folder / "project"
    prepare(project, steps=0, plan=plan)
    if agent == "scripted":
        script = {
            f"step {number}": [scripted.run(command)] for number, command in enumerate(commands, start=1)
        }
        agent = f"acp:{scripted_acp(folder / 'script', script)}"
    argv = [sys.executable, "-m", "musician", "run", "PLAN.md", "--jobs", str(tasks), "--agent", agent]
    used, began_s = _used_s(), time.perf_counter()
    with (folder / "said").open("w") as said:
        running = subprocess.Popen(argv, cwd=project, env=surroundings(folder), stdout=said, stderr=said)
        own_mib, agents_mib, processes = _look(running, folder, tasks) if tasks > 1 else (0.0, 0.0, 0)
        code = running.wait(_LIMIT_S)
    if code != 0:
        raise RuntimeError(f"the run ended with {code}: {(folder / 'said').read_text()[-2000:]}")
    return _Run(
        wall_s=time.perf_counter() - began_s,
        cpu_s=_used_s() - used,
        own_mib=own_mib,
        agents_mib=agents_mib,
        processes=processes,
    )


def _look(running: "subprocess.Popen[bytes]", folder: Path, tasks: int) -> tuple[float, float, int]:
    """Once all stand in their first step: the memory of ours, of the agents, and how many processes there are."""
    began_s = time.perf_counter()
    while len(list(folder.glob("here-*"))) < tasks:
        if running.poll() is not None or time.perf_counter() - began_s > _LIMIT_S:
            running.kill()
            raise RuntimeError(f"not all musicians came: {(folder / 'said').read_text()[-2000:]}")
        time.sleep(_PACE_S)
    family = [running.pid, *(each.pid for each in psutil.Process(running.pid).children(recursive=True))]
    ours = agents = 0.0
    for pid in family:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            told = dict(
                line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            )
        except (OSError, ValueError):  # it has ended
            continue
        mib = float(told["Pss"].split()[0]) / 1024
        is_agents = command.startswith(_SHELLS) or b"scripted_acp.py\0" in command
        ours, agents = (ours, agents + mib) if is_agents else (ours + mib, agents)
    (folder / "go").touch()
    return ours, agents, len(family)


def _used_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
