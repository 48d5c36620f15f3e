"""Which tests a checkpoint runs beside its own, in four categories (D16).

Tests of changed files, tests of affected modules, the checkpoint's own, those that failed earlier. A category
is a set of test files; files that an earlier category or one of the checkpoint's own commands runs are not
run twice. So a checkpoint whose command runs everything has exactly that command, and one that names a single
file gets the tests that its change also concerns. A test file is run from the folder that the first command
which reaches it runs in; files that none reaches are counted. If nothing can be derived (another runner, a
shell script) the commands run as they are, and that is said.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from musician.protocol.values import dataclass
from musician.verification.change import CodeChange, is_test_file
from musician.verification.findings import Category, counted
from musician.verification.imports import Project
from musician.verification.invocation import Invocation, invocations, shared_out

MAX_FILES_A_CATEGORY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """``files`` are the test files of a derived command, () for the checkpoint's own; it runs in ``folder``."""

    category: Category
    command: str
    files: tuple[str, ...] = ()
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The commands to run, in order, and remarks about the selection."""

    planned: tuple[Planned, ...]
    notes: tuple[str, ...] = ()


def select_tests(
    own: Sequence[str],
    change: CodeChange,
    project: Project,
    *,
    previously_failed: Iterable[str] = (),
    claimed: Collection[str] = (),
) -> Selection:
    """Return the commands of a checkpoint by category.

    ``previously_failed`` are tests' names as they were recorded, ``claimed`` bare names that subagents told of (D19).
    """
    planned_own = [Planned(category=Category.OWN, command=command) for command in own]
    known = invocations(own)
    hows = [each for each in known if each.discovers_in is None]
    if not hows:
        note = "tests of changed files cannot be told from this runner's others"
        return Selection(planned=tuple(planned_own), notes=(note,) if own and not known else ())
    choice = _Choice(invocations=known, hows=hows, taken=set(), notes=[])
    direct, indirect = _concerned(change, project, choice)
    before = [*choice.plan(Category.CHANGED, direct), *choice.plan(Category.AFFECTED, indirect)]
    folders = {each.folder for each in known}
    failed = choice.plan(Category.FAILED, _files_of(previously_failed, project, folders))
    told = choice.plan(Category.CLAIMED, _files_with(claimed, project) if choice.is_open else ())
    return Selection(planned=(*before, *planned_own, *failed, *told), notes=tuple(choice.notes))


@dataclass(slots=True, kw_only=True)
class _Choice:
    invocations: Sequence[Invocation]
    hows: Sequence[Invocation]
    taken: set[str]
    notes: list[str]

    @property
    def is_open(self) -> bool:
        """Whether the checkpoint's own commands leave any tests to others."""
        return not any(not (each.targets or each.is_narrowed or each.folder) for each in self.invocations)

    def plan(self, category: Category, files: Iterable[str]) -> list[Planned]:
        left = [
            path
            for path in sorted(files)
            if path not in self.taken and not any(each.runs_all_of(path) for each in self.invocations)
        ]
        if len(left) > MAX_FILES_A_CATEGORY:
            self.notes.append(f"{category}: {counted(len(left) - MAX_FILES_A_CATEGORY, 'file')} not run")
            del left[MAX_FILES_A_CATEGORY:]
        self.taken.update(left)
        shares, left = shared_out(self.hows, left)
        if left:
            folders = ", ".join(dict.fromkeys(how.folder for how in self.hows))
            self.notes.append(f"{category}: {counted(len(left), 'file')} outside {folders} not run")
        return [
            Planned(category=category, command=how.of_files(here), files=here, folder=how.folder)
            for how, here in shares
        ]


def _concerned(change: CodeChange, project: Project, choice: _Choice) -> tuple[set[str], set[str]]:
    """Return the test files that changed, or that are named after or import changed code; and those further
    away.
    """
    changed = [file.path for file in change.present if file.is_python and file.path in project.blobs]
    direct = {path for path in changed if is_test_file(path)}
    if not choice.is_open or not changed:
        return direct, set()
    tests = {path for path in project.blobs if is_test_file(path)}
    stems = {PurePosixPath(path).stem for path in changed}
    direct |= {path for path in tests if _subject(path) in stems}
    if project.is_too_large:
        choice.notes.append(f"importers not looked for among {len(project.blobs)} Python files")
        return direct, set()
    distance = project.importers_of(changed)
    direct |= {path for path in tests if distance.get(path) == 1}
    return direct, {path for path in tests if distance.get(path, 0) > 1} - direct


def _subject(path: str) -> str:
    """Return the module that a test file is named after."""
    stem = PurePosixPath(path).stem
    return stem.removeprefix("test_") if stem.startswith("test_") else stem.removesuffix("_test")


def _files_of(names: Iterable[str], project: Project, folders: Collection[str]) -> set[str]:
    """Return the test files of recorded names ("tests.test_a.Class::test_b", "tests.test_a.Class.test_b").

    A runner names them from its root: the folder that it runs in, or one above that.
    """
    found: set[str] = set()
    for name in names:
        in_one_of = {path for folder in folders if (path := _file_of(name, project, folder))}
        at_the_top = _file_of(name, project, "")
        found |= in_one_of or ({at_the_top} if at_the_top else set())
    return found


def _file_of(name: str, project: Project, folder: str) -> str | None:
    parts = [*PurePosixPath(folder).parts, *name.replace("::", ".").split(".")]
    candidates = ("/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1))
    return next((each for each in candidates if each in project.blobs), None)


def _files_with(tests: Collection[str], project: Project) -> set[str]:
    """Return the test files that define functions of these names; none in a project that is too large to
    read.
    """
    if not tests or project.is_too_large:
        return set()
    wanted = re.compile(rf"^\s*(?:async )?def (?:{'|'.join(map(re.escape, tests))})\(".encode(), re.MULTILINE)
    return {path for path, source in project.sources.items() if is_test_file(path) and wanted.search(source)}
