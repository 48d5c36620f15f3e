"""A line between two programs that the same client has started: a hook asks, the tools' server answers.

The socket is of Linux' abstract kind, which has no file: it is gone with its process, and nothing stale can be found.
Its name is the client's pid, so that programs of one client find each other and nobody else. Anybody may take a name:
both sides look who is there, and speak only with a process of the same user; who asks, only with one that the client
itself has started. Imports nothing dear, because a hook asks.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

LIMIT_S = 1.0
"""For one question and its answer."""

MOST_BYTES = 1024 * 1024
"""Of a question."""

_CREDENTIALS_BYTES = 12
"""Three numbers: pid, user and group."""
_WAITING = 16


def ask(client_pid: int, question: bytes) -> bytes:
    """The answer of the client's server, one byte; empty where there is none in time, or none that counts."""
    if sys.platform != "linux" or len(question) > MOST_BYTES:
        return b""
    from _socket import AF_UNIX, SHUT_WR, SOCK_CLOEXEC, SOCK_STREAM, socket

    line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC)
    try:
        line.settimeout(LIMIT_S)
        line.connect(_address(client_pid))
        pid, user = _peer(line)
        if user != os.getuid() or parent_of(pid) != client_pid:
            return b""
        line.sendall(question)
        line.shutdown(SHUT_WR)
        return line.recv(1)
    except (OSError, ValueError):
        return b""
    finally:
        line.close()


def listen(client_pid: int) -> "socket | None":
    """Where a client's server is asked; None where it cannot be, or where another one of the client's is already."""
    if sys.platform != "linux":
        return None
    from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM, socket

    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)
    try:
        listener.bind(_address(client_pid))
        listener.listen(_WAITING)
    except OSError:
        listener.close()
        return None
    return listener


def heard(line: "socket") -> bytes | None:
    """The question that a connection brings; None if it is nobody's who may ask. Blocks, bounded."""
    line.settimeout(LIMIT_S)
    try:
        if _peer(line)[1] != os.getuid():
            return None
        parts, size = [], 0
        while part := line.recv(MOST_BYTES):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                return None
    except OSError:
        return None
    return b"".join(parts)


def parent_of(pid: int) -> int:
    """OSError or ValueError where that cannot be told."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _address(client_pid: int) -> bytes:
    return b"\0musician-%d-%d" % (os.getuid(), client_pid)


def _peer(line: "socket") -> tuple[int, int]:
    """Which process of which user is at the other end."""
    from _socket import SO_PEERCRED, SOL_SOCKET

    found = line.getsockopt(SOL_SOCKET, SO_PEERCRED, _CREDENTIALS_BYTES)
    return int.from_bytes(found[:4], sys.byteorder), int.from_bytes(found[4:8], sys.byteorder)
