"""Reads tests in the code: which are new or changed, which assert nothing, and what a run said of one.

Reads Python and runs none of it. A test is *trivial* if all it asserts is about constants, not counting what cannot be
reached or is caught again, or if it neither asserts nor calls, raises or waits for anything.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.verification.change import CodeChange, is_test_file, read_blobs
from musician.verification.counts import Outcome
from musician.verification.invocation import module_name
from musician.verification.parsing import parsed

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A new or changed test: ``name`` is "test_a" or "Class.test_a"."""

    path: str
    name: str
    is_trivial: bool
    does: str = ""
    """Its code without its name."""

    def __str__(self) -> str:
        return f"{self.path}::{self.name.replace('.', '::')}"


def changed_tests(git: Git, change: CodeChange) -> tuple[Candidate, ...]:
    """Return the tests that are new, or whose code differs, in the order of files and lines."""
    files = [file for file in change.present if file.is_python and is_test_file(file.path)]
    contents = read_blobs(git, (blob for file in files for blob in (file.old_blob, file.new_blob)))
    found: list[Candidate] = []
    for file in files:
        new = tests_in(contents.get(file.new_blob, b""))
        old = tests_in(contents.get(file.old_blob, b"")) if file.old_blob else {}
        found += (
            Candidate(path=file.path, name=name, is_trivial=_is_trivial(test.node), does=test.does)
            for name, test in new.items()
            if name not in old or test.differs_from(old[name])
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class TestCode:
    __test__ = False  # no test class, whatever pytest makes of the name

    node: _Function
    text: bytes

    def differs_from(self, other: "TestCode") -> bool:
        # the text first: most tests of a changed file are as they were
        return self.text != other.text and ast.dump(self.node) != ast.dump(other.node)

    @property
    def does(self) -> str:
        """The test's code without its name."""
        node = self.node
        return "\n".join(map(ast.dump, (*node.decorator_list, node.args, *node.body)))


def tests_in(source: bytes) -> dict[str, TestCode]:
    """Return test functions and methods by name; none in a file that does not parse."""
    lines = source.split(b"\n")
    return {name: TestCode(node, _text_of(node, lines)) for name, node in _functions(parsed(source), "")}


def _functions(nodes: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")


def _text_of(node: _Function, lines: Sequence[bytes]) -> bytes:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return b"\n".join(lines[first - 1 : node.end_lineno])


def _is_trivial(node: _Function) -> bool:
    asserted: list[bool] = []
    acts = False
    constants = _constants_in(node)
    for each in _reached(node.body):
        if isinstance(each, ast.Assert):
            asserted.append(_is_constant(each.test, constants))
        elif isinstance(each, ast.Call) and _last_name(each.func).lstrip("_").startswith(_ASSERTING):
            asserted.append(bool(each.args) and all(_is_constant(arg, constants) for arg in each.args))
        elif isinstance(each, ast.Call | ast.Raise | ast.Await):
            acts = True
    return all(asserted) if asserted else not acts


_ASSERTING = ("assert", "fail", "raises", "warns", "check", "expect", "verify", "ensure", "must", "should")
_SWALLOWING = frozenset({"AssertionError", "Exception", "BaseException"})


def _reached(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield all nodes of these statements, without code after a return and code whose failure is swallowed."""
    for statement in body:
        if isinstance(statement, ast.Try) and any(map(_swallows, statement.handlers)):
            yield from _reached((*statement.orelse, *statement.finalbody))
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from (inner for item in statement.items for inner in ast.walk(item))
            yield from _reached(statement.body)
        else:
            yield from ast.walk(statement)
        if isinstance(statement, ast.Return):
            return


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = [] if handler.type is None else [_last_name(each) for each in ast.walk(handler.type)]
    is_passed = all(isinstance(each, ast.Pass | ast.Return) for each in handler.body)
    return is_passed and (handler.type is None or bool(_SWALLOWING & set(caught)))


def _constants_in(node: _Function) -> frozenset[str]:
    """Return the names that the test itself assigns nothing but constants."""
    given: dict[str, bool] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Assign):
            targets = [inner for target in each.targets for inner in ast.walk(target)]
            is_constant = _is_constant(each.value, frozenset())
        elif isinstance(each, ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor | ast.NamedExpr):
            targets, is_constant = list(ast.walk(each.target)), False
        elif isinstance(each, ast.withitem) and each.optional_vars is not None:
            targets, is_constant = list(ast.walk(each.optional_vars)), False
        else:
            continue
        for name in (target.id for target in targets if isinstance(target, ast.Name)):
            given[name] = given.get(name, True) and is_constant
    return frozenset(name for name, is_constant in given.items() if is_constant)


def _is_constant(node: ast.expr, constants: frozenset[str]) -> bool:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        # true whatever the other parts are
        return any(isinstance(each, ast.Constant) and bool(each.value) for each in node.values) or all(
            _is_constant(each, constants) for each in node.values
        )
    return not any(
        isinstance(each, ast.Attribute | ast.Call)
        or (isinstance(each, ast.Name) and each.id not in constants)
        for each in ast.walk(node)
    )


def _last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


ByName = Mapping[str, Sequence[tuple[str, Outcome]]]


def by_name(outcomes: Mapping[str, Outcome]) -> ByName:
    """Return recorded outcomes by a test's last name, each with its whole name, without parameters."""
    sorted_out: dict[str, list[tuple[str, Outcome]]] = {}
    for recorded, outcome in outcomes.items():
        whole = recorded.partition("[")[0].replace("::", ".")
        sorted_out.setdefault(whole.rpartition(".")[2], []).append((whole, outcome))
    return sorted_out


def outcomes_of(candidate: Candidate, outcomes: ByName) -> set[Outcome]:
    """Return all outcomes of one test, one for each of its parameters; none if it did not run.

    Names are recorded from wherever the runner's root is, so one may be the end of the other.
    """
    module = f".{module_name(candidate.path)}"
    own = _ending_alike(f"{module}.{candidate.name}", outcomes)
    # if a file cannot be imported, the file itself is recorded and none of its tests
    return own or {outcome for outcome in _ending_alike(module, outcomes) if outcome == "failed"}


def _ending_alike(wanted: str, outcomes: ByName) -> set[Outcome]:
    near = outcomes.get(wanted.rpartition(".")[2], [])
    return {
        outcome for whole, outcome in near if wanted.endswith(f".{whole}") or f".{whole}".endswith(wanted)
    }


def files_run(paths: Iterable[str], names: Iterable[str]) -> set[str]:
    """Return those of the paths that a recorded name can belong to, from whichever root it was named."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for path in paths:
        module = module_name(path)
        wanted.setdefault(module.rpartition(".")[2], []).append((f".{module}", path))
    found: set[str] = set()
    for name in names:
        parts = name.partition("[")[0].replace("::", ".").split(".")
        for place, part in enumerate(parts):
            for module, path in wanted.get(part, ()):
                named = f".{'.'.join(parts[: place + 1])}"
                if module.endswith(named) or named.endswith(module):
                    found.add(path)
    return found
