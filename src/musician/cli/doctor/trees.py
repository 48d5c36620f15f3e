"""The repository as a ground for working trees, and the trees that are there."""

import shlex
from collections.abc import Iterator

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok, warn
from musician.plugin.finding import Finding
from musician.runtime.baselines import left_behind
from musician.trees.preconditions import broken_trees, check_repository


def ground(app: App) -> Iterator[Finding]:
    check_repository(app.root, ())
    yield ok("working trees can be made here")


def trees(app: App) -> Iterator[Finding]:
    broken = list(broken_trees(app.root))
    for found, remedy in broken:
        yield fail(found, remedy)
    for place in left_behind(app.root):
        yield warn(
            f"{place}: tests were run in it, and whoever did was killed; it holds nobody's work",
            f"the next run of its plan removes it, or: git worktree remove --force {shlex.quote(str(place))}",
        )
    if not broken:
        yield ok("all whole")
