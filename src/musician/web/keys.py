"""Remembers which browsers were let in, so that a page goes on after the server was started again.

A browser keeps a key; the file keeps only a digest of it, from which no key can be made: sessions that play in this
repository may read the file, and must not be able to give orders by it. The file also keeps the port, so that the
address of an open page stays right, and the server's own address.

Cookies know no ports: whatever else is served at 127.0.0.1, as by a session that tries out what it has made, gets those
of that address from every browser that looks at it. So each repository has an address of its own in 127.0.0.0/8, at
which nothing else is served; to a browser that is another site.

Where the file cannot be read or written the server forgets, and that is all.
"""

import hmac
import json
import secrets
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from ipaddress import IPv4Address
from pathlib import Path

from musician.processes.whole_file import write_whole

LOOPBACK = "127.0.0.1"
MOST_KEYS = 20
"""Of the newest; an older browser must be let in again."""
_KEY_BYTES = 32


class Keys:
    """The keys given out for one repository. Without a path nothing is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.port, self.address, self._digests = _read(path)

    def mint(self) -> str:
        """Return a new key, which is known from now on."""
        key = secrets.token_hex(_KEY_BYTES)
        self._digests = (*self._digests, digest(key))[-MOST_KEYS:]
        self._write()
        return key

    def knows(self, key: str) -> bool:
        found = digest(key)
        return any(hmac.compare_digest(found, each) for each in self._digests)

    def serve_at(self, port: int, address: str = LOOPBACK) -> None:
        self.port, self.address = port, address
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            with suppress(OSError):
                write_whole(self._path, json.dumps(self._kept()) + "\n")

    def _kept(self) -> dict[str, object]:
        return {"port": self.port, "address": self.address, "digests": self._digests}


def digest(text: str, purpose: str = "key") -> str:
    """Return a digest that says nothing of ``text``, a different one for each purpose."""
    return blake2b(text.encode(), person=purpose.encode()).hexdigest()


def _read(path: Path | None) -> tuple[int, str, tuple[str, ...]]:
    with suppress(OSError, ValueError, RecursionError):
        if path is not None:
            match json.loads(path.read_text(encoding="utf-8")):
                case {"port": int(port), "digests": list(digests), **rest} if 0 <= port < 1 << 16:
                    address = rest.get("address")
                    own = address if isinstance(address, str) and _is_own(address) else _own_address()
                    return port, own, tuple(_texts(digests))[-MOST_KEYS:]
    return 0, _own_address(), ()


def _own_address() -> str:
    """Return one of the machine's own addresses by chance, clear of 127.0.0.1 and its like."""
    return f"127.{32 + secrets.randbelow(192)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


def _is_own(address: str) -> bool:
    return address != LOOPBACK and IPv4Address(address).is_loopback


def _texts(values: Iterable[object]) -> Iterable[str]:
    return (value for value in values if isinstance(value, str) and value.isascii())
