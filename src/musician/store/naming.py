"""Parses the name of a database: a URL such as ``sqlite:///PATH``, or a plain path if a person gives it.

A path in a URL is relative to the current folder after three slashes, absolute after four, and ``%`` writes what would
mean something else in a URL. Light: a hook reads names, too.
"""

import os

SQLITE = "sqlite"


class NoSuchName(ValueError):
    """``shown`` is so much of the name as may be repeated: the rest of a URL may hold a password."""

    def __init__(self, shown: str, reason: str) -> None:
        self.shown = shown
        super().__init__(reason)


def file_named(name: str, folder: str) -> str:
    """The absolute path of the SQLite file that ``name`` means to somebody who stands in ``folder``."""
    scheme, is_url, rest = name.partition("://")
    path = _path_in(scheme, rest) if is_url else name
    if not path or "\0" in path:
        raise NoSuchName(f"{scheme}://…" if is_url else repr(name), "this is no path")
    return os.path.join(folder, path)


def url_of(path: str) -> str:
    """The one name of a SQLite file that means the same to everybody."""
    from urllib.parse import quote_from_bytes

    return f"{SQLITE}:///{quote_from_bytes(os.fsencode(os.path.abspath(path)))}"


def _path_in(scheme: str, rest: str) -> str:
    shown = f"{scheme}://…"
    if scheme.lower() != SQLITE:
        raise NoSuchName(shown, "this version opens SQLite files only")
    if not rest.startswith("/") or "?" in rest or "#" in rest:
        raise NoSuchName(shown, "the URL of a SQLite file is sqlite:///PATH and nothing else")
    if "%" not in rest:
        return rest[1:]
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(rest[1:]))
