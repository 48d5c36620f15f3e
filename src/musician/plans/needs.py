"""Reads off a project how it is tested and what a working tree of it lacks, for a first draft of its plan.

Pure: it is given the names that git tracks, those it does not, and a way to read a file. A task's tree has
what is tracked and nothing else, so only that says how the project is tested; what is untracked says what a
tree must be given.

The names are those of the trade (``pytest``, ``unittest``, ``npm``, ``cargo``, ``go``, ``make``). A folder
with a file that begins a project (``package.json``, ``go.mod``, …) is a *part*. The parts nearest to the
top that can be tested are the ones the plan tests; further ones are only named. What is linked to a tree
leads back to the user's own files, so an environment in which the project itself is installed is made anew
by ``setup``, and never shared.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from musician.protocol.values import dataclass

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PYTHON_PROJECTS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
_BEGINS_A_PART = frozenset({*_PYTHON_PROJECTS, "package.json", "Cargo.toml", "go.mod", *_MAKEFILES})
_FOREIGN = frozenset({"node_modules", "vendor", "third_party", "testdata", "fixtures", "examples", "example"})
"""Folders of what a project carries along, and does not test."""

_MOST_PARTS = 20
_MOST_TEST_FILES_READ = 20

_PYTHON_TEST = re.compile(r"(?:test_[^/]*|[^/]*_test|tests?)\.py")
_SAYS_PYTEST = re.compile(
    r"^(?:\s*(?:import|from) pytest\b|(?:async )?def test_|\[tool[.:]pytest|\[pytest\])", re.M
)
_NEEDS_PYTEST = re.compile(r"""(?:^|["'])\s*pytest\b""", re.M)
_MAKE_TARGET = re.compile(r"^(test|check)[ \t]*:(?!=)", re.M)
_NPM_PLACEHOLDER = "no test specified"
_ENVIRONMENT = re.compile(r"\.env(?:\.[\w-]+)?|\.envrc")
_PYTHON_FOLDERS = (".venv", "venv")
_EXTRAS = ("dev", "test", "tests", "testing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """``tracked`` are paths; ``untracked`` the outermost ones of what git does not track, a folder's with
    ``/`` at its end.

    ``is_ignored`` says whether git is told to ignore a path, which need not be there. ``read`` gives a file's text, ""
    if there is none.
    """

    tracked: tuple[str, ...]
    untracked: tuple[str, ...]
    is_ignored: Callable[[str], bool]
    read: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """``test`` and ``setup`` are one command each, "" where nothing was found. ``besides`` are other ways
    to test it.
    """

    test: str = ""
    besides: tuple[str, ...] = ()
    setup: str = ""
    copy: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What its author should know or do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """One way to test a part, seen from its folder, with what a tree needs for it."""

    test: str
    setup: str = ""
    share: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A folder of the project, "" for the top; ``files`` are those that no part inside it has, seen from
    the folder.
    """

    project: Project
    folder: str
    files: tuple[str, ...]

    def read(self, name: str) -> str:
        return self.project.read(self.path(name)) if name in self.files else ""

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

    def has_untracked(self, name: str) -> bool:
        return f"{self.path(name)}/" in self.project.untracked

    def own_output(self, name: str) -> tuple[str, ...]:
        """What to do about a folder that a set-up command makes, if git would take it for work."""
        if self.project.is_ignored(f"{self.path(name)}/"):
            return ()
        return (
            f"add `{name}/` to .gitignore: what `setup` makes is committed with the first step otherwise",
        )


def needs_of(project: Project) -> Needs:
    """Return what a plan for this project needs to say."""
    found = [(part, ways) for part in _parts(project) if (ways := tuple(_ways(part)))]
    copy = tuple(path for path in project.untracked if _ENVIRONMENT.fullmatch(PurePosixPath(path).name))
    modules = [("", "git submodule update --init")] if "[submodule" in project.read(".gitmodules") else []
    if not found:
        return Needs(copy=copy, setup=_joined(modules))
    nearest = [each for each in found if _depth(each[0]) == _depth(found[0][0])]
    chosen = [(part, ways[0]) for part, ways in nearest]
    others = [
        _joined([(part.folder, way.test)])
        for part, ways in found
        for way in ways
        if (part, way) not in chosen
    ]
    return Needs(
        test=_joined([(part.folder, way.test) for part, way in chosen]),
        besides=tuple(others),
        setup=_joined([*modules, *((part.folder, way.setup) for part, way in chosen if way.setup)]),
        copy=copy,
        share=tuple(part.path(name) for part, way in chosen for name in way.share),
        notes=tuple(dict.fromkeys(note for _, way in chosen for note in way.notes)),
    )


def _parts(project: Project) -> Iterator[_Part]:
    """Yield the top and the folders in which a project begins, those nearest to the top first."""
    paths = [PurePosixPath(path) for path in project.tracked]
    paths = [path for path in paths if not _FOREIGN.intersection(path.parent.parts)]
    begun = {path.parent for path in paths if path.name in _BEGINS_A_PART} | {PurePosixPath()}
    places = sorted(begun, key=lambda folder: (len(folder.parts), str(folder)))[:_MOST_PARTS]
    inside: dict[PurePosixPath, list[str]] = {place: [] for place in places}
    for path in paths:
        place = next(parent for parent in path.parents if parent in inside)
        inside[place].append(path.relative_to(place).as_posix())
    for place, files in inside.items():
        yield _Part(
            project=project, folder="" if place == PurePosixPath() else str(place), files=tuple(files)
        )


def _ways(part: _Part) -> Iterator[_Way]:
    """Yield how a part can be tested; first where each failing test is told by its name."""
    yield from _python(part)
    yield from _node(part)
    if "Cargo.toml" in part.files:
        yield _Way(test="cargo test", notes=part.own_output("target"))
    if "go.mod" in part.files and any(name.endswith("_test.go") for name in part.files):
        yield _Way(test="go test ./...")
    makefile = next((name for name in _MAKEFILES if name in part.files), "")
    if target := _MAKE_TARGET.search(part.read(makefile)):
        yield _Way(test=f"make {target[1]}")


def _python(part: _Part) -> Iterator[_Way]:
    tests = [name for name in part.files if _PYTHON_TEST.fullmatch(PurePosixPath(name).name)]
    if not tests:
        return
    told = [
        part.read(name) for name in ("pyproject.toml", "setup.cfg", "tox.ini", *tests[:_MOST_TEST_FILES_READ])
    ]
    needed = [
        part.read(name)
        for name in part.files
        if "requirements" in name or name in ("pyproject.toml", "Pipfile")
    ]
    is_pytest = any(PurePosixPath(name).name in ("pytest.ini", "conftest.py") for name in part.files)
    is_needed = any(map(_NEEDS_PYTEST.search, needed))
    is_pytest = is_pytest or any(map(_SAYS_PYTEST.search, told)) or is_needed
    setup, notes, python = _python_environment(part, runner="pytest" if is_pytest and not is_needed else "")
    how = "pytest -q" if is_pytest else f"unittest {_discovery(part, tests)}"
    yield _Way(test=f"{python} -m {how}", setup=setup, notes=notes)


def _discovery(part: _Part, tests: list[str]) -> str:
    """Return how unittest finds these: by itself at the top and in packages, else it is told the folder."""
    top = {PurePosixPath(name).parts[0] for name in tests if "/" in name}
    if len(top) == 1 and not any("/" not in name for name in tests):
        (folder,) = top
        if f"{folder}/__init__.py" not in part.files:
            return f"discover -q -s {shlex.quote(folder)}"
    return "-q"


def _python_environment(part: _Part, *, runner: str) -> tuple[str, tuple[str, ...], str]:
    """Return the command that makes an environment like the user's, what to know of it, and the Python in
    it.

    ``runner`` is the package that runs the tests if no file of the project names it, else "".
    """
    if "uv.lock" in part.files:
        return "uv sync --frozen", part.own_output(".venv"), ".venv/bin/python"
    if "poetry.lock" in part.files:
        in_tree = "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"
        return in_tree, part.own_output(".venv"), ".venv/bin/python"
    folder = next(filter(part.has_untracked, _PYTHON_FOLDERS), "")
    if not folder:
        return "", (), "python3"
    described, notes = _installed(part), part.own_output(folder)
    if not described:
        notes = (f"what is installed in your {folder}/ is written down nowhere: add it to `setup`", *notes)
    setup = f"python3 -m venv {folder}"
    if what := f"{described} {runner}".strip():
        setup += f" && {folder}/bin/python -m pip install -q {what}"
    return setup, notes, f"{folder}/bin/python"


def _installed(part: _Part) -> str:
    """Return what pip is to install: the project with its extras for tests, and what requirement files
    list.
    """
    files = sorted(
        name
        for name in part.files
        if re.fullmatch(r"(?:(?:dev|test)[-_.])?requirements(?:[-_.]\w+)*\.txt", name)
    )
    listed = [f"-r {shlex.quote(name)}" for name in files]
    table: dict[str, object] = {}
    with suppress(tomllib.TOMLDecodeError):
        table = tomllib.loads(part.read("pyproject.toml"))
    project = table.get("project")
    if "build-system" in table or project is not None or "setup.py" in part.files:
        optional = project.get("optional-dependencies") if isinstance(project, dict) else None
        extras = [name for name in _EXTRAS if isinstance(optional, dict) and name in optional]
        listed.append(f"-e '.[{','.join(extras)}]'" if extras else "-e .")
    return " ".join(listed)


def _node(part: _Part) -> Iterator[_Way]:
    try:
        package = json.loads(part.read("package.json") or "null")
    except ValueError:
        return
    if not isinstance(package, dict):
        return
    scripts, spaces = package.get("scripts"), "workspaces" in package or "pnpm-workspace.yaml" in part.files
    script = scripts.get("test") if isinstance(scripts, dict) else None
    is_said = isinstance(script, str) and script.strip() != "" and _NPM_PLACEHOLDER not in script
    if not is_said and not spaces:
        return
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
    manager = next((locks[name] for name in locks if name in part.files), "npm")
    everywhere = {"npm": "npm test --workspaces --if-present", "pnpm": "pnpm -r test"}
    test = "bun run test" if manager == "bun" else f"{manager} test"
    if not is_said:
        if manager not in everywhere:
            return
        test = everywhere[manager]
    if part.has_untracked("node_modules") and not spaces:
        yield _Way(test=test, share=("node_modules",))
    elif spaces or package.keys() & {"dependencies", "devDependencies"}:
        # The packages of a workspace are links inside node_modules: shared, they would lead to the user's own tree.
        has_lock = "package-lock.json" in part.files
        setup = f"{manager} {'ci' if manager == 'npm' and has_lock else 'install'}"
        yield _Way(test=test, setup=setup, notes=part.own_output("node_modules"))
    else:
        yield _Way(test=test)


def _joined(commands: list[tuple[str, str]]) -> str:
    """Return one command that does each of them in its folder, and fails with the first that fails."""
    if len(commands) == 1:
        folder, command = commands[0]
        return f"cd {shlex.quote(folder)} && {command}" if folder else command
    return " && ".join(
        f"(cd {shlex.quote(folder)} && {command})" if folder else command for folder, command in commands
    )


def _depth(part: _Part) -> int:
    return len(PurePosixPath(part.folder).parts)
