"""The way out of a sandbox opens to what is named, and to nothing that looks like it."""

import base64
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from musician.processes import sandbox
from musician.processes.gateway import Gateway
from musician.processes.tunnels import SOCKET, head_of, join, serve
from musician.processes.upstream import NAMES, Upstream
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


@pytest.mark.parametrize("host", ["a..example", f"{'a' * 64}.example"])
def test_a_name_that_cannot_be_looked_up_is_told_too(tmp_path: Path, host: str) -> None:
    log = tmp_path / "network.log"
    with Gateway([host], folder=tmp_path, log=log):
        got = asked(tmp_path, f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
    assert b" 502 " in got.partition(b"\r\n")[0]
    assert "it cannot be reached" in log.read_text()


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


class Proxy:
    """A company's proxy: it wants a login, and leads wherever it is asked to the server on ``port``."""

    LOGIN = "Basic " + base64.b64encode(b"me@work:pa:ss wrd").decode()

    def __init__(self, port: int) -> None:
        self.port = port
        self.heads: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.at = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=serve, args=(self._listener, self._handle), daemon=True).start()

    def _handle(self, asking: socket.socket) -> None:
        head, rest = head_of(asking)
        self.heads.append(head.decode())
        if self.LOGIN not in self.heads[-1]:
            asking.sendall(b"HTTP/1.1 407 Who are you\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.port)) as far:
            asking.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            far.sendall(rest)
            join(asking, far)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def proxy(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    found = Proxy(port)
    yield found
    found.close()


WORD = "pa%3Ass%20wrd"


def through(folder: Path, host: str) -> bytes:
    log = folder / "log"
    upstream = Upstream.of_environment()
    with Gateway([host, "localhost:1"], folder=folder, log=log, upstream=upstream):
        return asked(folder, f"CONNECT {host}:443 HTTP/1.1\r\n\r\nPING".encode())


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_users_is_gone_through_with_its_login(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """D36.7."""
    monkeypatch.setenv(name, f"http://me%40work:{WORD}@{proxy.at}")
    assert through(tmp_path, "pypi.org").endswith(b"\r\n\r\nPING")
    (head,) = proxy.heads
    assert head.startswith("CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n")
    assert "wrd" not in repr(Upstream.of_environment())


def test_a_proxy_is_asked_for_what_is_on_the_list_alone_and_not_for_what_is_spared(
    tmp_path: Path, port: int, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D36.7: nor for this machine."""
    monkeypatch.setenv("HTTPS_PROXY", f"me%40work:{WORD}@{proxy.at}")
    monkeypatch.setenv("NO_PROXY", ".invalid, other.example, one.example:8443")
    upstream = Upstream.of_environment()
    assert upstream is not None
    assert [
        upstream.is_for(host, 443) for host in ("pypi.org", "a.invalid", "other.example", "localhost")
    ] == [*(True, False, False, False)]
    assert [upstream.is_for("one.example", at) for at in (443, 8443)] == [True, False]
    assert int(through(tmp_path, "registry.invalid").split()[1]) == 502, "directly, where there is none"
    local = [f"localhost:{port}"]
    (tmp_path / "again").mkdir()
    with Gateway(local, folder=tmp_path / "again", log=tmp_path / "log", upstream=upstream) as gateway:
        assert b"PING" in asked(gateway.folder, f"CONNECT {local[0]} HTTP/1.1\r\n\r\nPING".encode())
        assert b" 403 " in asked(gateway.folder, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
    assert proxy.heads == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://me:wrong-wrd@{at}", "the proxy {at} answers 407"),
        ("socks5://me:wrong-wrd@{at}", "HTTPS_PROXY names socks5://, and only http:// is spoken here"),
        ("http://me:wrong-wrd@", "HTTPS_PROXY names no host"),
        ("http://me:wrong-wrd@host:port", "the proxy that HTTPS_PROXY names cannot be read"),
        ("http://me:wrong-wrd@[::1", "the proxy that HTTPS_PROXY names cannot be read"),
        ("http://me:wrong-wrd@127.0.0.1:1", "refused"),
        ("http://me:wrong-wrd@proxy..example", "label empty"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_told_without_its_login_and_not_gone_around(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    """D36.7."""
    monkeypatch.setenv("HTTPS_PROXY", url.format(at=proxy.at))
    got = through(tmp_path, "pypi.org")
    assert int(got.split()[1]) == 502
    told = (tmp_path / "log").read_text()
    assert why.format(at=proxy.at) in told
    assert "wrd" not in told + got.decode()


@pytest.mark.needs("bwrap")
def test_what_runs_inside_finds_the_login_of_the_users_proxy_nowhere(
    tmp_path: Path, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D36.7: neither in its environment nor in that of any process it sees; it gets out all the same."""
    for name in NAMES:
        monkeypatch.setenv(name, f"http://me%40work:{WORD}@{proxy.at}")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    inside = tmp_path / "inside"
    inside.mkdir()
    look = "cat /proc/*/environ | tr '\\0' '\\n' | grep -i proxy; exec 3<>/dev/tcp/127.0.0.1/61080"
    ask = r"printf 'CONNECT pypi.org:443 HTTP/1.1\r\n\r\nPING' >&3; head -c 43 <&3"
    upstream = Upstream.of_environment()
    with (
        Gateway(["pypi.org"], folder=tmp_path, log=tmp_path / "log", upstream=upstream) as gateway,
        sandbox.confining(sandbox.Sandbox(views={}, temporary=inside, is_online=False, gateway=gateway)),
    ):
        words = sandbox.confined(["bash", "-c", f"{look}; {ask}"], cwd="/", env={})
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert "PING" in said.stdout, said
    assert "HTTPS_PROXY=http://127.0.0.1:61080" in said.stdout
    assert "work" not in said.stdout
