"""Whether the changed code holds together: it compiles, and it brings no new import cycle (D16).

Nothing is executed. Compiling is done by this program's own Python first, which is quick; where that fails, the
project's own interpreter is asked, for it may be a newer one. A cycle is new if the change adds an import that
closes it and the two files were not already entangled before.
"""

import shlex
import warnings
from collections import deque
from collections.abc import Iterable, Mapping

import anyio.to_thread

from musician.processes.output import one_line
from musician.protocol.errors import OperatorError
from musician.trees.git import Git
from musician.verification.change import CodeChange, read_blobs
from musician.verification.commands import CommandRunner
from musician.verification.findings import Integration
from musician.verification.imports import Project, import_lines, imports_of, skim
from musician.verification.invocation import invocations
from musician.verification.unimportable import unimportable

MAX_CYCLES = 10
_MAX_TROUBLE_CHARS = 200
_MAX_VISITED = 2_000
"""Files looked at in one search for a way back."""


async def look_at_wholeness(
    change: CodeChange, project: Project, commands: Iterable[str], runner: CommandRunner
) -> Integration:
    """Check both, for the code that the test ``commands`` are about."""
    git = Git(runner.tree)
    try:
        broken = await anyio.to_thread.run_sync(broken_files, git, change, project)
        cycles = await anyio.to_thread.run_sync(new_cycles, git, change, project)
        absent = await unimportable(git, change, project, tuple(commands), runner)
    except (OperatorError, OSError) as error:
        why_not = one_line(str(error), _MAX_TROUBLE_CHARS)
        return Integration(why_not=f"integration was not looked at: {why_not}")
    if broken and await _compiles_there(commands, tuple(broken), runner):
        broken = {}
    return Integration(
        broken=tuple(f"{path}:{what}" for path, what in broken.items()), cycles=cycles, absent=absent
    )


async def _compiles_there(commands: Iterable[str], paths: tuple[str, ...], runner: CommandRunner) -> bool:
    """Whether the project's own interpreter, perhaps a newer one than ours, compiles what ours does not."""
    how = next(iter(invocations(commands)), None)
    if how is None:
        return False
    ended = await runner.run(compile_command(how.python, map(how.named, paths)))
    return ended.result.exit_code == 0 and not ended.result.timed_out


def broken_files(git: Git, change: CodeChange, project: Project) -> dict[str, str]:
    """Return the changed Python files that do not compile, by path: "line: what"."""
    files = [file for file in change.present if file.is_python]
    contents = {file.new_blob: project.sources[file.path] for file in files if project.has_read(file.path)}
    contents |= read_blobs(git, (file.new_blob for file in files if file.new_blob not in contents))
    broken: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in files:
            try:
                compile(contents.get(file.new_blob, b""), file.path, "exec", dont_inherit=True)
            except SyntaxError as error:
                broken[file.path] = f"{error.lineno or 0}: {error.msg}"
            except (ValueError, RecursionError, MemoryError) as error:
                broken[file.path] = f"0: {error}"
    return broken


def compile_command(python: str, paths: Iterable[str]) -> str:
    """Return a command for another interpreter that ends with 0 if all these files compile."""
    code = "import sys; [compile(open(name, 'rb').read(), name, 'exec') for name in sys.argv[1:]]"
    return f"{python} -c {shlex.quote(code)} {shlex.join(paths)}"


def new_cycles(git: Git, change: CodeChange, project: Project) -> tuple[str, ...]:
    """Return the cycles of eager imports that the change closes, each as "a.py -> b.py -> a.py"."""
    files = [file for file in change.present if file.is_python and file.path in project.blobs]
    contents = read_blobs(git, (file.old_blob for file in files))
    old = {file.path: contents.get(file.old_blob, b"") for file in files}
    now, before = _Graph(project, {}), _Graph(project, old)
    found: dict[frozenset[str], str] = {}
    for path in old:
        if import_lines(project.sources.get(path, b"")) <= import_lines(old[path]):
            continue
        for target in sorted(now.edges(path)):
            back = now.way(target, path)
            if back is None or frozenset(back) in found or not _is_new(path, target, now, before):
                continue
            found[frozenset(back)] = " -> ".join((path, *back))
            if len(found) == MAX_CYCLES:
                return tuple(found.values())
    return tuple(found.values())


def _is_new(path: str, target: str, now: "_Graph", before: "_Graph") -> bool:
    """Whether ``path`` now imports ``target`` eagerly, and before neither did so nor was in a cycle with it."""
    now.read(path)
    before.read(path)
    if target not in now.edges(path) or target in before.edges(path):
        return False
    return not before.are_entangled(path, target)


class _Graph:
    """The import graph, by skimming; files on a path are parsed before the path counts.

    ``sources`` replace the project's own files that were different before.
    """

    def __init__(self, project: Project, sources: Mapping[str, bytes]) -> None:
        self._project = project
        self._sources = sources
        self._edges: dict[str, frozenset[str]] = {}
        self._read: set[str] = set()

    def edges(self, path: str) -> frozenset[str]:
        if path not in self._edges:
            source = self._sources.get(path)
            self._edges[path] = (
                self._project.imported_by(path)
                if source is None
                else self._project.resolved(path, skim(source))
            )
        return self._edges[path]

    def read(self, path: str) -> bool:
        """Parse a file that was only skimmed; return whether that removed imports."""
        if path in self._read:
            return False
        self._read.add(path)
        skimmed = self.edges(path)
        source = self._sources.get(path, self._project.sources.get(path, b""))
        self._edges[path] = self._project.resolved(path, imports_of(source), eager_only=True)
        return not skimmed <= self._edges[path]

    def way(self, start: str, goal: str) -> tuple[str, ...] | None:
        """Return the shortest path of eager imports from ``start`` to ``goal``, both included; None if there
        is none.
        """
        while (found := self._skimmed_way(start, goal)) is not None:
            if not any(self.read(path) for path in found[:-1]):
                return found
        return None

    def are_entangled(self, one: str, other: str) -> bool:
        return self.way(one, other) is not None and self.way(other, one) is not None

    def _skimmed_way(self, start: str, goal: str) -> tuple[str, ...] | None:
        came_from = {start: ""}
        queue = deque([start])
        while queue and len(came_from) < _MAX_VISITED:
            here = queue.popleft()
            if here == goal:
                way = [here]
                while came_from[way[-1]]:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            for there in sorted(self.edges(here)):
                if there not in came_from:
                    came_from[there] = here
                    queue.append(there)
        return None
