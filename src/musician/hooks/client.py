"""The client that calls a hook: which process it is, and how it is run.

It is the nearest process above the hook that does not itself carry the session's id in its environment: the client
gives that to what it starts, and whatever stands between (a shell, a launcher) has it too and is gone with the hook.
"""

import os
from collections.abc import Mapping

import psutil

from musician.processes.identity import ProcessIdentity, identify
from musician.service import Met

_MOST_BETWEEN = 8
_ID = "CLAUDE_CODE_SESSION_ID"


def met(*, transcript_path: str | None, source: str | None, environ: Mapping[str, str] = os.environ) -> Met:
    """The client as it is met now."""
    return Met(
        identity=client_process(environ.get(_ID)),
        attended=environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1",
        hosted=bool(environ.get("MUSICIAN_HOST")),
        transcript_path=transcript_path,
        source=source,
    )


def client_process(session_id: str | None) -> ProcessIdentity:
    """The process of the client that started us for a session; our parent where that cannot be seen."""
    parent = os.getppid()
    pid = parent
    try:
        for _ in range(_MOST_BETWEEN):
            process = psutil.Process(pid)
            if not session_id or process.environ().get(_ID) != session_id:
                return identify(pid)
            pid = process.ppid()
    except psutil.Error:
        pass
    return identify(parent)
