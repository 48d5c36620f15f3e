"""Runs one command in one tree, and records its tests outside the tree.

pytest and unittest, wherever in a command they are hidden, are made to record their tests by what Python finds on its
path (``inside``); the project's own reports stay as they are configured. A command that plainly starts one of them and
leaves no record has not run its tests, whatever it prints. Python writes no byte code meanwhile: a verification leaves
the tree as it was, and an edit within the same second is not hidden by a stale cache.
"""

import os
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from tempfile import mkdtemp

import anyio

from musician.processes.identity import ProcessIdentity
from musician.processes.output import OutputLog, printable
from musician.processes.scratch import ScratchFolder
from musician.processes.spawn import run_program
from musician.protocol.values import dataclass, replace
from musician.verification.counts import Outcome, TestRecord, read_records
from musician.verification.invocation import read_invocation
from musician.verification.result import CommandResult
from musician.verification.summaries import read_summaries

MAX_TAIL_BYTES = 8 * 1024
"""Of a command's output, kept in its result."""

_MAX_SUMMARY_BYTES = 256 * 1024
"""Of a command's output, searched for what runners say of their tests."""

_INSIDE = str(Path(__file__).with_name("inside"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A result, with the record and the end of the output, which are needed only while the verification runs."""

    result: CommandResult
    record: TestRecord | None
    heard: str

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """How each test ended that has a name."""
        return {} if self.record is None else self.record.outcomes


@dataclass(slots=True, kw_only=True)
class CommandRunner:
    """Runs all commands of a verification; ``spent_s`` is how long they took together."""

    tree: Path
    output: OutputLog
    env: Mapping[str, str]
    time_limit_s: float
    on_process: Callable[[ProcessIdentity], Awaitable[None]]
    records: Path
    runs: int = field(default=0, init=False)
    spent_s: float = field(default=0.0, init=False)

    def elsewhere(self, tree: Path, *, env: Mapping[str, str], time_limit_s: float) -> "CommandRunner":
        """Return a runner for another tree that writes to the same log; ``env`` is added to this one's."""
        records = Path(mkdtemp(dir=self.records))
        return replace(self, tree=tree, env={**self.env, **env}, time_limit_s=time_limit_s, records=records)

    async def run(self, command: str, *, to_the_end: bool = False) -> Ran:
        """Run a command. ``to_the_end``: its test runner, if we can tell it so, does not stop at failures."""
        self.runs += 1
        records = self.records / str(self.runs)
        records.mkdir()
        self.output.remark(f"$ {command}")
        heard = bytearray()

        async def hear(data: bytes) -> None:
            self.output.write(data)
            heard.extend(data)
            del heard[:-_MAX_SUMMARY_BYTES]

        began_s = anyio.current_time()
        ended = await run_program(
            ["bash", "-c", _with_path_kept(command)],
            cwd=self.tree,
            env={**self._environment(records), **({"MUSICIAN_TO_THE_END": "1"} if to_the_end else {})},
            on_output=hear,
            time_limit_s=self.time_limit_s,
            on_process=self.on_process,
        )
        duration_s = anyio.current_time() - began_s
        self.spent_s += duration_s
        text = heard.decode("utf-8", "replace")
        recorded = read_records(records)
        must_record = recorded.was_seen and read_invocation(command) is not None
        record = recorded.record or (None if must_record else read_summaries(text))
        result = CommandResult(
            command=command,
            exit_code=ended.returncode,
            timed_out=ended.timed_out,
            counts=None if record is None else record.counts,
            failed_tests=() if record is None else record.failed_tests,
            tail=printable(heard[-MAX_TAIL_BYTES:].decode("utf-8", "replace")),
            duration_s=duration_s,
            unreported=recorded.unreported or (must_record and record is None),
        )
        return Ran(result=result, record=record, heard=text)

    def _environment(self, records: Path) -> dict[str, str]:
        env = {"PYTHONDONTWRITEBYTECODE": "1", **os.environ, **self.env, "MUSICIAN_RECORD": str(records)}
        env["PYTHONPATH"] = os.pathsep.join([_INSIDE, *filter(None, [env.get("PYTHONPATH")])])
        return env


def _with_path_kept(command: str) -> str:
    """Return ``command`` changed so that a PYTHONPATH that it sets itself keeps our folder."""
    kept = f"PYTHONPATH={shlex.quote(_INSIDE)}:"
    return re.sub(r"(^|\s)PYTHONPATH=", lambda found: f"{found[1]}{kept}", command)


@contextmanager
def command_runner(
    *,
    tree: Path,
    log: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
) -> Iterator[CommandRunner]:
    """Yield a runner for commands in ``tree``, each with ``time_limit_s``, output appended to ``log``;
    OSError if that fails.
    """
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
