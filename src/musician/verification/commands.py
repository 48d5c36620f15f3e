"""Running one command in one tree, its tests recorded outside the tree.

pytest, wherever in a command it is hidden, is asked by PYTEST_ADDOPTS to record its tests; of several in one
command the last record counts. Python writes no byte code meanwhile: a verification leaves the tree as it was, and
an edit within the same second is not hidden by a stale cache.
"""

import os
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from musician.processes.identity import ProcessIdentity
from musician.processes.output import OutputLog, printable
from musician.processes.scratch import ScratchFolder
from musician.processes.spawn import run_program
from musician.verification.counts import TestRecord, read_junit, read_unittest
from musician.verification.result import CommandResult

__all__ = ["MAX_TAIL_BYTES", "CommandRunner", "Ran", "command_runner"]

MAX_TAIL_BYTES = 8 * 1024
"""Of a command's output, kept in its result."""

_MAX_SUMMARY_BYTES = 64 * 1024
"""Of a command's output, searched for a runner's closing lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A result, and what is of use only while the verification runs: the record and the end of the output."""

    result: CommandResult
    record: TestRecord | None
    heard: str


@dataclass(slots=True, kw_only=True)
class CommandRunner:
    """What all commands of a verification share; ``spent_s`` is how long they took together."""

    tree: Path
    output: OutputLog
    env: Mapping[str, str]
    time_limit_s: float
    on_process: Callable[[ProcessIdentity], Awaitable[None]]
    records: Path
    runs: int = field(default=0, init=False)
    spent_s: float = field(default=0.0, init=False)

    def elsewhere(self, tree: Path, *, env: Mapping[str, str], time_limit_s: float) -> "CommandRunner":
        """A runner for another tree that writes to the same log; ``env`` is added to this one's."""
        records = self.records / tree.name
        records.mkdir(exist_ok=True)
        return replace(self, tree=tree, env={**self.env, **env}, time_limit_s=time_limit_s, records=records)

    async def run(self, command: str) -> Ran:
        self.runs += 1
        record_path = self.records / f"{self.runs}.xml"
        self.output.remark(f"$ {command}")
        heard = bytearray()

        async def hear(data: bytes) -> None:
            self.output.write(data)
            heard.extend(data)
            del heard[:-_MAX_SUMMARY_BYTES]

        began_s = anyio.current_time()
        ended = await run_program(
            ["bash", "-c", command],
            cwd=self.tree,
            env=self._environment(record_path),
            on_output=hear,
            time_limit_s=self.time_limit_s,
            on_process=self.on_process,
        )
        duration_s = anyio.current_time() - began_s
        self.spent_s += duration_s
        text = heard.decode("utf-8", "replace")
        record = read_junit(record_path) or read_unittest(text)
        result = CommandResult(
            command=command,
            exit_code=ended.returncode,
            timed_out=ended.timed_out,
            counts=None if record is None else record.counts,
            failed_tests=() if record is None else record.failed_tests,
            tail=printable(heard[-MAX_TAIL_BYTES:].decode("utf-8", "replace")),
            duration_s=duration_s,
        )
        return Ran(result=result, record=record, heard=text)

    def _environment(self, record_path: Path) -> dict[str, str]:
        env = {"PYTHONDONTWRITEBYTECODE": "1", **os.environ, **self.env}
        record = shlex.quote(f"--junitxml={record_path}")
        env["PYTEST_ADDOPTS"] = f"{env.get('PYTEST_ADDOPTS', '')} {record}".strip()
        return env


@contextmanager
def command_runner(
    *,
    tree: Path,
    log: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
) -> Iterator[CommandRunner]:
    """Commands in ``tree``, each with ``time_limit_s``, output appended to ``log``; OSError if that cannot be."""
    with (
        OutputLog(log) as output,
        ScratchFolder("tests") as folder,
    ):
        yield CommandRunner(
            tree=tree,
            output=output,
            env=env,
            time_limit_s=time_limit_s,
            on_process=on_process,
            records=Path(folder),
        )
