"""Finds imports that a change leaves without their module: it was removed, or is not installed (D16).

Nothing is executed. The old tree tells which files imported a removed one; whether a module that is not the
project's own exists is asked of the project's interpreter, by name. Imports inside ``try`` do not count.
"""

import ast
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator

import anyio.to_thread

from musician.trees.git import Git
from musician.verification.change import CodeChange, read_blobs
from musician.verification.commands import CommandRunner
from musician.verification.imports import Import, Project, imports_of, skim
from musician.verification.invocation import invocations
from musician.verification.parsing import parsed, walked

_MAX_NAMED = 20
_CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


async def unimportable(
    git: Git, change: CodeChange, project: Project, commands: Iterable[str], runner: CommandRunner
) -> tuple[str, ...]:
    """Return the broken imports, each as "path: imports NAME, …"; bounded."""
    orphans = await anyio.to_thread.run_sync(_orphans, git, change, project)
    new = await anyio.to_thread.run_sync(_new_foreign, git, change, project)
    absent = await _absent({name for _, name in new}, commands, runner)
    unknown = [
        f"{path}: imports {name}, which is nowhere to be found" for path, name in new if name in absent
    ]
    return tuple(dict.fromkeys((*orphans, *unknown)))[:_MAX_NAMED]


def _orphans(git: Git, change: CodeChange, project: Project) -> list[str]:
    """Return the files that import what the change has removed."""
    gone = {file.path for file in change.listed if file.kind == "deleted" and file.path.endswith(".py")}
    if not gone or project.is_too_large:
        return []
    before = Project(git, change.base)
    found = []
    for path in sorted(project.blobs):
        for each in _firm(project.sources.get(path, b""), skim):
            lost = before.resolved(path, [each]) & gone
            if lost and not project.resolved(path, [each]):
                found.append(f"{path}: imports {sorted(lost)[0]}, which is removed")
    return found


def _new_foreign(git: Git, change: CodeChange, project: Project) -> list[tuple[str, str]]:
    """Return foreign modules that the changed files newly import at import time."""
    files = [file for file in change.present if file.is_python and file.path in project.blobs]
    contents = read_blobs(git, (blob for file in files for blob in (file.old_blob, file.new_blob)))
    found = []
    for file in files:
        old = {each.module for each in imports_of(contents.get(file.old_blob, b""))}
        for each in _firm(contents.get(file.new_blob, b""), imports_of):
            top = each.module.partition(".")[0]
            is_own = each.level or top in project.top_modules or top in sys.stdlib_module_names
            if each.is_eager and top and not is_own and each.module not in old:
                found.append((file.path, top))
    return found


def _firm(source: bytes, read: Callable[[bytes], tuple[Import, ...]]) -> Iterator[Import]:
    """Yield imports outside ``try``: a module that is imported in a ``try`` anywhere in the file is left out."""
    if b"import" not in source:
        return
    tried = set(_tried(source)) if b"try" in source else set()
    yield from (each for each in read(source) if each.module not in tried)


def _tried(source: bytes) -> Iterator[str]:
    for node in walked(parsed(source)):
        if isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            for each in walked(node.body):
                if isinstance(each, ast.Import):
                    yield from (name.name for name in each.names)
                elif isinstance(each, ast.ImportFrom):
                    yield each.module or ""


def _catches(handler: ast.ExceptHandler) -> bool:
    names = [] if handler.type is None else [getattr(each, "id", "") for each in ast.walk(handler.type)]
    return handler.type is None or bool(_CATCHING & set(names))


async def _absent(names: set[str], commands: Iterable[str], runner: CommandRunner) -> set[str]:
    """Return the names that the project's interpreter cannot find; none if it cannot be asked."""
    how = next(iter(invocations(commands)), None)
    if not names or how is None:
        return set()
    code = "import importlib.util as u, sys; print('absent:', *[n for n in sys.argv[1:] if u.find_spec(n) is None])"
    ended = await runner.run(f"{how.python} -c {shlex.quote(code)} {shlex.join(sorted(names))}")
    said = next((line for line in ended.heard.splitlines() if line.startswith("absent:")), "")
    return set(said.split()[1:]) if ended.result.exit_code == 0 else set()
