"""Which Python files of a tree import which, without running any of them.

Knows the names of the files in one git tree and reads their contents on demand. Refuses to guess at
imports made by strings. Parsing is what costs time, so a file is first only *skimmed*: every line that looks like an
import counts, in a docstring too. That is never too little. Where too much would do harm, in a cycle, the files
concerned are *read*, that is, parsed.

An import is *eager* if it happens when the module is imported: not inside a function, not under ``TYPE_CHECKING``.
Only eager imports make a cycle that hurts. Skimming takes every import for eager.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.verification.change import MAX_FILE_BYTES, CodeChange, files_in, read_blobs, read_change
from musician.verification.parsing import parsed

MAX_MODULES = 5_000
"""Of a tree's Python files; in a larger one nobody's importers are looked for."""
MAX_DEPTH = 10
"""So many imports away a test is still a test of the module."""

_STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|(?:[^\\\n]|\\.)*)"
    r"|import[ \t]+(?P<modules>(?:[^\\\n]|\\.)*))",
    re.MULTILINE | re.DOTALL,
)
_ASIDE = re.compile(r"#[^\n]*|[()\\;]")


@dataclass(frozen=True, slots=True)
class Import:
    """``import module`` has no ``names``; ``from ..module import names`` has a ``level`` of two."""

    module: str
    names: tuple[str, ...]
    level: int
    is_eager: bool


def skim(source: bytes) -> tuple[Import, ...]:
    """Return everything that looks like an import, taken for eager: at least what :func:`imports_of` finds."""
    found: list[Import] = []
    for statement in _STATEMENT.finditer(source.decode("utf-8", "replace")):
        if statement["modules"] is not None:
            found += (Import(name, (), 0, True) for name in _names_in(statement["modules"]))
        else:
            names = tuple(_names_in(statement["names"]))
            found.append(Import(statement["module"], names, len(statement["dots"]), True))
    return tuple(found)


def import_lines(source: bytes) -> frozenset[str]:
    """Return the same lines as written, with their indentation, to detect a change of imports."""
    return frozenset(found[0] for found in _STATEMENT.finditer(source.decode("utf-8", "replace")))


def _names_in(text: str) -> Iterator[str]:
    for part in _ASIDE.sub(" ", text).split(","):
        if words := part.split(maxsplit=1):
            yield words[0]


def imports_of(source: bytes) -> tuple[Import, ...]:
    """Return the imports of a module; none if it does not parse."""
    return tuple(_imports_in(parsed(source), is_eager=True))


def _imports_in(nodes: Iterable[ast.AST], *, is_eager: bool) -> Iterator[Import]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (Import(each.name, (), 0, is_eager) for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield Import(module or "", tuple(each.name for each in names), level, is_eager)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _imports_in(ast.iter_child_nodes(node), is_eager=False)
            case ast.If(test=test) if "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", "")):
                yield from _imports_in(node.body, is_eager=False)
                yield from _imports_in(node.orelse, is_eager=is_eager)
            case ast.expr():
                pass  # no statement stands in an expression
            case _:
                yield from _imports_in(ast.iter_child_nodes(node), is_eager=is_eager)


class Project:
    """The Python files of one tree."""

    def __init__(self, git: Git, tree_id: str) -> None:
        self._git = git
        self.blobs: Mapping[str, str] = {
            path: blob
            for path, mode, blob in files_in(git, tree_id)
            if path.endswith(".py") and mode.startswith("100") and path.isprintable()
        }
        self._skimmed: dict[str, tuple[Import, ...]] = {}

    @property
    def is_too_large(self) -> bool:
        return len(self.blobs) > MAX_MODULES

    @property
    def top_modules(self) -> frozenset[str]:
        """The top-level names by which the project's own code is imported."""
        return frozenset(name.partition(".")[0] for name in self._names)

    @cached_property
    def sources(self) -> Mapping[str, bytes]:
        """Return the files' contents, without those that are too large."""
        contents = read_blobs(self._git, self.blobs.values())
        return {
            path: contents[blob]
            for path, blob in self.blobs.items()
            if len(contents.get(blob, b"")) <= MAX_FILE_BYTES and blob in contents
        }

    def has_read(self, path: str) -> bool:
        """Whether the file's source is loaded already."""
        return "sources" in self.__dict__ and path in self.sources

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Dotted names to paths: from the top, from ``src``, and from where a package's folders begin."""
        names: dict[str, str] = {}
        for path in self.blobs:
            names.setdefault(_dotted(path.removeprefix("src/")), path)
        for path in self.blobs:
            parts = path.split("/")
            start = len(parts) - 1
            while start and "/".join((*parts[:start], "__init__.py")) in self.blobs:
                start -= 1
            names.setdefault(_dotted("/".join(parts[start:])), path)
        return names

    def imported_by(self, path: str) -> frozenset[str]:
        """Return the project's files that this one imports directly, by skimming it."""
        if path not in self._skimmed:
            self._skimmed[path] = skim(self.sources.get(path, b""))
        return self.resolved(path, self._skimmed[path])

    def resolved(self, path: str, imports: Iterable[Import], *, eager_only: bool = False) -> frozenset[str]:
        """Return the project's files that these imports, written in ``path``, reach."""
        reached = (
            found
            for each in imports
            if each.is_eager or not eager_only
            for found in self._resolve(path, each)
        )
        return frozenset(found for found in reached if found != path)

    def importers_of(self, paths: Iterable[str]) -> dict[str, int]:
        """Return every file that imports one of these, directly (1) or through others (up to MAX_DEPTH)."""
        frontier = set(paths) & self.blobs.keys()
        distance = dict.fromkeys(frontier, 0)
        for depth in range(1, MAX_DEPTH + 1):
            if not frontier:
                break
            found = {
                path for path in self.blobs if path not in distance and self.imported_by(path) & frontier
            }
            distance.update(dict.fromkeys(found, depth))
            frontier = found
        return {path: depth for path, depth in distance.items() if depth}

    def _resolve(self, path: str, what: Import) -> Iterator[str]:
        if what.level:
            folder = path.split("/")[: -what.level]
            stem = "/".join([*folder, *(what.module.split(".") if what.module else ())])
            find = self._at
        else:
            stem, find = what.module.replace(".", "/"), self._called
        if not what.names:
            yield from _first_found(find, stem)
            return
        for name in what.names:
            found = find(f"{stem}/{name}" if stem else name) or find(stem)
            if found is not None:
                yield found

    def _at(self, stem: str) -> str | None:
        """Return the file of the module at this place in the tree."""
        candidates = (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py")
        return next((each for each in candidates if each in self.blobs), None)

    def _called(self, stem: str) -> str | None:
        return self._names.get(stem.replace("/", "."))


def change_in_project(git: Git, base: str, tree_id: str) -> tuple[CodeChange, Project]:
    """Return the change since ``base``, and the project as it is now."""
    return read_change(git, base, tree_id), Project(git, tree_id)


def _first_found(find: Callable[[str], str | None], stem: str) -> Iterator[str]:
    """Yield the longest of a.b.c, a.b, a that is a module, which is what ``import a.b.c`` reaches."""
    while stem:
        found = find(stem)
        if found is not None:
            yield found
            return
        stem = stem.rpartition("/")[0]


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
