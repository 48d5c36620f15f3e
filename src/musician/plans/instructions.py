"""Reads and writes a task's instructions as a file: its body two heading levels up, its keys in the front matter.

People write such files, and locking a plan renders one for each task. ``read(render(task))`` gives the task back, lines
and path aside (DESIGN 7). A musician needs only the rendered file, not the plan: it has the plan's overview in a
section of its own, and every key. Values are double-quoted YAML on one line each, because a line of hyphens inside a
longer value would end the front matter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import yaml

from musician.plans.body import Body, read_body, read_prose
from musician.plans.headings import PLAN_STEP_LEVEL, quote
from musician.plans.keys import Keys, read_file_keys
from musician.plans.markdown import Block, Heading, read_document, split_at
from musician.plans.model import AgentPiece, Answers, Changes, Checkpoint, Network, Sandboxing, Step, TaskSpec
from musician.plans.problems import Problems, Report
from musician.plans.tasks import check_characters, check_pauses, check_steps, resolve_task
from musician.protocol.rules.ceilings import write_amounts
from musician.protocol.values import dataclass

PLAN_OVERVIEW = "Plan overview"
"""The heading of the section that holds the plan's overview in a rendered file."""

_STEP_LEVEL = PLAN_STEP_LEVEL - 2
_MOST_KEPT = 64
"""How many parsed files are cached: one process reads the same ones repeatedly, and parsing takes milliseconds."""

_BACKTICKS = re.compile("`+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """The contents of an instruction file, before the plan's keys are added."""

    keys: Keys
    title: str
    plan_overview: str
    body: Body
    line: int


@lru_cache(maxsize=_MOST_KEPT)
def read_instructions(text: str, *, path: str, task_id: str | None = None) -> TaskSpec:
    """Return the task of an instruction file that is used without a plan.

    Its id is ``task_id`` or the file's key ``task``; if both are given, they must agree. Raises :class:`InvalidPlan`
    with all problems at once.
    """
    problems = Problems()
    report = problems.report_for(path)
    file = read_task_file(text, task_id=task_id, report=report)
    name = file.keys.get("task") or task_id
    if name is None and "task" not in file.keys.lines:
        report(1, "no `task` key", "front matter (`---`, `task: task-01`, `---`) at the top of the file")
    problems.raise_any()
    assert name is not None  # noqa: S101 - reported above
    return resolve_task(
        task_id=name,
        title=file.title or name,
        overview=file.body.overview,
        plan_overview=file.plan_overview,
        items=file.body.items,
        keys=file.keys,
        source_path=path,
        line=file.line,
    )


def read_task_file(text: str, *, task_id: str | None, report: Report) -> TaskFile:
    """Read an instruction file. Its key ``task`` and ``task_id`` must agree if both are given."""
    document = read_document(text)
    check_characters(document, report)
    keys = read_file_keys(document, report)
    named = keys.get("task")
    if task_id is not None and named not in (None, task_id):
        report(keys.lines["task"], f"`task: {named}`", f"{task_id}, for which this file is used")
    titles, rest = _take_titles(document.blocks, report)
    overview, own = _take_plan_overview(rest)
    body = read_body(document, own, step_level=_STEP_LEVEL, report=report)
    line = titles[0].line if titles else 1
    check_steps(body, step_level=_STEP_LEVEL, line=line, report=report)
    check_pauses(keys, body.items, report)
    plan_overview = read_prose(
        document,
        overview,
        free_level=_STEP_LEVEL + 1,
        place=f"in the section {PLAN_OVERVIEW}",
        allowed="text",
        report=report,
    )
    title = titles[0].text if titles else keys.get("title") or ""
    return TaskFile(keys=keys, title=title, plan_overview=plan_overview, body=body, line=line)


_OF_A_SANDBOX = ("reach", "sandbox-write", "sandbox-read")


def render_instructions(task: TaskSpec, *, plan_id: str, plan_overview: str) -> str:
    """Return the file for ``task``, ending with a newline. Its prose must come from a reader of plans."""
    parts = [
        "\n".join(["---", *_front_matter(task, plan_id), "---"]),
        _heading(1, task.title),
        task.overview,
    ]
    if plan_overview:
        parts += [_heading(_STEP_LEVEL, PLAN_OVERVIEW), plan_overview]
    for item in task.items:
        parts += _step(item) if isinstance(item, Step) else _checkpoint(item)
    return "\n\n".join(part for part in parts if part) + "\n"


def _take_titles(blocks: Sequence[Block], report: Report) -> tuple[list[Heading], list[Block]]:
    titles = [block for block in blocks if isinstance(block, Heading) and block.level == 1]
    for extra in titles[1:]:
        report(extra.line, f"a second title, {quote(extra)}", f"one (the first is in line {titles[0].line})")
    return titles, [block for block in blocks if block not in titles]


def _take_plan_overview(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    overview: list[Block] = []
    own: list[Block] = []
    for heading, section in split_at(blocks, _STEP_LEVEL):
        if heading is not None and heading.text == PLAN_OVERVIEW:
            overview += section
        else:
            own += [heading, *section] if heading else section
    return overview, own


def _front_matter(task: TaskSpec, plan_id: str) -> Iterator[str]:
    yield f"task: {_quoted(task.task_id)}"
    yield f"plan: {_quoted(plan_id)}"
    for key in ("files", "danger", "after", "labels", "copy", "share", *_OF_A_SANDBOX, "may-change"):
        values: tuple[str, ...] = getattr(task, key.replace("-", "_"))
        if values:
            yield f"{key}: [{', '.join(map(_quoted, values))}]"
    for key in (
        "agent",
        "account",
        "model",
        "subagent-model",
        "review",
        "reviewer",
        "answerer",
        "isolation",
        "test",
        "setup",
    ):
        value: str | None = getattr(task, key.replace("-", "_"))
        if value:
            yield f"{key}: {_quoted(str(value))}"
    if budget := write_amounts(task.budget):
        yield f"budget: [{', '.join(map(_quoted, budget))}]"
    if task.pause_siblings_at:
        yield f"pause-siblings-at: [{', '.join(map(str, task.pause_siblings_at))}]"
    if task.test_first is not None:
        yield f"test-first: {'yes' if task.test_first else 'no'}"
    if task.may_pass_before:
        yield "may-pass-before: yes"
    if task.answers is not Answers.HUMAN:
        yield f"answers: {task.answers}"
    if task.sandbox is not Sandboxing.OFF:
        yield f'sandbox: "{task.sandbox}"'
    if task.network is not Network.FULL:
        yield f"network: {task.network}"
    if task.changes is not Changes.FILES:
        yield f"changes: {task.changes}"


def _quoted(value: str) -> str:
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=float("inf")).rstrip("\n")


def _heading(level: int, text: str) -> str:
    closing = " #" if text.endswith("#") else ""  # or the author's own # would be read as a closing one
    return f"{'#' * level} {text}{closing}"


def _numbered(level: int, item: Step | Checkpoint | AgentPiece, word: str) -> str:
    return _heading(level, f"{word} {item.number}: {item.title}" if item.title else f"{word} {item.number}")


def _step(step: Step) -> Iterator[str]:
    yield _numbered(_STEP_LEVEL, step, "Step")
    yield step.prose
    yield from _scripts("run", step.run)
    yield from _scripts("rework", step.rework)
    for agent in step.agents:
        yield _numbered(_STEP_LEVEL + 1, agent, "Agent")
        yield _agent_keys(agent)
        yield agent.prose
        yield from _scripts("run", agent.run)


def _agent_keys(agent: AgentPiece) -> str:
    lines = [] if agent.size is None else [f"size: {agent.size}"]
    if agent.files:
        lines.append(f"files: [{', '.join(map(_quoted, agent.files))}]")
    if agent.well_defined is not None:
        lines.append(f"well-defined: {'yes' if agent.well_defined else 'no'}")
    return "\n".join(("```yaml agent", *lines, "```")) if lines else ""


def _checkpoint(checkpoint: Checkpoint) -> Iterator[str]:
    yield _numbered(_STEP_LEVEL, checkpoint, "Checkpoint")
    yield checkpoint.prose
    yield "\n".join(f"- test: {_code_span(command)}" for command in checkpoint.tests)
    yield from _scripts("rework", checkpoint.rework)


def _scripts(word: str, scripts: Iterable[str]) -> Iterator[str]:
    for script in scripts:
        ticks = "`" * max(3, _longest(script) + 1)
        yield f"{ticks}bash {word}\n{script}{ticks}"


def _code_span(command: str) -> str:
    ticks = "`" * (_longest(command) + 1)
    space = " " if command.startswith("`") or command.endswith("`") else ""
    return f"{ticks}{space}{command}{space}{ticks}"


def _longest(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
