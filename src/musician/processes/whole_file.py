"""Writes a file so that a reader, or a crash, finds the old one or the new one, never a part (B29).

It is written beside its place and renamed there. A link is replaced and not followed: whoever may lay one into a
folder must not choose what we write to.
"""

import os
import secrets
import stat
from pathlib import Path

_MOST_NAME_CHARS = 50
"""Of the file's own name, in that of the one beside it: a name has bounds."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Text is UTF-8. A file that was there keeps its permissions; a new one has the user's usual ones."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name[:_MOST_NAME_CHARS]}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
