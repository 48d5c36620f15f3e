"""Finds changed files that configure a project's test runner, or are the runner (D26).

A *referee* decides which tests there are and what their outcome means. Which files are, follows from their names and
from the commands: what a Makefile, a justfile, a package.json or a script does counts only where a command starts it,
and of such a file only what the command reaches. A change that cannot matter is none: another table of pyproject.toml,
another target. One that only adds what tests must ask for by name (a fixture, a helper, a marker) is *harmless* as far
as its text can tell: then it is for the run with the old one to show that it does not.
"""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.verification.change import ChangedFile, CodeChange, read_blobs
from musician.verification.parsing import CODE_UNPARSABLE
from musician.verification.starters import MAKEFILE, Starts, reached

_SHADOWS = re.compile(
    r"_?pytest|pytest_(?:cov|asyncio|timeout|mock|django|xdist)|py|pluggy|iniconfig|packaging|unittest|doctest"
    r"|xdist|execnet|coverage|anyio|hypothesis|nose2"
)
"""Modules that a runner is made of; ``python -m`` looks into the folder it stands in first."""
_AT_IMPORT = frozenset({"sitecustomize.py", "usercustomize.py"})
_JS_CONFIG = re.compile(
    r"(?:jest|vitest|vite|karma|playwright|cypress|ava|web-test-runner|wdio|babel)\.(?:config|conf)\.\w+"
    r"|\.(?:mocharc|nycrc|c8rc|babelrc|taprc|swcrc)(?:\.\w+)?"
)
_TOOL_TABLES = frozenset({"pytest", "coverage", "pytest-enabler"})
_STARTER_TABLES = frozenset({"tox", "hatch", "pdm", "poe", "taskipy", "poetry", "pixi", "uv", "rye"})
_HARMLESS_KEYS = frozenset({"markers", "minversion", "cache_dir", "console_output_style"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Referee:
    """A changed one; ``is_harmless``: its text only adds what tests must ask for by name."""

    file: ChangedFile
    is_harmless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """A file's text before and now, "" on the side where it is not."""

    path: str
    before: str
    now: str


def changed_referees(git: Git, change: CodeChange, commands: Sequence[str]) -> tuple[Referee, ...]:
    """Return the changed files, of any kind, that can affect what the commands run."""
    contents = read_blobs(git, (blob for file in change.listed for blob in (file.old_blob, file.new_blob)))
    starts = Starts(git, change.base, commands)
    found = []
    for file in change.listed:
        weigh = _weighing(file.path, starts)
        if weigh is None:
            continue
        text = _Both(
            path=file.path,
            before=contents.get(file.old_blob, b"").decode("utf-8", "replace"),
            now=contents.get(file.new_blob, b"").decode("utf-8", "replace"),
        )
        matters = weigh(text)
        if matters is not None:
            found.append(Referee(file=file, is_harmless=not matters and file.mode.startswith("100")))
    return tuple(found)


_Weigh = Callable[[_Both], bool | None]
"""True: it matters; False: it is harmless; None: it is no referee's change."""


def _weighing(path: str, starts: Starts) -> _Weigh | None:
    pure = PurePosixPath(path)
    name = pure.name
    if path in starts.scripts or name in _AT_IMPORT or pure.suffix == ".pth" or _is_shadow(pure, starts):
        return _always
    if name == "conftest.py":
        return _conftest
    if name in _CONFIGS:
        return _CONFIGS[name](starts)
    if _JS_CONFIG.fullmatch(name):
        return _always
    if starts.starts_by(name):
        if name == "package.json":
            return _package
        return _read_makefile(starts) if MAKEFILE.fullmatch(name) else _always
    return None


def _is_shadow(path: PurePosixPath, starts: Starts) -> bool:
    places = {PurePosixPath(folder) for folder in ("", *starts.folders)}
    below = [path.relative_to(place) for place in places if path.is_relative_to(place)]
    return any(
        _SHADOWS.fullmatch(each.parts[0].removesuffix(".py"))
        and (len(each.parts) > 1 or each.suffix == ".py")
        for each in below
    )


def _always(_: _Both) -> bool:
    return True


# -- what of a file matters ---------------------------------------------------------------------------------------


def _conftest(text: _Both) -> bool | None:
    try:
        before, now = ast.parse(text.before).body, ast.parse(text.now).body
    except CODE_UNPARSABLE:
        return True
    old, new = [ast.dump(each) for each in before], [ast.dump(each) for each in now]
    if old == new:
        return None
    added = iter(zip(new, now, strict=True))
    for wanted in old:
        for dumped, statement in added:
            if dumped == wanted:
                break
            if not _is_on_demand(statement):
                return True
        else:
            return True
    return not all(_is_on_demand(statement) for _, statement in added)


def _is_on_demand(statement: ast.stmt) -> bool:
    """Whether it has no effect unless a test asks for it by name."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return not name.startswith("pytest_") and all(map(_is_plain_fixture, statement.decorator_list))
        case ast.ClassDef():
            return not statement.decorator_list and not statement.keywords
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            calls = any(isinstance(each, ast.Call) for each in ast.walk(value))
            return not calls and not name.startswith(("pytest", "collect_ignore"))
    return False


def _is_plain_fixture(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    options = decorator.keywords if isinstance(decorator, ast.Call) else []
    name = str(getattr(called, "attr", getattr(called, "id", "")))
    return name in ("fixture", "contextmanager", "asynccontextmanager", "dataclass", "cache") and not any(
        each.arg in (None, "autouse") for each in options
    )


Tables = Mapping[str, Mapping[str, object]]


def _compared(read: Callable[[str], Tables]) -> _Weigh:
    """Compare the relevant tables of a file; a key that only names things is harmless."""

    def weigh(text: _Both) -> bool | None:
        try:
            before, now = read(text.before), read(text.now)
        except (configparser.Error, tomllib.TOMLDecodeError, ValueError, RecursionError):
            return True
        if before == now:
            return None
        return _without_harmless(before) != _without_harmless(now)

    return weigh


def _without_harmless(tables: Tables) -> Tables:
    found = {
        name: {key: value for key, value in table.items() if key not in _HARMLESS_KEYS}
        for name, table in tables.items()
    }
    return {name: table for name, table in found.items() if table}


def _ini(*sections: str) -> Callable[[Starts], _Weigh]:
    """Compare sections by the beginnings of their names; () means all of them."""

    def read(text: str) -> Tables:
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        parser.read_string(text)
        names = [name for name in parser.sections() if not sections or name.startswith(sections)]
        return {name: dict(parser[name]) for name in names}

    return lambda _: _compared(read)


def _tox(starts: Starts) -> _Weigh:
    return _ini(*(("",) if "tox" in starts.words else ("pytest", "coverage")))(starts)


def _toml(starts: Starts) -> _Weigh:
    wanted = _TOOL_TABLES | (_STARTER_TABLES & starts.words)

    def read(text: str) -> Tables:
        tool = tomllib.loads(text).get("tool", {})
        return {name: dict(_flat(table)) for name, table in tool.items() if name in wanted}

    return _compared(read)


def _whole_toml(_: Starts) -> _Weigh:
    return _compared(lambda text: {"": dict(_flat(tomllib.loads(text)))})


def _flat(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield each key and value; ``ini_options.markers`` gets its last name, as in an ini file."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from (
                (inner if inner in _HARMLESS_KEYS else f"{key}.{inner}", each) for inner, each in _flat(value)
            )
        else:
            yield key, value


def _package(text: _Both) -> bool | None:
    """Compare existing scripts, and the runners' own tables; nothing starts a new script yet."""
    try:
        before, now = (json.loads(each or "{}") for each in (text.before, text.now))
        old, new = before.get("scripts", {}), now.get("scripts", {})
        known = {name for name in new if name in old or re.sub(r"\A(?:pre|post)", "", name) in old}
        is_same = old == {name: new[name] for name in known}
        is_same = is_same and all(before.get(name) == now.get(name) for name in _RUNNER_TABLES)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return True
    return None if is_same else True


_RUNNER_TABLES = ("jest", "mocha", "vitest", "ava", "c8", "nyc", "babel", "tap", "type")


def _read_makefile(starts: Starts) -> _Weigh:
    """Compare what the commands' targets expand to, and everything outside of rules."""

    def weigh(text: _Both) -> bool | None:
        return None if reached(text.before, starts.words) == reached(text.now, starts.words) else True

    return weigh


_CONFIGS: Mapping[str, Callable[[Starts], _Weigh]] = {
    "pytest.ini": _ini(),
    ".pytest.ini": _ini(),
    "pytest.toml": _whole_toml,
    ".pytest.toml": _whole_toml,
    "setup.cfg": _ini("tool:pytest", "coverage:", "aliases", "nosetests"),
    "tox.ini": _tox,
    ".coveragerc": _ini(),
    ".coveragerc.toml": _whole_toml,
    "pyproject.toml": _toml,
}
