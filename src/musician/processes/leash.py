"""The leash: a small program that plays another one and leaves nothing of it behind.

    python -I -S leash.py CWD PROGRAM [ARGUMENT…]
    python -I -S leash.py --kennel

Its standard input is a pipe whose other end belongs to whoever started it, and to nobody else. It waits there
for one byte, so that its own identity can be recorded before anything of the program is executed (D23); only
then does it start the program, in ``CWD``, with an empty standard input, or with the one that a kennel's was
given. When the program ends, or the pipe does (its starter let go, or died in whatever way), it ends everything
that came out of the program, and then itself.

Nothing gets away, because the leash is a subreaper: what daemonised itself, into whatever session, becomes a
child of the leash as soon as its parent is gone, and a child's pid cannot be reused before it is reaped. What
a program left running in the background is therefore ended with it, on purpose. The order: SIGTERM,
``GRACE_S``, SIGKILL again and again until no child is left. What cannot be killed (another user's) is given
up after ``KILL_LIMIT_S``.

The exit code is the program's; 128 + N if signal N ended it; 127 or 126, with a line on standard error, if it
could not be started. It needs nothing but the standard library and imports nothing of this package.

Starting Python takes longer than all of this. As a *kennel* it therefore forks a leash for each request on the socket
that is its standard input (``fork_server`` is the other side), reaps those that end, and ends with the socket. A leash
that was forked differs in nothing but that it tells its exit code, as one byte, to a pipe besides.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

TYPE_CHECKING = False  # importing typing would take as long as all the rest
if TYPE_CHECKING:
    import socket
    from typing import NoReturn

GO = b"g"
KENNEL = "--kennel"
HEAD_BYTES = 8
"""A request's length, and a pid."""
DESCRIPTORS = 5
"""With a request: our end of the lease, the program's input, output and errors, and the exit code's pipe."""
GRACE_S = 0.5
KILL_LIMIT_S = 10.0

Play = Callable[[str, list[str], dict[bytes, bytes], int], int]

_PACE_S = 0.02
STARTER = 0
_NOT_FOUND, _NOT_RUNNABLE = 127, 126
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 1, 36, 37
_END_SIGNALS = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP))


def become_subreaper(*, is_one: bool = True) -> bool:
    """Make this process the parent of every orphan among its descendants; False where the system cannot."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, is_one)


def is_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    found = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return bool(found.value)


def main(arguments: list[str]) -> int:
    if arguments == [KENNEL]:
        return serve(_play)
    nothing = os.open(os.devnull, os.O_RDONLY)
    return _play(arguments[0], arguments[1:], _own_environment(), nothing)


def packed(program: Sequence[bytes], env: Mapping[str, str]) -> bytes:
    """A request: how many words, the folder and the program's words, its environment."""
    pairs = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    return b"\0".join([b"%d" % len(program), *program, *pairs])


def serve(play: Play) -> int:
    """Fork for each request on the socket that is standard input, until it ends; ``play`` ends as the exit code.

    It is called in a session of its own, with the requested outputs, the lease as standard input and no other
    descriptor of ours: with a folder, a program's words, its environment and its standard input.
    """
    import socket

    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(fileno=os.dup(STARTER)) as line:
        while True:
            head, descriptors, _, _ = socket.recv_fds(line, HEAD_BYTES, DESCRIPTORS)
            body = _received(line, int.from_bytes(head, "big")) if len(head) == HEAD_BYTES else None
            if body is None:
                return 0
            if not os.fork():
                _leave_server(line.fileno(), body, play, *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)


def _play(cwd: str, program: list[str], env: dict[bytes, bytes], heard: int) -> int:
    """``heard`` is the program's standard input."""
    become_subreaper()
    if not os.read(STARTER, len(GO)):
        return 0
    wake = _listen()
    child = _start(cwd, program, env, heard)
    os.close(heard)  # only the program keeps it open, so that its end can be noticed at the other end
    _watch(child, wake)
    _ask_to_end(child, wake)
    return _end(child)


def _received(line: "socket.socket", size: int) -> bytes | None:
    parts = []
    while size:
        part = line.recv(min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _leave_server(
    line: int,
    body: bytes,
    play: Play,
    starter: int,
    heard: int,
    output: int,
    errors: int,
    told: int,
) -> "NoReturn":
    """In a fork: become what was asked for, as if it had been started as such, and say so."""
    code = _NOT_RUNNABLE
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor, number in ((starter, STARTER), (output, 1), (errors, 2)):
            os.dup2(descriptor, number)
            os.close(descriptor)
        for descriptor in (heard, told):
            # received descriptors are inheritable; Python's own are not
            os.set_inheritable(descriptor, False)
        os.write(line, os.getpid().to_bytes(HEAD_BYTES, "big"))
        os.close(line)
        count, *words = body.split(b"\0")
        cwd, *program = [os.fsdecode(word) for word in words[: int(count)]]
        pairs = (word.partition(b"=") for word in words[int(count) :])
        code = play(cwd, program, {name: value for name, _, value in pairs}, heard)
        os.write(told, bytes([code]))
    finally:
        os._exit(code)


def _reap(_number: int, _frame: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0)


def _listen() -> int:
    """A descriptor on which every signal that concerns us arrives as a byte."""
    wake, write = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_heeded()):
        signal.signal(number, lambda _number, _frame: None)
    return wake


def _heeded() -> list[signal.Signals]:
    """Return the signals to handle. Those ignored from the start stay ignored, for the program too (``nohup``)."""
    return [each for each in _END_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]


def _start(cwd: str, program: list[str], env: dict[bytes, bytes], heard: int) -> int:
    leash = os.getpid()
    child = os.fork()
    if not child:
        _become(leash, cwd, program, env, heard)
    with contextlib.suppress(OSError):  # parent and child both do it, because either may be first
        os.setpgid(child, child)
    return child


def _become(
    leash: int, cwd: str, program: list[str], env: dict[bytes, bytes], heard: int
) -> "NoReturn":  # pragma: no cover (exec forgets it)
    code, act = _NOT_RUNNABLE, "begin"
    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != leash:
            os._exit(code)
        signal.set_wakeup_fd(-1)
        # The interpreter ignores SIGPIPE and SIGXFSZ, which a program would inherit.
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *_heeded()):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(heard, STARTER)
        act = f"enter {cwd}"
        os.chdir(cwd)
        act = f"run {program[0]}"
        os.execvpe(program[0], program, env)  # noqa: S606
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            code = _NOT_FOUND
        os.write(2, f"musician: cannot {act}: {error.strerror}\n".encode(errors="surrogateescape"))
    finally:
        os._exit(code)


def _own_environment() -> dict[bytes, bytes]:
    """Return the environment we were started with: under the C locale the interpreter adds LC_CTYPE to its own."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    except OSError:
        return dict(os.environb)
    return {name: value for name, _, value in pairs}


def _watch(child: int, wake: int) -> None:
    """Return when the program has ended, the starter has let go, or a signal asks us to end."""
    while not _has_ended(child):
        ready, _, _ = select.select([STARTER, wake], [], [])
        if STARTER in ready:
            return
        if not _END_SIGNALS.isdisjoint(os.read(wake, 4096)):
            return


def _has_ended(child: int) -> bool:
    """Reap the orphans; leave the program a zombie, so that its group's number stays its own."""
    while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if ended.si_pid == child:
            return True
        os.waitpid(ended.si_pid, 0)
    return False


def _ask_to_end(child: int, wake: int) -> None:
    """SIGTERM to the program's group and the orphans outside it; return when all are gone, or the grace
    is."""
    deadline = time.monotonic() + GRACE_S
    if not any(_living_children()):
        return
    _send(os.killpg, child, signal.SIGTERM)
    for pid in _living_children():
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) != child:
                _send(os.kill, pid, signal.SIGTERM)
    while any(_living_children()) and time.monotonic() < deadline:
        _rest(wake)


def _end(child: int) -> int:
    """SIGKILL until no child is left; the program's exit code."""
    code = 128 + signal.SIGKILL
    deadline = time.monotonic() + KILL_LIMIT_S
    _send(os.killpg, child, signal.SIGKILL)
    while time.monotonic() < deadline:
        for pid in _living_children():
            _send(os.kill, pid, signal.SIGKILL)
        try:
            while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                if reaped[0] == child:
                    code = os.waitstatus_to_exitcode(reaped[1])
        except ChildProcessError:
            break
        time.sleep(_PACE_S)
    return code if code >= 0 else 128 - code


def _living_children() -> Iterator[int]:
    """Our children that still run. Every descendant is below one of them, or becomes one of them.

    Nothing where there is no ``/proc``: only the program's group is ended there.
    """
    own = str(os.getpid()).encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with contextlib.suppress(OSError, ValueError):
            pid = int(name)
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, parent = file.read().rpartition(b") ")[2].split(None, 2)[:2]
            if parent == own and state not in b"ZX":
                yield pid


def _rest(wake: int) -> None:
    if select.select([wake], [], [], _PACE_S)[0]:
        os.read(wake, 4096)


def _send(kill: Callable[[int, int], None], target: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(target, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
