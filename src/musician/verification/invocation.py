"""How a command starts pytest or unittest, so that it can be started again with other tests.

Reads only what is plain: one program, no pipe, no second command, no expansion among the arguments; a literal ``cd``
into a folder of the tree may stand before it (``cd sub && pytest``). Everything else is None: the command is then run
as it is, and nothing is derived from it. What stands before the runner's name is kept to the letter, so the folder,
the interpreter, the environment and a launcher (``uv run``) stay the user's own.
"""

import posixpath
import re
import shlex
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath

from musician.protocol.values import dataclass
from musician.verification.options import PYTEST, UNITTEST

_FOLDER = re.compile(
    r"""cd\s+(?:(?P<bare>[\w.+@/-]+)|'(?P<quoted>[^'\n]+)'|"(?P<double>[^"$`\\\n]+)")\s*&&\s*"""
)
_OPERATORS = re.compile(r"[;|&<>()`#\n\\]|\$\(")
_EXPANDED = re.compile(r"[$*?~\[{]")
_NAME = re.compile(r"(?<![^\s/])(?:pytest|py\.test|unittest)(?!\S)")
_BEFORE_PYTEST = re.compile(r"(?:^|\s)(?:-m|run|\w+=\S*)\s+\Z")
"""What a runner's bare name follows: ``python -m``, ``uv run``, or a setting of the environment."""


class Runner(StrEnum):
    PYTEST = "pytest"
    UNITTEST = "unittest"


_KNOWN = {Runner.PYTEST: PYTEST, Runner.UNITTEST: UNITTEST}
_NARROWING = {
    Runner.PYTEST: frozenset(
        ("-k", "-m", "--lf", "--last-failed", "--deselect", "--ignore", "--ignore-glob", "--sw", "--stepwise")
    ),
    Runner.UNITTEST: frozenset(("-k", "-p", "--pattern")),
}
_TO_THE_END = {
    Runner.PYTEST: ("--continue-on-collection-errors", "--maxfail=0"),
    Runner.UNITTEST: ("-v",),
}
_START = frozenset({"-s", "--start-directory"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """``head`` is the command up to and with the runner's name; ``targets`` are what it was asked to run.

    Without targets it runs all it finds. ``is_narrowed``: options leave out some of that. ``discovers_in`` is the
    folder that unittest was told to search: what lies there is imported in a way of its own, so that single files
    cannot be named. ``folder``, "" for the top, is where it runs: ``head`` goes there, and ``targets`` and
    ``discovers_in`` are seen from there. Paths that are asked about are relative to the tree, as everywhere.
    """

    runner: Runner
    head: str
    options: tuple[str, ...]
    targets: tuple[str, ...]
    is_narrowed: bool
    discovers_in: str | None = None
    folder: str = ""

    def reaches(self, path: str) -> bool:
        """Whether a file lies below the folder it runs in."""
        return PurePosixPath(path).is_relative_to(self.folder)

    def named(self, path: str) -> str:
        """Return a file of the tree as the command names it."""
        return posixpath.relpath(f"/{path}", f"/{self.folder}") if self.folder else path

    def runs_all_of(self, path: str) -> bool:
        """Whether it runs every test of the file."""
        if self.is_narrowed or not self.reaches(path):
            return False
        path = self.named(path)
        if self.discovers_in is not None:
            return PurePosixPath(path).is_relative_to(PurePosixPath(self.discovers_in))
        if not self.targets:
            return True
        if self.runner is Runner.UNITTEST:
            return any(target in (module_name(path), path) for target in self.targets)
        return any(PurePosixPath(path).is_relative_to(PurePosixPath(target)) for target in self.targets)

    def of_files(self, paths: Iterable[str], *, to_the_end: bool = False) -> str:
        """Return the command that runs these test files, and no others if they can be named.

        ``to_the_end``: no failure hides the tests after it, and every test is named.
        """
        paths = map(self.named, paths)
        more = _TO_THE_END[self.runner] if to_the_end else ()
        if self.discovers_in is not None:
            return f"{self.head} {shlex.join(['discover', *self.options, *more])}"
        if self.runner is Runner.UNITTEST:
            return f"{self.head} {shlex.join([*more, *map(module_name, paths)])}"
        named = (f"./{path}" if path.startswith("-") else path for path in paths)
        return f"{self.head} {shlex.join([*self.options, *more, *named])}"

    @property
    def python(self) -> str:
        """Return the command that starts the runner's interpreter."""
        before, separator, _ = self.head.partition(" -m ")
        return before if separator else re.sub(r"(?:pytest|py\.test)\Z", "python", self.head)


def module_name(path: str) -> str:
    """Return the module name of ``tests/test_a.py``, from the top of the tree."""
    return path.removesuffix(".py").replace("/", ".")


def read_invocation(command: str) -> Invocation | None:
    """Return how ``command`` starts a runner; None if it starts none, or not plainly."""
    command = command.strip()
    folder, begin = _went_into(command)
    proper = command[begin:]
    found = None if _OPERATORS.search(proper) else _found(proper)
    if found is None:
        return None
    runner, end = found[0], begin + found[1]
    if _EXPANDED.search(command[end:]):
        return None
    try:
        words = shlex.split(command[end:])
    except ValueError:
        return None
    return _invocation(runner, command[:end], words, folder)


def invocations(commands: Iterable[str]) -> list[Invocation]:
    """Return how those of the commands that plainly start a runner do it."""
    return [found for command in commands if (found := read_invocation(command)) is not None]


def shared_out(
    hows: Iterable[Invocation], paths: Iterable[str]
) -> tuple[list[tuple[Invocation, tuple[str, ...]]], list[str]]:
    """Give each file to the first runner that reaches it; also return those that none reaches."""
    left, shares = list(paths), []
    for how in hows:
        if here := tuple(filter(how.reaches, left)):
            shares.append((how, here))
            left = [path for path in left if path not in here]
    return shares, left


def folder_of(command: str) -> str:
    """Return the folder that a command of any kind first changes into; "" if it stays at the top."""
    return _went_into(command.strip())[0]


def _went_into(command: str) -> tuple[str, int]:
    """Return the folder a command changes into, and where the rest begins; "" and 0 if there is none, or it
    is not plain.
    """
    found = _FOLDER.match(command)
    if found is None:
        return "", 0
    folder = PurePosixPath(found["bare"] or found["quoted"] or found["double"])
    if folder.is_absolute() or ".." in folder.parts or str(folder).startswith("-"):
        return "", 0
    return "" if folder == PurePosixPath() else str(folder), found.end()


def _found(command: str) -> tuple[Runner, int] | None:
    """Return the runner, and where its name ends: the first word that names a runner at a program's place."""
    for name in _NAME.finditer(command):
        before = command[: name.start()]
        is_module = before.rstrip().endswith(" -m")
        if name[0] == Runner.UNITTEST:
            if is_module:
                return Runner.UNITTEST, name.end()
        elif not before or before.endswith("/") or _BEFORE_PYTEST.search(before):
            return Runner.PYTEST, name.end()
    return None


def _invocation(runner: Runner, head: str, words: list[str], folder: str) -> Invocation | None:
    read = _KNOWN[runner].read(words)
    if read is None:
        return None
    options, targets = read.options, read.targets
    start: str | None = None
    if runner is Runner.UNITTEST:
        start = next((value for name, value in reversed(read.named) if name in _START), None)
        if targets[:1] == ("discover",):
            options += targets[1:]
            start = start or (targets[1] if len(targets) > 1 else None)
            targets = ()
    return Invocation(
        runner=runner,
        head=head,
        options=(*options, "--") if read.is_open else options,
        targets=targets,
        is_narrowed=any(name in _NARROWING[runner] for name, _ in read.named),
        discovers_in=start,
        folder=folder,
    )
