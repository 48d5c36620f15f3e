"""The repository as a ground for working trees, and the trees that are there."""

from collections.abc import Iterator

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok
from musician.plugin.finding import Finding
from musician.trees.ground import broken_trees, check_ground


def ground(app: App) -> Iterator[Finding]:
    check_ground(app.root, ())
    yield ok("working trees can be made here")


def trees(app: App) -> Iterator[Finding]:
    broken = list(broken_trees(app.root))
    for found, remedy in broken:
        yield fail(found, remedy)
    if not broken:
        yield ok("all whole")
