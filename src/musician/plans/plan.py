"""Reads a whole plan from its Markdown (DESIGN 7).

:func:`parse_plan` is pure: it gets the text of instruction files through ``read_file``. It reads the levels above a
task (title, overview, phases) and checks what holds between tasks: ids are unique in the plan, phases are numbered, and
``after`` names tasks of the same phase without a cycle. It does not know how a task is played. Text before the first
task of a phase is given to each task of the phase, so that nothing an author wrote is lost.

:func:`load_plan` reads the files. It stays inside the project and limits their size.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from difflib import unified_diff
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from musician.plans.body import Body, read_body, read_prose
from musician.plans.headings import PLAN_STEP_LEVEL, Count, HeadingKind, quote, read_numbered
from musician.plans.instructions import TaskFile, read_task_file
from musician.plans.keys import Keys, read_plan_keys, read_task_keys
from musician.plans.markdown import Block, Heading, join_prose, normalise, read_document, split_at
from musician.plans.model import Phase, Plan, TaskSpec
from musician.plans.problems import Problems, Report
from musician.plans.tasks import check_characters, check_network, check_pauses, check_steps, resolve_task
from musician.protocol.errors import BadId, InvalidPlan
from musician.protocol.names import check_task_id
from musician.protocol.values import dataclass

MAX_FILE_BYTES = 2_000_000
"""The size of a plan or an instruction file. A larger one is a mistake, such as a log given as a plan."""

_FREE_LEVEL = PLAN_STEP_LEVEL + 2
_TASK = "`### task-id: Title`"

ReadFile = Callable[[str], str | None]


def parse_plan(text: str, *, path: str, read_file: ReadFile) -> Plan:
    """Read a plan. ``path`` is its name in problems.

    ``read_file`` returns the text of an instruction file by its path in the project, or None if there is none; it may
    raise :class:`InvalidPlan` to say more. Raises :class:`InvalidPlan` with the problems of all files at once.
    """
    return _PlanReader(text, path, read_file).read()


def load_plan(path: Path, *, root: Path, tree: Path | None = None) -> Plan:
    """Read the plan at ``path`` and the instruction files it names, which must lie inside ``root``, or inside the
    ``tree`` of that project that the plan lies in.

    Raises :class:`InvalidPlan`, with one problem for a file that cannot be read.
    """
    home, place = _resolved(root), _resolved(path)
    name = place.relative_to(home).as_posix() if place.is_relative_to(home) else str(place)
    home = home if tree is None else _resolved(tree)

    def read_file(relative: str) -> str | None:
        target = _resolved(home / relative)
        if not target.is_relative_to(home):
            raise InvalidPlan(
                problems=(f"{relative}:1: a link out of the project; expected a file inside it",)
            )
        return _read_text(target, relative) if os.path.exists(target) else None

    return parse_plan(_read_text(place, name), path=name, read_file=read_file)


def plan_difference(old_text: str, new_text: str, *, path: str) -> str:
    """Return the changes since the plan was locked as a unified diff; "" if only line ends differ."""
    lines = unified_diff(
        normalise(old_text).split("\n"),
        normalise(new_text).split("\n"),
        fromfile=f"{path} (locked)",
        tofile=path,
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)


@dataclass(slots=True, kw_only=True)
class _ReadTask:
    """A task, with the lines at which problems with other tasks are reported."""

    task: TaskSpec
    line: int
    after_line: int


@dataclass(slots=True, kw_only=True)
class _OpenPhase:
    number: int
    title: str
    tasks: list[_ReadTask] = field(default_factory=list)


class _PlanReader:
    """Collects the parts of one plan, then checks the rules between them."""

    def __init__(self, text: str, path: str, read_file: ReadFile) -> None:
        self._text, self._path, self._read_file = text, path, read_file
        self._problems = Problems()
        self._report = self._problems.report_for(path)
        self._document = read_document(text)
        self._keys = Keys()
        self._titles: list[Heading] = []
        self._overviews: list[Heading] = []
        self._prose: list[str] = []
        self._phases: list[_OpenPhase] = []
        self._phase_count = Count()
        self._files: dict[str, str] = {}

    def read(self) -> Plan:
        check_characters(self._document, self._report)
        self._keys = read_plan_keys(self._document, self._report)
        for heading, blocks in split_at(self._document.blocks, 2):
            self._section(heading, blocks)
        self._check_whole()
        for phase in self._phases:
            _check_after(phase.tasks, self._ids(), self._report)
        self._problems.raise_any()
        return self._plan()

    def _section(self, heading: Heading | None, blocks: Sequence[Block]) -> None:
        if heading is None:
            self._take_prose(blocks, free_level=_FREE_LEVEL, place="above the title")
        elif heading.level == 1:
            self._only_once(heading, self._titles, "title")
            self._take_prose(blocks, free_level=_FREE_LEVEL, place="outside a phase")
        elif heading.text == "Overview":
            self._only_once(heading, self._overviews, "overview")
            self._take_prose(blocks, free_level=3, place="in the overview")
        else:
            self._phase(heading, blocks)

    def _only_once(self, heading: Heading, seen: list[Heading], what: str) -> None:
        if seen:
            first = f"one (the first is in line {seen[0].line})"
            self._report(heading.line, f"a second {what}, {quote(heading)}", first)
        seen.append(heading)

    def _take_prose(self, blocks: Sequence[Block], *, free_level: int, place: str) -> None:
        allowed = "`## Phase N: Title` above it, and tasks and steps inside that"
        text = read_prose(
            self._document, blocks, free_level=free_level, place=place, allowed=allowed, report=self._report
        )
        self._prose.append(text)

    def _phase(self, heading: Heading, blocks: Sequence[Block]) -> None:
        numbered = read_numbered(heading.text)
        known = numbered is not None and numbered.kind is HeadingKind.PHASE
        if numbered is None or not known:
            self._report(heading.line, quote(heading), "`## Overview` or `## Phase N: Title`")
            self._phase_count.forgive_gap()
            phase = _OpenPhase(number=0, title="")
        else:
            self._phase_count.check(heading, numbered, self._report)
            phase = _OpenPhase(number=numbered.number, title=numbered.title)
        self._phases.append(phase)
        (_, first), *tasks = split_at(blocks, 3)
        overview = read_prose(
            self._document,
            first,
            free_level=_FREE_LEVEL,
            place="outside a task",
            allowed=f"{_TASK} above it",
            report=self._report,
        )
        for task_heading, body in tasks:
            assert task_heading is not None  # noqa: S101 - only the first section has none
            self._task(phase, task_heading, body, overview)
        if known and not tasks:
            self._report(heading.line, f"{quote(heading)} without tasks", f"at least one {_TASK}")

    def _task(
        self, phase: _OpenPhase, heading: Heading, blocks: Sequence[Block], phase_overview: str
    ) -> None:
        task_id, title = self._task_heading(heading)
        body = read_body(self._document, blocks, step_level=PLAN_STEP_LEVEL, report=self._report)
        own_keys = read_task_keys(body.keys, self._report)
        file = self._instructions(task_id, own_keys, body) if own_keys.get("instructions") else None
        keys = own_keys.over(file.keys) if file else own_keys
        if file:
            check_pauses(own_keys, file.body.items, self._report)
        elif "instructions" not in own_keys.lines:
            check_steps(body, step_level=PLAN_STEP_LEVEL, line=heading.line, report=self._report)
            check_pauses(own_keys, body.items, self._report)
        overviews = (phase_overview, body.overview, file.body.overview if file else "")
        task = resolve_task(
            task_id=task_id,
            title=title or (file.title if file else "") or task_id,
            overview=join_prose(overviews),
            items=file.body.items if file else body.items,
            keys=keys.over(self._keys.of_tasks),
            source_path=own_keys.get("instructions") or self._path,
            line=file.line if file else heading.line,
        )
        check_network(task, heading.line, self._report)
        after_line = own_keys.lines.get("after", heading.line)
        phase.tasks.append(_ReadTask(task=task, line=heading.line, after_line=after_line))

    def _task_heading(self, heading: Heading) -> tuple[str, str]:
        task_id, _, title = heading.text.partition(":")
        task_id = task_id.strip()
        try:
            check_task_id(task_id)
        except BadId as error:
            self._report(heading.line, quote(heading), f"{_TASK} with an id ({error.remedy})")
            return task_id, title.strip()
        for other in self._tasks():
            if other.task.task_id.lower() == task_id.lower():
                # they would share one file on a file system that ignores case
                unique = f"ids that differ by more than case in the plan (the first is in line {other.line})"
                again = "" if other.task.task_id == task_id else f", where {other.task.task_id} is one"
                self._report(heading.line, f"the task id {task_id} a second time{again}", unique)
                break
        return task_id, title.strip()

    def _instructions(self, task_id: str, own_keys: Keys, body: Body) -> TaskFile | None:
        path = own_keys.get("instructions") or ""
        line = own_keys.lines["instructions"]
        for item in body.items[:1]:
            self._report(item.line, f"a body for {task_id} beside `instructions: {path}`", "one or the other")
        try:
            text = self._read_file(path)
        except InvalidPlan as error:
            self._problems.adopt(error)
            return None
        if text is None:
            self._report(line, f"`instructions: {path}`, which is not there", "a file in the project")
            return None
        self._files[path] = text
        report = self._problems.report_for(path)
        file = read_task_file(text, task_id=task_id, report=report)
        named, own = file.keys.get("plan"), self._keys.get("plan")
        if named not in (None, own):
            report(file.keys.lines["plan"], f"`plan: {named}`", f"{own}, which uses this file")
        return file

    def _check_whole(self) -> None:
        if self._keys.get("plan") is None and "plan" not in self._keys.lines:
            self._report(
                1, "no `plan` key", "front matter (`---`, `plan: an-id`, `---`) at the top of the file"
            )
        if not self._title:
            self._report(1, "no title", "`# Title` behind the front matter")
        tasks = [read.task for read in self._tasks()]
        required = self._keys.get("require")
        if required and tasks and not any(task.tests_the_whole for task in tasks):
            what = f"`require: {required}`, and nothing is run at the end"
            expected = "a `test` for at least one task with `isolation: worktree`: what is merged is tested"
            self._report(self._keys.lines["require"], what, expected)
        if not self._phases:
            self._report(1, "no phase", "`## Phase 1: Title` with at least one task")

    @property
    def _title(self) -> str:
        return (self._titles[0].text if self._titles else "") or self._keys.get("title") or ""

    def _tasks(self) -> Iterable[_ReadTask]:
        return (read for phase in self._phases for read in phase.tasks)

    def _ids(self) -> frozenset[str]:
        return frozenset(read.task.task_id for read in self._tasks())

    def _plan(self) -> Plan:
        assert self._keys.get("plan") is not None  # noqa: S101 - reported before
        phases = tuple(
            Phase(number=phase.number, title=phase.title, tasks=tuple(read.task for read in phase.tasks))
            for phase in self._phases
        )
        return Plan(
            plan_id=self._keys.get("plan"),
            title=self._title,
            overview=join_prose(self._prose),
            phases=phases,
            path=self._path,
            text=self._text,
            sha256=_digest(self._text, self._files),
            instruction_files=tuple(self._files.items()),
            require=self._keys.get("require"),
        )


def _check_after(phase_tasks: Sequence[_ReadTask], all_ids: frozenset[str], report: Report) -> None:
    """Report ``after`` entries that name no task of this phase, and each cycle once."""
    here = {read.task.task_id: read for read in phase_tasks}
    graph: dict[str, list[str]] = {}
    for task_id, read in here.items():
        graph[task_id] = [name for name in read.task.after if name in here]
        for name in read.task.after:
            if name not in here:
                where = "a task of another phase" if name in all_ids else "no task"
                ids = ", ".join(other for other in here if other != task_id) or "there are no others"
                report(read.after_line, f"`after` names {name}, {where}", f"tasks of the same phase ({ids})")
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1][::-1]  # each waits for the one after it
            line = min(here[task_id].after_line for task_id in cycle)
            waits = f"tasks that wait for each other ({' → '.join(cycle)})"
            report(line, waits, "no cycle in `after`")
            graph[cycle[0]] = [name for name in graph[cycle[0]] if name != cycle[1]]
        else:
            return


def _digest(text: str, files: dict[str, str]) -> str:
    """Return the SHA-256 of the plan and its instruction files, whatever their line ends and BOMs."""
    digest = hashlib.sha256(normalise(text).encode())
    for path, content in files.items():
        digest.update(f"\0{path}\0{normalise(content)}".encode())
    return digest.hexdigest()


def _resolved(path: Path) -> Path:
    """Resolve symbolic links. A loop of them stays as it is and fails when it is read."""
    return Path(os.path.realpath(path))


def _read_text(path: Path, name: str) -> str:
    """Return the file's text. Raises :class:`InvalidPlan` with one problem, in which the file is called ``name``."""
    try:
        if not path.is_file():
            found = "a folder or device" if path.exists() else "no such file"
            raise InvalidPlan(problems=(f"{name}:1: {found}; expected a Markdown file",))
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            limit = f"at most {MAX_FILE_BYTES} bytes of Markdown"
            raise InvalidPlan(problems=(f"{name}:1: a file that is too large; expected {limit}",))
        return data.decode()
    except OSError as error:
        reason = (error.strerror or "an input/output error").lower()
        raise InvalidPlan(
            problems=(f"{name}:1: a file that cannot be read ({reason}); expected a Markdown file",)
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidPlan(
            problems=(f"{name}:{line}: a byte that is not UTF-8; expected UTF-8 text",)
        ) from None
