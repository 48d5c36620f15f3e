"""The way out of a sandbox opens to what is named, and to nothing that looks like it."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from musician.processes import sandbox
from musician.processes.gateway import Gateway
from musician.processes.tunnels import SOCKET, serve
from musician.testing.waiting import HANG_S

LONG = Path(
    "a folder with a name that makes the path of a socket in it longer than a socket's may be " + "x" * 100
)


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that repeats what it is told, as a registry."""

    def repeat(connection: socket.socket) -> None:
        while data := connection.recv(1024):
            connection.sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener, repeat), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def asked(folder: Path, said: bytes) -> bytes:
    """What comes back until the other end closes, or the echo of ``PING``."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(HANG_S)
        connection.connect(str(folder / Path(SOCKET).name))
        connection.sendall(said)
        got = b""
        while b"PING" not in got and (more := connection.recv(1024)):
            got += more
    return got


HEADS = {
    "what is named": ("CONNECT localhost:{port} HTTP/1.1", 200),
    "in capitals, with a host's header that says otherwise": (
        "CONNECT LOCALHOST:{port} HTTP/1.1\r\nHost: evil.example:443",
        200,
    ),
    "another host": ("CONNECT evil.example:443 HTTP/1.1", 403),
    "another host, with a header that names ours": (
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost:{port}",
        403,
    ),
    "its address": ("CONNECT 127.0.0.2:{port} HTTP/1.1", 403),
    "another port": ("CONNECT localhost:22 HTTP/1.1", 403),
    "a part of its name": ("CONNECT localhost.:{port} HTTP/1.1", 403),
    "below its name": ("CONNECT evil.localhost:{port} HTTP/1.1", 403),
    "a login before its name": ("CONNECT evil@localhost:{port} HTTP/1.1", 405),
    "two targets": ("CONNECT localhost:{port}@evil.example:443 HTTP/1.1", 405),
    "a line that is folded": ("CONNECT localhost:{port}\r\n HTTP/1.1", 405),
    "plain HTTP": ("GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}", 405),
    "plain HTTP, as to itself": ("GET / HTTP/1.1\r\nHost: localhost:{port}", 405),
    "no words at all": ("\x00\x01 \x1b[31m", 405),
}


@pytest.mark.parametrize("what", HEADS)
def test_what_is_not_named_is_refused_and_logged(tmp_path: Path, port: int, what: str) -> None:
    """D36.5: only CONNECT, and only to exactly a host and port that are named."""
    head, status = HEADS[what]
    log = tmp_path / "network.log"
    with Gateway([f"localhost:{port}", "[::1]:80", "no port:x"], folder=tmp_path, log=log) as gateway:
        said = head.format(port=port).encode()
        got = asked(tmp_path, said + b"\r\n\r\nPING")
        assert int(got.split()[1]) == status, got
        if status == 200:
            assert got.endswith(b"\r\n\r\nPING")
            assert not log.exists()
            return
        assert b"PING" not in got
        assert b"\r\n\r\nmusician: " in got
        first = log.read_text()
        assert asked(gateway.folder, said + b"\r\n\r\n") == got
        assert log.read_text() == first, "told once"
        assert first.startswith("refused: ")
        assert first.count("\n") == 1
        assert "\x1b" not in first


@pytest.mark.parametrize("is_online", [True, False])
def test_with_a_closed_network_there_is_nothing_to_look_names_up_with(
    tmp_path: Path, is_online: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D36.5: a resolver's socket leads out, too."""
    resolver = tmp_path / "resolve"
    resolver.mkdir()
    monkeypatch.setattr(sandbox, "_RESOLVING", (str(resolver),))
    around = sandbox.Sandbox(views={}, temporary=tmp_path, is_online=is_online)
    with sandbox.confining(around):
        words = sandbox.confined(["true"], cwd="/", env={})
    assert (str(resolver) in words) is is_online
    assert ("--unshare-net" in words) is not is_online


def test_a_head_has_an_end_and_so_has_the_gateway(tmp_path: Path, port: int) -> None:
    """D36.5: who says too much is heard no longer; what is open is closed with the session."""
    folder = tmp_path / LONG
    folder.mkdir()
    with Gateway([f"localhost:{port}"], folder=folder, log=tmp_path / "log") as gateway:
        (tmp_path / "short").symlink_to(folder)
        try:
            got = asked(tmp_path / "short", b"CONNECT " + b"a" * 100_000)
        except ConnectionError:
            got = b""
        assert got == b""
        lasting = socket.socket(socket.AF_UNIX)
        lasting.settimeout(HANG_S)
        lasting.connect(str(tmp_path / "short" / Path(SOCKET).name))
        lasting.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode())
        assert b" 200 " in lasting.recv(1024)
        gateway.open_to(["evil.example"])
    with lasting:
        assert lasting.recv(1024) == b""
