"""What ``--version`` says: the version, and what it found on this machine."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator

import click

from musician import __version__

_ASK_LIMIT_S = 5


def print_version(ctx: click.Context) -> None:
    """Print it and end, as click's own version option does."""
    if not ctx.resilient_parsing:
        click.echo("\n".join(_lines()))
        ctx.exit()


def _lines() -> Iterator[str]:
    import apsw

    from musician.agents.registry import found_agents

    yield f"musician, version {__version__}"
    yield f"  from    {os.path.dirname(os.path.dirname(__file__))}"
    yield f"  python  {platform.python_version()} ({platform.python_implementation()})"
    yield f"  sqlite  {apsw.sqlite_lib_version()}"
    yield f"  git     {_git()}"
    yield f"  agents  {', '.join(found_agents())}"
    yield f"  system  {platform.system()} {platform.release()} {platform.machine()}"


def _git() -> str:
    program = shutil.which("git")
    if program is None:
        return "none on PATH"
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=_ASK_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not answer ({error})"
    return f"{done.stdout.decode(errors='replace').strip().removeprefix('git version ')} ({program})"
