"""Running programs: order, output, limits, and nothing left behind, however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from musician.processes.identity import ProcessIdentity, is_running
from musician.processes.lease import LEASE_VARIABLE
from musician.processes.spawn import CHUNK_BYTES, Ended, run_program, speak_with
from musician.testing.waiting import HANG_S


class Run:
    """One call of ``run_program`` and what it told."""

    def __init__(self, folder: Path, env: dict[str, str], *argv: str, time_limit_s: float = HANG_S) -> None:
        self.folder, self.env, self.argv, self.time_limit_s = folder, env, argv, time_limit_s
        self.output = b""
        self.identities: list[ProcessIdentity] = []

    async def on_output(self, chunk: bytes) -> None:
        assert 0 < len(chunk) <= CHUNK_BYTES
        self.output += chunk

    async def on_process(self, identity: ProcessIdentity) -> None:
        self.identities.append(identity)

    async def play(self) -> Ended:
        return await run_program(
            self.argv,
            cwd=self.folder,
            env=self.env,
            on_output=self.on_output,
            time_limit_s=self.time_limit_s,
            on_process=self.on_process,
        )


def test_git_looks_no_further_up_than_the_tree(tmp_path: Path) -> None:
    """AUDIT-U6: whatever ceilings the user has set himself."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    tree = tmp_path / "trees" / "task"
    (tree / "sub").mkdir(parents=True)
    script = "cd sub; git rev-parse --show-toplevel || echo none"
    for own in ({}, {"GIT_CEILING_DIRECTORIES": "/somewhere"}):
        run = Run(tree, {"PATH": os.environ["PATH"], **own}, "sh", "-c", script)
        anyio.run(run.play)
        assert run.output.endswith(b"none\n")
    subprocess.run(["git", "init", "-q", tree], check=True)
    run = Run(tree, {"PATH": os.environ["PATH"]}, "sh", "-c", script)
    anyio.run(run.play)
    assert run.output == os.fsencode(tree.resolve()) + b"\n"


def test_the_identity_is_known_before_anything_is_executed(trees: Any) -> None:
    seen = []

    class Recorded(Run):
        async def on_process(self, identity: ProcessIdentity) -> None:
            await anyio.lowlevel.checkpoint()
            seen.append((is_running(identity), identity.pgid == identity.pid, os.path.exists(marker)))

    marker = trees.folder / "executed"
    assert anyio.run(Recorded(trees.folder, trees.env, "touch", str(marker)).play) == Ended(
        returncode=0, timed_out=False
    )
    assert seen == [(True, True, False)]
    assert marker.exists()


def test_a_failure_to_record_executes_nothing(trees: Any) -> None:
    class Unrecorded(Run):
        async def on_process(self, identity: ProcessIdentity) -> None:
            raise LookupError("no database")

    with pytest.raises(LookupError):
        anyio.run(Unrecorded(trees.folder, trees.env, "touch", "executed").play)
    assert not (trees.folder / "executed").exists()
    assert trees.living() == []


def test_both_outputs_come_in_the_order_they_were_written(trees: Any) -> None:
    script = "for n in 1 2 3; do echo out $n; echo err $n >&2; done; printf '\\xff\\xfe'; exit 4"
    run = Run(trees.folder, trees.env, "bash", "-c", script)
    assert anyio.run(run.play) == Ended(returncode=4, timed_out=False)
    assert run.output == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n\xff\xfe"


def test_output_comes_while_the_program_runs(trees: Any) -> None:
    """The program waits for what only the receiver of its first line makes."""

    class Answered(Run):
        async def on_output(self, chunk: bytes) -> None:
            await super().on_output(chunk)
            (trees.folder / "answer").touch()

    script = "echo question; until [ -e answer ]; do sleep 0.01; done; echo thanks"
    run = Answered(trees.folder, trees.env, "bash", "-c", script)
    assert anyio.run(run.play) == Ended(returncode=0, timed_out=False)
    assert run.output == b"question\nthanks\n"


def test_a_hundred_megabytes_come_through_whole_in_bounded_chunks(trees: Any) -> None:
    class Counted(Run):
        count = 0

        async def on_output(self, chunk: bytes) -> None:
            assert len(chunk) <= CHUNK_BYTES
            self.count += len(chunk)

    run = Counted(trees.folder, trees.env, "head", "-c", "100000000", "/dev/zero")
    assert anyio.run(run.play).returncode == 0
    assert run.count == 100_000_000


def test_a_slow_receiver_loses_nothing(trees: Any) -> None:
    class Slow(Run):
        async def on_output(self, chunk: bytes) -> None:
            await super().on_output(chunk)
            await anyio.sleep(0.05)

    run = Slow(trees.folder, trees.env, "head", "-c", "500000", "/dev/zero")
    assert anyio.run(run.play).returncode == 0
    assert len(run.output) == 500_000


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exec >&- 2>&-; sleep 0.3; exit 6", 6),
        ("sleep 300 & exit 5", 5),
        ("setsid bash -c 'trap \"\" TERM; sleep 300 & wait' & exit 8", 8),
        ("kill -KILL $$", 137),
    ],
    ids=["closes its output and runs on", "an heir holds its output", "a daemon holds it", "killed"],
)
def test_the_end_is_the_programs_whoever_holds_its_output(trees: Any, script: str, code: int) -> None:
    run = Run(trees.folder, trees.env, "bash", "-c", script)
    assert anyio.run(run.play) == Ended(returncode=code, timed_out=False)
    assert trees.living() == []


def test_a_missing_program_ends_with_127_and_says_so(trees: Any) -> None:
    run = Run(trees.folder, trees.env, "no-such-program", "--flag")
    assert anyio.run(run.play) == Ended(returncode=127, timed_out=False)
    assert run.output == b"musician: cannot run no-such-program: No such file or directory\n"


def test_the_folder_may_have_any_name_and_be_gone(trees: Any) -> None:
    folder = trees.folder / "mit Leerzeichen – äöü\n'\""
    gone = Run(folder, trees.env, "pwd")
    assert anyio.run(gone.play).returncode == 127
    assert b"cannot enter" in gone.output
    folder.mkdir()
    run = Run(folder, trees.env, "pwd")
    assert anyio.run(run.play).returncode == 0
    assert run.output == os.fsencode(folder) + b"\n"


def test_a_program_works_in_its_own_repository_whoever_started_us(trees: Any) -> None:
    """A run that is started by a git hook has GIT_DIR and GIT_INDEX_FILE in its environment."""
    aimed = {
        **trees.env,
        "GIT_DIR": "/elsewhere/.git",
        "GIT_INDEX_FILE": "/elsewhere/index",
        "GIT_PAGER": "cat",
    }
    run = Run(trees.folder, aimed, "env")
    anyio.run(run.play)
    said = run.output.decode()
    assert "GIT_PAGER=cat" in said
    assert "/elsewhere" not in said


def test_the_mark_of_a_lease_is_not_handed_on(trees: Any) -> None:
    run = Run(trees.folder, {**trees.env, LEASE_VARIABLE: "1", "KEPT": "yes"}, "env")
    assert anyio.run(run.play).returncode == 0
    assert b"KEPT=yes" in run.output
    assert LEASE_VARIABLE.encode() not in run.output


def test_out_of_time_the_whole_tree_is_gone_and_its_last_words_are_kept(trees: Any, stubborn: str) -> None:
    run, ended = _out_of_time(trees, f"echo first; {stubborn}")
    assert ended.timed_out
    assert trees.living() == []
    assert run.output == b"first\n"

    run, ended = _out_of_time(trees, "trap 'echo last words; exit 9' TERM; echo first; sleep 300 & wait")
    assert ended == Ended(returncode=9, timed_out=True)
    assert run.output == b"first\nlast words\n"


def _out_of_time(trees: Any, script: str) -> tuple[Run, Ended]:
    """Its run under the shortest limit within which it gets to its first word on this machine as it is now."""
    for time_limit_s in (1, 5, 25, HANG_S / 2):
        run = Run(trees.folder, trees.env, "bash", "-c", script, time_limit_s=time_limit_s)
        ended = anyio.run(run.play)
        if run.output:
            break
    return run, ended


def test_cancelled_the_whole_tree_is_gone_though_it_minds_no_signal(trees: Any, stubborn: str) -> None:
    _cancel(trees, Run(trees.folder, trees.env, "bash", "-c", stubborn))
    assert trees.living() == []


def test_cancelled_with_a_stopped_leash_it_is_gone_as_well(trees: Any, stubborn: str) -> None:
    run = Run(trees.folder, trees.env, "bash", "-c", stubborn)

    def stop() -> None:
        os.kill(run.identities[0].pid, signal.SIGSTOP)

    _cancel(trees, run, stop)
    assert trees.living() == []


def _cancel(trees: Any, run: Run, first: Callable[[], None] = lambda: None) -> None:
    """Return once the call has ended that was cancelled when its program was up."""

    async def play() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run.play)
            with anyio.fail_after(HANG_S):
                while not trees.exists("started"):
                    await anyio.sleep(0.01)
            first()
            group.cancel_scope.cancel()

    anyio.run(play)


def test_an_error_of_the_receiver_ends_the_tree_and_comes_out_as_it_is(trees: Any, stubborn: str) -> None:
    class Failing(Run):
        async def on_output(self, chunk: bytes) -> None:
            raise LookupError("no log")

    with pytest.raises(LookupError, match="no log"):
        anyio.run(Failing(trees.folder, trees.env, "bash", "-c", f"echo up; {stubborn}").play)
    assert trees.living() == []


def test_a_killed_leash_leaves_nothing_in_its_session(trees: Any) -> None:
    class Killed(Run):
        async def on_output(self, chunk: bytes) -> None:
            os.kill(self.identities[0].pid, signal.SIGKILL)

    script = "trap '' TERM; set -m; bash -c 'trap \"\" TERM; sleep 300 & wait' & echo up; wait"
    run = Killed(trees.folder, trees.env, "bash", "-c", script)
    assert anyio.run(run.play) == Ended(returncode=137, timed_out=False)
    assert trees.living() == []


def test_a_killed_kennel_takes_nothing_with_it_and_the_next_program_has_a_new_one(trees: Any) -> None:
    """The kennel is what the leash was forked from."""
    kennels = []

    class Orphaned(Run):
        async def on_output(self, chunk: bytes) -> None:
            await super().on_output(chunk)
            if chunk == b"up\n":
                kennel = psutil.Process(self.identities[0].pid).parent()
                assert kennel is not None
                kennels.append(kennel.pid)
                kennel.kill()
                kennel.wait(HANG_S)
                (trees.folder / "go").touch()

    script = "echo up; until [ -e go ]; do sleep 0.01; done; echo still here; exit 3"
    run = Orphaned(trees.folder, trees.env, "bash", "-c", script)
    assert anyio.run(run.play) == Ended(returncode=3, timed_out=False)
    assert run.output == b"up\nstill here\n"
    (trees.folder / "go").unlink()
    again = Orphaned(trees.folder, trees.env, "bash", "-c", script)
    assert anyio.run(again.play) == Ended(returncode=3, timed_out=False)
    assert kennels[0] != kennels[1]
    assert trees.living() == []


def test_many_runs_at_once_keep_apart_and_leave_no_descriptor(trees: Any) -> None:
    runs = [Run(trees.folder, trees.env, "bash", "-c", f"echo {n}; exit {n}") for n in range(12)]
    before = os.listdir("/proc/self/fd")
    ends: dict[int, Ended] = {}

    async def play(number: int) -> None:
        ends[number] = await runs[number].play()

    async def play_all() -> None:
        async with anyio.create_task_group() as group:
            for number in range(len(runs)):
                group.start_soon(play, number)

    anyio.run(play_all)
    assert {number: ended.returncode for number, ended in ends.items()} == {n: n for n in range(12)}
    assert [run.output for run in runs] == [f"{n}\n".encode() for n in range(12)]
    assert len(os.listdir("/proc/self/fd")) == len(before)


PARENT = """
import os, sys, anyio
from pathlib import Path
from typing import Any
from musician.processes.spawn import run_program

async def ignore(_): pass

async def main():
    async with anyio.create_task_group() as group:
        for name in sys.argv[2:]:
            Path(name).mkdir()
            group.start_soon(lambda name=name: run_program(
                ["bash", "-c", sys.argv[1]], cwd=Path(name).resolve(), env=dict(os.environ),
                on_output=ignore, time_limit_s=300, on_process=ignore))

anyio.run(main)
"""


def test_sigkill_of_the_parent_leaves_nothing_behind(
    trees: Any, stubborn: str, until: Callable[..., None]
) -> None:
    parent = trees.start(sys.executable, "-c", PARENT, stubborn, "one", "two")
    until(lambda: trees.exists("one/started") and trees.exists("two/started"))
    until(lambda: len([process for process in trees.living() if process.name() == "sleep"]) == 4)
    parent.kill()
    parent.wait()
    until(lambda: trees.living() == [])


def test_sigkill_of_the_parent_before_the_go_leaves_nothing_behind(
    trees: Any, until: Callable[..., None]
) -> None:
    code = PARENT.replace(
        "on_process=ignore", "on_process=lambda _: (Path('at-go').write_text('x'), anyio.sleep(300))[1]"
    )
    parent = trees.start(sys.executable, "-c", code, "echo x > executed", "one")
    until(lambda: trees.exists("at-go"))
    assert [process.pid for process in psutil.Process(parent.pid).children()] != []
    parent.kill()
    parent.wait()
    until(lambda: trees.living() == [])
    assert not trees.exists("one/executed")


async def _nobody_records(_: ProcessIdentity) -> None:
    pass


def test_what_a_program_hears_says_and_complains_of_are_three_pipes(trees: Any) -> None:
    script = "echo ready >&2; while read line; do echo got $line; echo odd $line >&2; done; echo end; exit 3"

    async def speak() -> tuple[bytes, bytes, int]:
        async with speak_with(
            ["bash", "-c", script], cwd=trees.folder, env=trees.env, on_process=_nobody_records
        ) as program:
            assert await program.read_error() == b"ready\n"
            await program.write(b"one\n")
            assert await program.read() == b"got one\n"
            assert await program.read_error() == b"odd one\n"
            await program.write(b"two\nlast")
            program.end_input()
            said = b"".join([chunk async for chunk in _all_of(program.read)])
            complained = b"".join([chunk async for chunk in _all_of(program.read_error)])
            return said, complained, await program.wait()

    assert anyio.run(speak) == (b"got two\nend\n", b"odd two\n", 3)


async def _all_of(read: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes]:
    while chunk := await read():
        yield chunk


def test_a_hundred_texts_of_many_writers_arrive_whole(trees: Any) -> None:
    """Each is larger than a pipe holds, and who reads is slow."""
    texts = [bytes([65 + n % 26]) * 100_000 + b"\n" for n in range(20)]

    async def speak() -> bytes:
        async with (
            speak_with(["cat"], cwd=trees.folder, env=trees.env, on_process=_nobody_records) as program,
            anyio.create_task_group() as group,
        ):
            for text in texts:
                group.start_soon(program.write, text)
            heard = b""
            while len(heard) < sum(map(len, texts)):
                heard += await program.read()
        return heard

    assert sorted(anyio.run(speak).splitlines(keepends=True)) == sorted(texts)


def test_who_speaks_to_a_program_that_has_ended_is_told(trees: Any) -> None:
    async def speak() -> None:
        async with speak_with(
            ["true"], cwd=trees.folder, env=trees.env, on_process=_nobody_records
        ) as program:
            assert await program.read() == b""
            assert await program.wait() == 0
            with pytest.raises(BrokenPipeError):
                await program.write(b"hello\n")

    anyio.run(speak)


def test_leaving_a_program_ends_all_that_came_out_of_it_and_leaves_no_descriptor(
    trees: Any, stubborn: str
) -> None:
    """It hears the end of its input, which it may ignore, and goes all the same."""
    anyio.run(Run(trees.folder, trees.env, "true").play)  # the kennel's own stay
    before = os.listdir("/proc/self/fd")

    async def speak() -> None:
        async with speak_with(
            ["bash", "-c", f"echo begun; {stubborn}"],
            cwd=trees.folder,
            env=trees.env,
            on_process=_nobody_records,
        ) as program:
            assert await program.read() == b"begun\n"

    anyio.run(speak)
    assert trees.living() == []
    assert len(os.listdir("/proc/self/fd")) == len(before)
