"""What of the source is reached from a surface: a graph of who names whom, made from the source's text.

A *unit* is a function, class, method or constant, or a module's other statements. A unit that is reached reaches what
it names: a name by its module's imports and definitions, an attribute of a module likewise. An attribute of anything
else reaches every method of that name whose class is reached, for what a value is, text does not say. So the graph errs
on the side of what is reached: what is *not* reached is dead.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Unit = tuple[str, str]
"""Module and name: ``("musician.trees.git", "Git.run")``; the name is "" for a module's own statements."""


class Source:
    """The text of modules, read once."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.trees = {module: ast.parse(path.read_bytes()) for module, path in files.items()}
        self.bodies: dict[Unit, list[ast.AST]] = defaultdict(list)
        self.methods: dict[Unit, list[str]] = defaultdict(list)
        """Of a class."""
        self._imports: dict[Unit, Unit] = {}
        self._stars: dict[str, list[str]] = defaultdict(list)
        for module, tree in self.trees.items():
            self._collect(module, tree.body)
            for node in ast.walk(tree):
                self._import(module, node)

    def _collect(self, module: str, body: Iterable[ast.stmt]) -> None:
        for node in body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.bodies[module, name].append(node)
                case ast.ClassDef():
                    self._class(module, node)
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    self.bodies[module, name].append(node)
                case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    self._collect(module, node.orelse)
                case ast.Import() | ast.ImportFrom():
                    pass
                case _:
                    self.bodies[module, ""].append(node)

    def _class(self, module: str, node: ast.ClassDef) -> None:
        owner = (module, node.name)
        self.bodies[owner] += [*node.bases, *node.decorator_list, *node.keywords]
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                self.methods[owner].append(each.name)
                self.bodies[module, f"{node.name}.{each.name}"].append(each)
            else:
                self.bodies[owner].append(each)

    def _import(self, module: str, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for each in names:
                    self._imports[module, each.asname or each.name.partition(".")[0]] = (each.name, "")
            case ast.ImportFrom(module=str(home), names=names):
                for each in names:
                    whole = f"{home}.{each.name}"
                    known = (whole, "") if whole in self.trees else (home, each.name)
                    self._imports[module, each.asname or each.name] = known
                    if each.name == "*":
                        self._stars[module].append(home)

    def find(self, module: str, name: str) -> Unit | None:
        """Where the name leads that a module uses, through other modules' imports; None out of these modules."""
        if (module, name) in self.bodies:
            return module, name
        if (module, name) in self._imports:
            home, known = self._imports[module, name]
            return self.find(home, known) if known else (home, "")
        starred = (self.find(home, name) for home in self._stars[module])
        return next((found for found in starred if found), None)

    def names(self, unit: Unit) -> tuple[set[Unit], set[str]]:
        """The units that a unit names, and every attribute."""
        units: set[Unit] = set()
        attributes: set[str] = set()
        for node in (each for body in self.bodies[unit] for each in ast.walk(body)):
            match node:
                case ast.Name(id=name):
                    units |= {found for found in [self.find(unit[0], name)] if found}
                case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                    attributes.add(attribute)
                    owner = self.find(unit[0], name)
                    if owner and not owner[1]:
                        units |= {found for found in [self.find(owner[0], attribute)] if found}
                case ast.Attribute(attr=attribute):
                    attributes.add(attribute)
                case ast.MatchClass(kwd_attrs=named):
                    attributes.update(named)
                case ast.Constant(value=str(text)) if text in self.trees:
                    units.add((text, ""))
        return units, attributes

    def is_somebody_elses(self, owner: Unit) -> bool:
        """Whether a class stands on one that is not of these modules, whose methods are called from there."""
        bases = [base for base in self.bodies[owner] if isinstance(base, ast.Name | ast.Attribute)]
        return any(isinstance(base, ast.Attribute) or not self.find(owner[0], base.id) for base in bases)


def reached(source: Source, roots: Iterable[Unit]) -> set[Unit]:
    """All units that the roots lead to."""
    seen: set[Unit] = set()
    attributes: set[str] = set()
    todo = [source.find(*root) or root for root in roots]
    while todo:
        while todo:
            unit = todo.pop()
            if unit not in seen:
                seen.add(unit)
                units, named = source.names(unit)
                attributes |= named
                todo += [*units, (unit[0], "")]
        for module, owner in [each for each in source.methods if each in seen]:
            foreign = source.is_somebody_elses((module, owner))
            called = {
                (module, f"{owner}.{name}")
                for name in source.methods[module, owner]
                if foreign or name in attributes or name.startswith("__")
            }
            todo += called - seen
    return seen


def commands(source: Source) -> Iterator[Unit]:
    """Functions that are registered with a group of commands."""
    for unit, bodies in source.bodies.items():
        for node in bodies:
            for each in getattr(node, "decorator_list", ()):
                if (
                    isinstance(each, ast.Call)
                    and isinstance(each.func, ast.Name)
                    and each.func.id == "command"
                ):
                    yield unit
