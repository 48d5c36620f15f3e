"""The outer side of a sandbox's way out: tunnels to hosts on a list, and to nothing else (D36).

A program in the sandbox has no network. What it asks of the proxy that stands there (``tunnels``) comes here, over a
socket in the file system. ``CONNECT NAME:PORT`` alone is understood, and only where exactly that is on the list; the
name is looked up here, or by the proxy behind which the machine stands (``upstream``), so an address never takes its
place. Every refusal says why, to the program and once in the
log. What goes through a tunnel is not read.
"""

import os
import re
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from musician.own_python import own_python
from musician.processes import tunnels
from musician.processes.tunnels import MOST_CONNECTIONS, PROXY_PORT, SOCKET, head_of, join, serve
from musician.processes.upstream import NAMES, Upstream

REGISTRIES = """
pypi.org files.pythonhosted.org registry.npmjs.org registry.yarnpkg.com crates.io index.crates.io static.crates.io
proxy.golang.org sum.golang.org rubygems.org index.rubygems.org repo.maven.apache.org repo1.maven.org
plugins.gradle.org api.nuget.org repo.packagist.org deb.debian.org security.debian.org archive.ubuntu.com
security.ubuntu.com
"""
"""Where packages come from, by HTTPS. None of them is a place to send work to without a login."""

_HTTPS_PORT = 443
_CONNECT_LIMIT_S = 20.0
_MOST_TOLD = 200
_MOST_TOLD_CHARS = 200
_HOST = re.compile(r"([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")
_ASKED = re.compile(rb"CONNECT ([A-Za-z0-9.-]{1,253}):([0-9]{1,5}) HTTP/1\.[01](?:\r\n|$)")
_LOOPBACK, _LOCALHOST = "127.0.0.1", "localhost"

Address = tuple[str, int]


class Gateway:
    """Open from entering to leaving; ``folder`` is to be seen as that of :data:`SOCKET` in the sandbox."""

    def __init__(
        self, hosts: Iterable[str], *, folder: Path, log: Path, upstream: Upstream | None = None
    ) -> None:
        self.folder, self._log, self._upstream = folder, log, upstream
        self._open: set[Address] = set()
        self.open_to(hosts)
        self._listener = socket.socket(socket.AF_UNIX)
        self._live: set[socket.socket] = set()
        self._told: set[str] = set()

    def open_to(self, hosts: Iterable[str]) -> None:
        """Open ways to more hosts: ``NAME``, by HTTPS, or ``NAME:PORT``; to none of what is written otherwise."""
        named = filter(None, map(_HOST.fullmatch, hosts))
        self._open |= {(_name(each[1]), int(each[2] or _HTTPS_PORT)) for each in named}

    def __enter__(self) -> Self:
        place = os.open(self.folder, os.O_PATH)  # a socket's own path may be too long for it
        try:
            self._listener.bind(f"/proc/self/fd/{place}/{os.path.basename(SOCKET)}")
        finally:
            os.close(place)
        self._listener.listen(MOST_CONNECTIONS)
        threading.Thread(target=serve, args=(self._listener, self._handle), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *tuple(self._live)):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def mounted(self) -> list[str]:
        """Return bubblewrap's words for the socket, and for the variables that lead programs to it."""
        proxy, local = f"http://{_LOOPBACK}:{PROXY_PORT}", f"{_LOOPBACK},{_LOCALHOST},::1"
        named = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": local}
        named |= {name.lower(): value for name, value in named.items()} | {"NODE_USE_ENV_PROXY": "1"}
        variables = (word for pair in named.items() for word in ("--setenv", *pair))
        return ["--ro-bind", str(self.folder), os.path.dirname(SOCKET), *variables]

    @staticmethod
    def kept_from_inside(argv: Iterable[str]) -> list[str]:
        """Return ``argv`` without the user's own proxy in its environment, which may hold a login: the sandbox's first
        process could be asked for its."""
        return ["/usr/bin/env", *(word for name in NAMES for word in ("-u", name)), *argv]

    def beside(self, argv: Iterable[str]) -> list[str]:
        """Return ``argv`` with the inner side beside it."""
        local = sorted({str(port) for host, port in self._open if host == _LOCALHOST})
        return own_python("-I", "-S", tunnels.__file__, *local, "--", *argv)

    def _handle(self, asking: socket.socket) -> None:
        head, rest = head_of(asking)
        found = _ASKED.match(head)
        first_line = head.partition(b"\r\n")[0].decode("ascii", "replace")
        if found is None:
            self._refuse(asking, 405, first_line, "only HTTPS goes out of here: CONNECT NAME:PORT")
            return
        wanted = (_name(found[1].decode()), int(found[2]))
        if wanted not in self._open:
            self._refuse(
                asking, 403, first_line, "this task reaches registries and what its plan names as `reach`"
            )
            return
        try:
            far, first = self._connect(*wanted)
        except (OSError, UnicodeError) as error:  # a name with an empty label is none that can be looked up
            self._refuse(asking, 502, first_line, f"it cannot be reached: {error}")
            return
        with far:
            far.settimeout(None)
            self._live |= {asking, far}
            try:
                asking.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n" + first)
                far.sendall(rest)
                join(asking, far)
            finally:
                self._live -= {asking, far}

    def _connect(self, host: str, port: int) -> tuple[socket.socket, bytes]:
        if self._upstream is not None and self._upstream.is_for(host, port):
            return self._upstream.connect(host, port, within_s=_CONNECT_LIMIT_S)
        return socket.create_connection((host, port), timeout=_CONNECT_LIMIT_S), b""

    def _refuse(self, asking: socket.socket, status: int, line: str, why: str) -> None:
        told = f"{ascii(line)[1:-1][:_MOST_TOLD_CHARS]}: {why}"
        if told not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(told)
            with suppress(OSError), self._log.open("a", encoding="utf-8") as log:
                log.write(f"refused: {told}\n")
        body = f"musician: {why}\n".encode("ascii", "replace")
        head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        asking.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)


def _name(host: str) -> str:
    return _LOCALHOST if host == _LOOPBACK else host.lower()
