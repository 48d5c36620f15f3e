"""The proxy that stands between a machine and the network, as the user's environment names it, for tunnels through it.

``HTTPS_PROXY`` or ``ALL_PROXY``, in capitals or not, and ``NO_PROXY``, as everywhere. Its login is said to it alone: it
stands in no text that this module makes, and :data:`NAMES` are kept from what runs in a sandbox.
"""

import base64
import os
import socket
from collections.abc import Mapping
from dataclasses import field
from typing import Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from musician.processes.tunnels import head_of
from musician.protocol.values import dataclass

NAMES = tuple(
    spelt
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY")
    for spelt in (name, name.lower())
)
_USUAL_PORT = 3128
_WELCOME = b"200"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """``trouble`` says why it cannot be used, "" where it can. ``login`` is as its header has it."""

    host: str = ""
    port: int = _USUAL_PORT
    login: str = field(default="", repr=False)
    trouble: str = ""
    spared: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of_environment(cls) -> "Self | None":
        """Return the one that is named; None if none is."""
        named = getproxies_environment()
        url = named.get("https") or named.get("all")
        if not url:
            return None
        spared = {"no": named.get("no", "")}
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.hostname or "", parts.port or _USUAL_PORT
        except ValueError:
            return cls(trouble="the proxy that HTTPS_PROXY names cannot be read", spared=spared)
        if parts.scheme.lower() != "http" or not host:
            what = f"{parts.scheme}://" if host else "no host"
            return cls(trouble=f"HTTPS_PROXY names {what}, and only http:// is spoken here", spared=spared)
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        login = base64.b64encode(user.encode()).decode() if parts.username is not None else ""
        return cls(host=host, port=port, login=login, spared=spared)

    def is_for(self, host: str, port: int) -> bool:
        """Whether a host is reached by it, at a port: ``NO_PROXY`` may spare one alone. This machine never is."""
        return host != "localhost" and not proxy_bypass(f"{host}:{port}", dict(self.spared))

    def connect(self, host: str, port: int, *, within_s: float) -> tuple[socket.socket, bytes]:
        """Return a tunnel to a host, and what has come through it already; OSError with the reason."""
        if self.trouble:
            raise OSError(self.trouble)
        far = socket.create_connection((self.host, self.port), timeout=within_s)
        try:
            login = f"Proxy-Authorization: Basic {self.login}\r\n" if self.login else ""
            far.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{login}\r\n".encode())
            head, rest = head_of(far)
            status = head.split(maxsplit=2)[1:2]
            if status != [_WELCOME]:
                said = os.fsdecode(status[0])[:3] if status else "nothing"
                raise OSError(f"the proxy {self.host}:{self.port} answers {ascii(said)[1:-1]}")
        except OSError:
            far.close()
            raise
        return far, rest
