"""Plays one task as ``musician work`` does, and tells where the CPU time went.

``python -m benchmarks.played FILE TASK`` is the command itself; what is added is reading the clocks before, between
and after, and around every git command. Written to FILE as JSON, in seconds.
"""

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main(file: str, task_id: str) -> int:
    """Play; the command's exit code."""
    from musician.__main__ import run_command as musician
    from musician.cli import work  # noqa: F401  # what the command imports, apart from what it does
    from musician.processes.kennel import close_kennel
    from musician.trees.git import Git

    started = _used_s(resource.RUSAGE_SELF)
    git = _Metered(Git.run)
    Git.run = lambda self, *arguments, **options: git(self, *arguments, **options)  # type: ignore[method-assign]
    code = musician(["work", task_id])
    close_kennel()  # what it used is counted once it has ended
    found = {
        "start_s": started,
        "self_s": _used_s(resource.RUSAGE_SELF) - started,
        "git_s": git.used_s,
        "git_calls": git.calls,
        "leash_s": _used_s(resource.RUSAGE_CHILDREN) - git.used_s,
    }
    Path(file).write_text(json.dumps(found), encoding="utf-8")
    return code


class _Metered:
    """Counts calls and the CPU time of the processes they started and waited for."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call, self.calls, self.used_s = call, 0, 0.0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        before = _used_s(resource.RUSAGE_CHILDREN)
        try:
            return self._call(*arguments, **options)
        finally:
            self.calls += 1
            self.used_s += _used_s(resource.RUSAGE_CHILDREN) - before


def _used_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
