"""Finds new functions that no test runs, as far as the code tells (D16, D26).

Only where no coverage report says more. A function counts as run where a test names it, or where code names it that
stood before, that runs when its module is imported, or that is run itself: so a helper moved out of a function is.
Left out is what others call by ways that do not show: what is decorated, what a class with bases or a double-underscore
name promises, what the modules beside it define alike. A function that has only another name or place is not new, and
one that does nothing has nothing to run. Python only; erring is on the side of silence.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from musician.protocol.rules.referee import Finding, FindingKind, may_change
from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.verification.change import ChangedFile, CodeChange, is_test_file, is_test_side, read_blobs
from musician.verification.findings import named
from musician.verification.imports import Project
from musician.verification.parsing import parsed, walked

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_WORD = re.compile(rb"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    """``names`` are those that are used when it is imported, without what its imports and strings say."""

    functions: Mapping[str, _Function]
    names: frozenset[str]


def untested_functions(
    git: Git, change: CodeChange, project: Project, *, allowed: Sequence[str]
) -> tuple[Finding, ...]:
    """Return a finding for each file with such functions; none in a project without tests, or one too large
    to read.
    """
    files = [file for file in change.files if file.path.endswith(".py") and not is_test_side(file.path)]
    is_tested = any(map(is_test_file, project.blobs)) and not project.is_too_large
    if not is_tested or not any(file.added for file in files):
        return ()
    contents = read_blobs(git, (blob for file in files for blob in (file.old_blob, file.new_blob)))
    before = {file.path: _read(contents.get(file.old_blob, b"")) for file in files}
    now = {file.path: _read(contents.get(file.new_blob, b"")) for file in files}
    new = {path: _new_in(path, before, now) for path in now}
    if not any(new.values()):
        return ()
    run = _run(git, project, now, new)
    findings = []
    for file in files:
        lacking = [name for name in new[file.path] if _last(name) not in run]
        if lacking := [name for name in lacking if not _is_custom(git, project, file, _last(name))]:
            findings.append(
                Finding(
                    kind=FindingKind.UNTESTED,
                    text=f"{file.path}: {named(lacking)}",
                    allowed=may_change(allowed, [file.path]),
                )
            )
    return tuple(findings)


def _read(source: bytes) -> _Module:
    """Return a module's names; empty if it does not parse."""
    body = parsed(source)
    functions = dict(_functions(body, ""))
    inside = {id(node) for function in functions.values() for node in walked(function.body)}
    outside = (node for node in walked(body) if id(node) not in inside)
    return _Module(functions=functions, names=frozenset(_names(outside)))


def _functions(nodes: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + node.name, node
            case ast.ClassDef(bases=[]):
                yield from _functions(node.body, f"{prefix}{node.name}.")
            case ast.If() | ast.Try():
                yield from _functions(node.body, prefix)
            case _:
                pass


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case _:
                pass


def _new_in(path: str, before: Mapping[str, _Module], now: Mapping[str, _Module]) -> list[str]:
    """Return the functions that are new in a file and were neither moved nor renamed."""
    gone = [
        (_last(name), _does(function))
        for each, module in before.items()
        for name, function in module.functions.items()
        if name not in now[each].functions
    ]
    names, bodies = {name for name, _ in gone}, {body for _, body in gone}
    return [
        name
        for name, function in now[path].functions.items()
        if name not in before[path].functions
        and _is_plain(function)
        and _last(name) not in names
        and _does(function) not in bodies
    ]


def _is_plain(function: _Function) -> bool:
    """Whether a function is called by its name, and does something."""
    idle = all(
        isinstance(each, ast.Pass | ast.Raise)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in function.body
    )
    return not (idle or function.decorator_list or function.name.startswith("__"))


def _does(function: _Function) -> str:
    return "\n".join(map(ast.dump, (function.args, *function.body)))


def _run(
    git: Git, project: Project, now: Mapping[str, _Module], new: Mapping[str, list[str]]
) -> frozenset[str]:
    """Return the names that tests mention, and all names mentioned by the code that runs because of that."""
    tests = [blob for path, blob in project.blobs.items() if is_test_side(path)]
    found = {
        word.decode("utf-8", "replace")
        for source in read_blobs(git, tests).values()
        for word in _WORD.findall(source)
    }
    waiting: list[tuple[str, set[str]]] = []
    for path, module in now.items():
        found |= module.names
        for name, function in module.functions.items():
            inside = set(_names(walked(function.body)))
            if name in new[path]:
                waiting.append((_last(name), inside - {_last(name)}))
            else:
                found |= inside
    while reached := [each for each in waiting if each[0] in found]:
        waiting = [each for each in waiting if each not in reached]
        found = found.union(*(inside for _, inside in reached))
    return frozenset(found)


def _is_custom(git: Git, project: Project, file: ChangedFile, name: str) -> bool:
    """Whether another module of the same folder defines a function of that name: then it is called by
    convention.
    """
    folder = PurePosixPath(file.path).parent
    beside = [
        blob
        for path, blob in project.blobs.items()
        if PurePosixPath(path).parent == folder and path != file.path and not is_test_side(path)
    ]
    defines = re.compile(rb"^(?:async )?def %s\(" % re.escape(name.encode()), re.MULTILINE)
    return any(defines.search(source) for source in read_blobs(git, beside).values())


def _last(name: str) -> str:
    return name.rpartition(".")[2]
