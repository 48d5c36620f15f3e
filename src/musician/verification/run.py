"""Runs a checkpoint's commands and judges the results (D16).

The program runs them, in the tree, by ``bash -c``; a claim never replaces a run. They are run in order,
the first that is not green ends the verification, and a failing one is run again alone to tell a real
failure from a flaky one. A command that timed out, could not be run, or ran no test is not run again: a
repetition would say nothing new.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread

from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.protocol.errors import OperatorError
from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.verification.baseline import Before
from musician.verification.commands import CommandRunner, Ran, command_runner
from musician.verification.flaky import RERUNS, Repeat, judge
from musician.verification.imports import change_in_project
from musician.verification.integration import look_at_wholeness
from musician.verification.result import VerificationResult

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
    since: str | None = None,
    before: Before | None = None,
) -> VerificationResult:
    """Run ``commands`` in ``tree``, output appended to ``log``; each run of a command gets ``time_limit_s``.

    ``env`` is added to this process's environment. With ``since``, a commit, what changed since must hold together
    too: it compiles, and closes no import cycle. What failed ``before`` is excused (D27).
    Raises nothing of its own: what cannot be run is not green, and its ``note`` begins with "cannot run".
    """
    settled: list[Settled] = []
    trouble = "" if commands else "cannot run: no test command"
    try:
        with command_runner(
            tree=tree, log=log, env=env, time_limit_s=time_limit_s, on_process=on_process
        ) as runner:
            for command in commands:
                settled.append(await settle(runner, command, before=before))
                if not settled[-1].holds:
                    break
            if since is not None and settled and settled[-1].holds:
                trouble = await _torn(since, tree_id, commands, runner)
    except OSError as error:
        trouble = f"cannot run: {error}"
    return result_of(settled, trouble=trouble, tree_id=tree_id, checkpoint=checkpoint, full=full)


async def _torn(since: str, tree_id: str, commands: Sequence[str], runner: CommandRunner) -> str:
    """Return which part of the change since does not hold together; "" if all does, or it cannot be
    determined.
    """
    try:
        read = partial(change_in_project, Git(runner.tree), since, tree_id)
        change, project = await anyio.to_thread.run_sync(read)
    except OperatorError:
        return ""
    found = await look_at_wholeness(change, project, commands, runner)
    return "; ".join(found.faults)


def result_of(
    settled: Sequence["Settled"], *, trouble: str, tree_id: str, checkpoint: int, full: bool
) -> VerificationResult:
    """Combine the commands' runs into a result; ``trouble`` is why it could not go on, or ""."""
    notes = [trouble, *(item.note for item in settled)]
    return VerificationResult(
        passed=not trouble and all(item.holds for item in settled),
        commands=tuple(item.ran.result for item in settled),
        tree_id=tree_id,
        full=full,
        checkpoint=checkpoint,
        note=one_line("; ".join(note for note in notes if note), _MAX_NOTE_CHARS),
        flaky=any(item.repeat in (Repeat.FLAKY, Repeat.MIXED) for item in settled),
        excused=tuple(filter(None, (item.excused or item.shared for item in settled))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A command with everything known about it; ``repeat`` is None if it was run once.

    ``excused`` says which failures were there before the change; "" if none.
    """

    ran: Ran
    green: bool
    note: str = ""
    repeat: Repeat | None = None
    excused: str = ""
    shared: str = ""
    """Where not all is excused, what failed before too."""

    @property
    def holds(self) -> bool:
        """Whether the command does not hold the checkpoint back."""
        return self.green or bool(self.excused)


async def settle(
    runner: CommandRunner, command: str, *, first_run: Ran | None = None, before: Before | None = None
) -> Settled:
    """Run one command, and again as often as it takes to know what its failure means.

    ``first_run`` is its first run, if that was made already; what failed ``before`` is excused.
    """
    to_the_end = before is not None and before.covers(command)
    ran = first_run or await runner.run(command, to_the_end=to_the_end)
    first = ran.result
    if first.passed or first.timed_out or first.ran_nothing or not first.could_run:
        return Settled(ran=ran, green=first.passed, note=first.why)
    baseline = await before.ended(command) if before is not None and to_the_end else None

    def excused(ran: Ran) -> str:
        return baseline.says(ran) if baseline is not None and baseline.excuses(ran) else ""

    if excused(ran):
        return Settled(ran=ran, green=False, excused=excused(ran))
    reruns: list[Ran] = []
    passed: list[bool] = []
    while (repeat := judge(passed)) is Repeat.UNDECIDED:
        reruns.append(await runner.run(command, to_the_end=to_the_end))
        passed.append(reruns[-1].result.passed or bool(excused(reruns[-1])))
    passes = sum(passed)
    if repeat is Repeat.REAL:
        note = f"failed again in {RERUNS} of {RERUNS} re-runs"
        shared = "" if baseline is None else baseline.shared(ran)
        return Settled(ran=ran, green=False, note=note, repeat=repeat, shared=shared)
    note = f"flaky: passed {passes} of {len(reruns)} re-runs"
    if repeat is Repeat.FLAKY:
        last, note = reruns[-1], f"{note} after {first.why}"
        return Settled(ran=last, green=last.result.passed, note=note, repeat=repeat, excused=excused(last))
    return Settled(ran=ran, green=False, note=f"{note}, escalate", repeat=repeat)
