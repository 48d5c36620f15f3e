"""Checks of the tasks' working trees, and of whether the repository allows any."""

import shlex
from collections.abc import Iterator

from rich.filesize import decimal

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok, warn
from musician.plugin.check_result import CheckResult
from musician.runtime.baselines import left_behind
from musician.runtime.cleaning import disk_used
from musician.trees.preconditions import broken_trees, check_repository


def preconditions(app: App) -> Iterator[CheckResult]:
    check_repository(app.root, ())
    yield ok("working trees can be made here")


def trees(app: App) -> Iterator[CheckResult]:
    broken = list(broken_trees(app.root))
    for found, remedy in broken:
        yield fail(found, remedy)
    for tree in left_behind(app.root):
        yield warn(
            f"{tree}: left by a process that was killed while it ran tests; it holds no work",
            f"the next run of its plan removes it, or: git worktree remove --force {shlex.quote(str(tree))}",
        )
    if not broken:
        used = disk_used(app.root)
        yield ok(
            f"all whole; {decimal(used['trees'])} of Musician's {decimal(used['all'])} here (musician clean --dry-run)"
        )
