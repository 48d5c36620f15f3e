"""Asking the session's tools' server whether a hook has anything to say: it runs, and has imported everything.

Most hooks of a musician are silent ones after a tool. The server says only that: that there is nothing to say or to
write. In every other case, and where there is no answer in time, the hook goes its ordinary way. No guard is left to an
answer: what a tool may do is decided in the hook itself (D36).
"""

import os

from musician.processes import client_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from musician.hooks.kept_reader import KeptReader

EVENT = "PostToolBatch"
_QUIET, _ORDINARY = b"q", b"o"

_VARIABLES = ("CLAUDE_PROJECT_DIR", "MUSICIAN_DB", "CLAUDE_CODE_SESSION_ID")
"""What a hook reads of its environment."""


def says_quiet(document: bytes) -> bool:
    """Whether the server of this hook's client says that there is nothing to say."""
    try:
        client_pid = client_line.parent_of(os.getppid())  # a shell is between us
        where = os.getcwd()
    except (OSError, ValueError):
        return False
    values = [*(os.environ.get(name, "") for name in _VARIABLES), where]
    return client_line.ask(client_pid, b"\0".join([*map(os.fsencode, values), document])) == _QUIET


def answer(question: bytes, reader: "KeptReader | None" = None) -> bytes:
    """The server's side, which may keep a ``reader`` of the database. Blocks for as long as the hook itself would."""
    from musician.hooks import entry

    *values, document = question.split(b"\0", len(_VARIABLES) + 1)
    if len(values) != len(_VARIABLES) + 1:
        return _ORDINARY
    *named, cwd = map(os.fsdecode, values)
    environ: Mapping[str, str] = {name: value for name, value in zip(_VARIABLES, named, strict=True) if value}
    return _QUIET if entry.is_quiet(EVENT, document, environ, cwd, reader) else _ORDINARY
