"""Running a checkpoint's commands and judging what came out (D16).

The program runs them, in the tree, by ``bash -c``; nobody's word stands for a run. They are run in order,
the first that is not green ends the verification, and a failing one is run again alone to tell a real
failure from a flaky one. A command that timed out, could not be run, or ran no test is not run again: a
repetition would say nothing new.

pytest, wherever in a command it is hidden, is asked by PYTEST_ADDOPTS to record its tests outside the tree;
of several in one command the last record counts. Python writes no byte code meanwhile: a verification
leaves the tree as it was, and an edit within the same second is not hidden by a stale cache.
"""

import os
import shlex
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from musician.processes.identity import ProcessIdentity
from musician.processes.output import OutputLog, one_line, printable
from musician.processes.spawn import run_program
from musician.verification.counts import read_junit, read_unittest
from musician.verification.flaky import RERUNS, Repeat, judge
from musician.verification.result import CommandResult, VerificationResult

__all__ = ["MAX_TAIL_BYTES", "verify"]

MAX_TAIL_BYTES = 8 * 1024
"""Of a command's output, kept in its result."""

_MAX_SUMMARY_BYTES = 64 * 1024
"""Of a command's output, searched for a runner's closing lines."""

_MAX_NOTE_CHARS = 500


async def verify(
    commands: Sequence[str],
    *,
    tree: Path,
    tree_id: str,
    log: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    checkpoint: int,
    full: bool,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
) -> VerificationResult:
    """Run ``commands`` in ``tree``, output appended to ``log``; each run of a command gets ``time_limit_s``.

    ``env`` is added to this process's environment. Raises nothing of its own: what cannot be run is not
    green, and its ``note`` begins with "cannot run".
    """
    settled: list[_Settled] = []
    trouble = "" if commands else "cannot run: no test command"
    try:
        with (
            OutputLog(log) as output,
            tempfile.TemporaryDirectory(prefix="musician-", ignore_cleanup_errors=True) as folder,
        ):
            stand = _Stand(
                tree=tree,
                output=output,
                env=env,
                time_limit_s=time_limit_s,
                on_process=on_process,
                records=Path(folder),
            )
            for command in commands:
                settled.append(await _settle(stand, command))
                if not settled[-1].green:
                    break
    except OSError as error:
        trouble = f"cannot run: {error}"
    notes = [trouble, *(item.note for item in settled)]
    return VerificationResult(
        passed=not trouble and all(item.green for item in settled),
        commands=tuple(item.result for item in settled),
        tree_id=tree_id,
        full=full,
        checkpoint=checkpoint,
        note=one_line("; ".join(note for note in notes if note), _MAX_NOTE_CHARS),
        flaky=any(item.repeat in (Repeat.FLAKY, Repeat.MIXED) for item in settled),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """A command with everything known about it; ``repeat`` is None if it was run once."""

    result: CommandResult
    green: bool
    note: str = ""
    repeat: Repeat | None = None


async def _settle(stand: "_Stand", command: str) -> _Settled:
    first = await stand.run(command)
    if first.passed or first.timed_out or first.ran_nothing or not first.could_run:
        return _Settled(result=first, green=first.passed, note=first.why)
    reruns: list[CommandResult] = []
    while (repeat := judge([rerun.passed for rerun in reruns])) is Repeat.UNDECIDED:
        reruns.append(await stand.run(command))
    passes = sum(rerun.passed for rerun in reruns)
    if repeat is Repeat.REAL:
        note = f"failed again in {RERUNS} of {RERUNS} re-runs"
        return _Settled(result=first, green=False, note=note, repeat=repeat)
    note = f"flaky: passed {passes} of {len(reruns)} re-runs"
    if repeat is Repeat.FLAKY:
        return _Settled(result=reruns[-1], green=True, note=f"{note} after {first.why}", repeat=repeat)
    return _Settled(result=first, green=False, note=f"{note}, escalate", repeat=repeat)


@dataclass(slots=True, kw_only=True)
class _Stand:
    """What all commands of a verification share."""

    tree: Path
    output: OutputLog
    env: Mapping[str, str]
    time_limit_s: float
    on_process: Callable[[ProcessIdentity], Awaitable[None]]
    records: Path
    runs: int = field(default=0, init=False)

    async def run(self, command: str) -> CommandResult:
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
        record = read_junit(record_path) or read_unittest(heard.decode("utf-8", "replace"))
        return CommandResult(
            command=command,
            exit_code=ended.returncode,
            timed_out=ended.timed_out,
            counts=None if record is None else record.counts,
            failed_tests=() if record is None else record.failed_tests,
            tail=printable(heard[-MAX_TAIL_BYTES:].decode("utf-8", "replace")),
            duration_s=anyio.current_time() - began_s,
        )

    def _environment(self, record_path: Path) -> dict[str, str]:
        env = {"PYTHONDONTWRITEBYTECODE": "1", **os.environ, **self.env}
        record = shlex.quote(f"--junitxml={record_path}")
        env["PYTEST_ADDOPTS"] = f"{env.get('PYTEST_ADDOPTS', '')} {record}".strip()
        return env
