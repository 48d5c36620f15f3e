"""Running a tool that looks at code for us (ruff, coverage), as every other program is run.

On a leash of its own, so that it dies with us, and within a time. Its identity is recorded nowhere: it is no agent's,
and nobody takes over from a session what its own death has ended.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from musician.processes.identity import ProcessIdentity
from musician.processes.spawn import run_program

MAX_SAID_BYTES = 64 * 1024
"""Of both outputs together; what is large goes to a file."""


async def run_tool(argv: Sequence[str], *, tree: Path, limit_s: float) -> str:
    """What it printed last in ``tree``; :class:`TimeoutError` if it took longer than ``limit_s``."""
    said = bytearray()

    async def hear(data: bytes) -> None:
        said.extend(data)
        del said[:-MAX_SAID_BYTES]

    ended = await run_program(
        argv, cwd=tree, env=os.environ, on_output=hear, time_limit_s=limit_s, on_process=_nobody_records
    )
    if ended.timed_out:
        raise TimeoutError(f"{argv[0]} took longer than {limit_s:g} s")
    return said.decode("utf-8", "replace")


async def _nobody_records(_: ProcessIdentity) -> None:
    """See above."""
