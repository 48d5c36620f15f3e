"""Stop signals are honoured at once, once, and by default when they come again (B32)."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from musician.interruption import STOP_SIGNALS
from musician.processes import signals
from musician.testing.waiting import HANG_S

PROGRAM = """
import sys, anyio
from musician.processes import signals
signals.ECHO_S = float(sys.argv[1])

async def main():
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        async def say_when_up():
            await anyio.lowlevel.checkpoint()
            print("up", flush=True)
        group.start_soon(say_when_up)
        stop = await signals.stop_requested()
        print(stop.name, flush=True)
        group.cancel_scope.cancel()
    sys.stdin.readline()
    print("wound down", flush=True)

anyio.run(main)
"""


def start(trees: Any, echo_s: float) -> Any:
    started = trees.python(PROGRAM, str(echo_s), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout.readline() == b"up\n"
    return started


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_sleeping_program_winds_down_at_once_and_heeds_no_echo(trees: Any, number: signal.Signals) -> None:
    program = start(trees, echo_s=HANG_S)
    for _ in range(50):  # from the first moment on
        program.send_signal(number)
    assert program.stdout.readline() == number.name.encode() + b"\n"
    for echo in STOP_SIGNALS:
        program.send_signal(echo)
    assert program.communicate(b"\n", timeout=HANG_S)[0] == b"wound down\n"
    assert program.returncode == 0


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_who_asks_again_later_is_not_made_to_wait(trees: Any, number: signal.Signals) -> None:
    program = start(trees, echo_s=0)
    program.send_signal(signal.SIGTERM)
    assert program.stdout.readline() == b"SIGTERM\n"
    program.send_signal(number)
    assert program.wait(HANG_S) == -number


@pytest.fixture
def restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (*STOP_SIGNALS, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_the_signal_is_returned(number: signal.Signals) -> None:
    async def main() -> signal.Signals:
        async with anyio.create_task_group() as group:

            async def send() -> None:
                await anyio.lowlevel.checkpoint()
                os.kill(os.getpid(), number)

            group.start_soon(send)
            stop = await signals.stop_requested()
        os.kill(os.getpid(), signal.SIGTERM)
        return stop

    assert anyio.run(main) is number


class Stopped(Exception):
    """A signal, as an error."""


@contextmanager
def laid(mark: Path, number: signal.Signals) -> Iterator[Path]:
    """A file for as long as the block lasts; the signal comes as soon as the file is there."""
    mark.touch()
    os.kill(os.getpid(), number)
    try:
        yield mark
    finally:
        mark.unlink()


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_that_comes_while_something_is_opened_leaves_nothing_of_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    """B32: a bell's socket was left by who was stopped between its opening and the block."""
    mark = tmp_path / "mark"

    def opened() -> AbstractContextManager[object]:
        entered = ExitStack()  # as a listener does, it is there before its block is
        entered.enter_context(laid(mark, number))
        return entered.pop_all()

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises((Stopped, KeyboardInterrupt)), signals.raising_on_signals(lambda _: Stopped(), opened):
        raise AssertionError("it was begun all the same")
    assert not mark.exists()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("restored")
def test_none_is_lost_while_nobody_waits_and_all_who_ask_are_told() -> None:
    """The one who waited first and is gone takes nothing with him."""
    told: list[signal.Signals] = []

    async def wait() -> None:
        told.append(await signals.stop_requested())

    async def main() -> None:
        with signals.hearing_stops() as is_asked_to:
            with anyio.move_on_after(0):
                await wait()
            assert not is_asked_to()
            os.kill(os.getpid(), signal.SIGHUP)
            assert is_asked_to()
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                group.start_soon(wait)

    anyio.run(main)
    assert told == [signal.SIGHUP] * 2


@pytest.mark.usefixtures("restored")
def test_other_signals_wake_nobody_and_who_leaves_first_leaves_the_others_their_ears() -> None:
    told: list[signal.Signals] = []
    signal.signal(signal.SIGUSR1, lambda *_: None)

    async def main() -> None:
        async def wait() -> None:
            told.append(await signals.stop_requested())

        async with anyio.create_task_group() as group:
            async with anyio.create_task_group() as first:
                first.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                group.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                first.cancel_scope.cancel()
            os.kill(os.getpid(), signal.SIGUSR1)
            await anyio.wait_all_tasks_blocked()
            assert not told
            os.kill(os.getpid(), signal.SIGTERM)

    anyio.run(main)
    assert told == [signal.SIGTERM]


@pytest.mark.usefixtures("restored")
def test_who_has_heard_nothing_leaves_the_signals_as_they_were() -> None:
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    with signals.hearing_stops(), signals.hearing_stops():
        pass
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_what_was_ignored_at_the_start_stays_ignored(trees: Any) -> None:
    """AUDIT-P20: nohup, and the background jobs of a shell."""
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    program = trees.python(PROGRAM, "0", stdin=subprocess.PIPE, stdout=subprocess.PIPE, **ignore)
    assert program.stdout.readline() == b"up\n"
    program.send_signal(signal.SIGHUP)
    program.send_signal(signal.SIGTERM)
    assert program.stdout.readline() == b"SIGTERM\n"
    program.send_signal(signal.SIGHUP)
    assert program.communicate(b"\n", timeout=HANG_S)[0] == b"wound down\n"


ON_LEASH = """
import anyio, os, pathlib
from musician.processes.spawn import run_program

async def tell(data):
    print(data.decode(), flush=True)

async def main():
    async def nobody(identity): ...
    look = ["grep", "SigIgn", "/proc/self/status"]
    cwd = pathlib.Path.cwd()
    await run_program(look, cwd=cwd, env=dict(os.environ), on_output=tell, time_limit_s=60, on_process=nobody)

anyio.run(main)
"""


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP,)], ids=["nothing", "SIGHUP"])
def test_a_program_on_a_leash_inherits_it(trees: Any, ignored: tuple[signal.Signals, ...]) -> None:
    """AUDIT-P20: what a step starts is as deaf as it was asked to be, and no deafer."""

    def ignore() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    program = trees.python(ON_LEASH, stdout=subprocess.PIPE, preexec_fn=ignore)
    mask = int(program.communicate(timeout=HANG_S)[0].split()[1], 16)
    heard = {signal.SIGHUP, signal.SIGTERM, signal.SIGINT}
    assert {number for number in heard if mask & 1 << number - 1} == set(ignored)
