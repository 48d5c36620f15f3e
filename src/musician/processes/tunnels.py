"""The inner side of a sandbox's way out; run there as a program of its own, with the standard library alone (D36).

Inside there is a loopback and no other network. ``python tunnels.py PORT ... -- PROGRAM`` becomes PROGRAM, and leaves a
process beside it that ends with the sandbox: at :data:`PROXY_PORT` it is an HTTP proxy, at each PORT it stands for that
port of the machine. It decides nothing: every connection goes to the outer side (``gateway``), which does.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

PROXY_PORT = 61080
"""Above the ports that a system gives away by itself."""
SOCKET = "/run/musician/out"
"""The outer side, as it is seen inside."""
MOST_CONNECTIONS = 64
"""At once. Others wait."""

_CHUNK_BYTES = 64 * 1024
_MOST_HEAD_BYTES = 8 * 1024
_HEAD_LIMIT_S = 10.0
_HEAD_END = b"\r\n\r\n"
_LOOPBACK = "127.0.0.1"


def serve(listener: socket.socket, handle: Callable[[socket.socket], None]) -> None:
    """Handle each connection in a thread, until the listener is shut down."""
    room = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def handled(connection: socket.socket) -> None:
        try:
            with suppress(OSError, UnicodeError), connection:  # a name may be none that can be written as one
                handle(connection)
        finally:
            room.release()

    while True:
        room.acquire()
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=handled, args=(connection,), daemon=True).start()


def head_of(connection: socket.socket) -> tuple[bytes, bytes]:
    """Return an HTTP head, and what came with it; OSError if there is none in time, or a longer one."""
    got = b""
    connection.settimeout(_HEAD_LIMIT_S)
    while _HEAD_END not in got:
        if len(got) > _MOST_HEAD_BYTES or not (more := connection.recv(_CHUNK_BYTES)):
            raise OSError("no head")
        got += more
    connection.settimeout(None)
    head, _, rest = got.partition(_HEAD_END)
    return head, rest


def join(one: socket.socket, other: socket.socket) -> None:
    """Pass on what each says to the other, until both have ended."""
    back = threading.Thread(target=_pass_on, args=(other, one), daemon=True)
    back.start()
    _pass_on(one, other)
    back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK_BYTES):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _pass_out(connection: socket.socket, port: int) -> None:
    with socket.socket(socket.AF_UNIX) as outer:
        outer.connect(SOCKET)
        if port != PROXY_PORT:
            outer.sendall(f"CONNECT {_LOOPBACK}:{port} HTTP/1.1".encode() + _HEAD_END)
            answer, rest = head_of(outer)
            if b" 200 " not in answer:
                return
            connection.sendall(rest)
        join(connection, outer)


def _listening(port: int) -> socket.socket | None:
    with suppress(OSError):  # a port that only root may have: nothing stands there
        return socket.create_server((_LOOPBACK, port), backlog=MOST_CONNECTIONS)
    return None


def _stay_beside(listeners: dict[int, socket.socket]) -> None:
    """Keep nothing of the program's: who waits for the end of a pipe of its must not wait for us."""
    os.setsid()
    spared = sorted(listener.fileno() for listener in listeners.values())
    for first, last in zip([-1, *spared], [*spared, os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(first + 1, last)
    for port, listener in listeners.items():
        threading.Thread(target=serve, args=(listener, lambda each, port=port: _pass_out(each, port))).start()


def _environment() -> dict[bytes, bytes]:
    """Return what we were given: Python may have put a locale into its own."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (each.partition(b"=") for each in file.read().split(b"\0") if each)
        return {name: value for name, _, value in pairs}


def main(words: list[str]) -> None:
    at = words.index("--")
    found = {port: _listening(port) for port in (PROXY_PORT, *map(int, words[:at]))}
    listeners = {port: listener for port, listener in found.items() if listener is not None}
    if (child := os.fork()) == 0:
        if os.fork() == 0:
            _stay_beside(listeners)
            return
        os._exit(0)
    os.waitpid(child, 0)  # the other is no child of the program's
    for taken_from_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(taken_from_python, signal.SIG_DFL)
    argv = words[at + 1 :]
    try:
        os.execvpe(argv[0], argv, _environment())  # noqa: S606 - what bwrap would have done
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
