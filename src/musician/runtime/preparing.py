"""A plan's set-up command: once in each working tree, before anything is played or verified there (DESIGN 7)."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.processes.spawn import run_program

__all__ = ["prepare_tree"]

_MOST_OUTPUT_BYTES = 4096
_MOST_QUOTED_CHARS = 300


async def prepare_tree(
    command: str | None,
    *,
    mark: Path,
    tree: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
) -> str:
    """Run ``command`` unless it has succeeded here before, which ``mark`` says; what went wrong, "" if nothing."""
    if command is None or mark.exists():
        return ""
    heard = bytearray()

    async def keep(chunk: bytes) -> None:
        heard.extend(chunk)
        del heard[:-_MOST_OUTPUT_BYTES]

    ended = await run_program(
        ["bash", "-c", command],
        cwd=tree,
        env={**os.environ, **env},
        on_output=keep,
        time_limit_s=time_limit_s,
        on_process=on_process,
    )
    if ended.timed_out or ended.returncode != 0:
        last = heard.decode("utf-8", "replace").strip().splitlines() or [command]
        return f"set-up ended with exit code {ended.returncode}: {one_line(last[-1], _MOST_QUOTED_CHARS)}"
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(command, encoding="utf-8")
    return ""
