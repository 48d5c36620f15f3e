"""Builds a task from its keys and its body, and checks the rules that concern both."""

from collections.abc import Sequence

from musician.plans.body import Body
from musician.plans.keys import Keys
from musician.plans.markdown import Document, Heading
from musician.plans.model import (
    MAX_TITLE_CHARACTERS,
    Checkpoint,
    Network,
    Plan,
    Sandboxing,
    Step,
    TaskSpec,
)
from musician.plans.problems import Report, control_characters

_TASK_FIELDS = TaskSpec.__annotations__.keys() - {"title"}
_NOT_GIVEN = (None, "", ())
_SHORT_TITLE = f"at most {MAX_TITLE_CHARACTERS}, and the rest as text below it"


def check_characters(document: Document, report: Report) -> None:
    """Report NUL characters, and in a heading every character that would act on a terminal.

    A file with a NUL is not text: no script or file name can hold one. Titles are shown on terminals, in commit
    subjects and in reports, so they may not hold characters that move a cursor or reverse the reading order.
    """
    for number, line in enumerate(document.lines, start=1):
        if "\0" in line:
            report(number, "a NUL character", "text")
    for heading in document.blocks:
        if isinstance(heading, Heading):
            for char in control_characters(heading.text.replace("\0", "")):
                report(
                    heading.line, f"the control character U+{ord(char):04X} in a title", "a title without it"
                )
            if len(heading.text) > MAX_TITLE_CHARACTERS:
                report(heading.line, f"a title of {len(heading.text)} characters", _SHORT_TITLE)


def check_steps(body: Body, *, step_level: int, line: int, report: Report) -> None:
    """Report a task without steps."""
    if not body.misread and not any(isinstance(item, Step) for item in body.items):
        report(line, "a task without steps", f"at least one `{'#' * step_level} Step 1: Title`")


def check_pauses(keys: Keys, items: Sequence[Step | Checkpoint], report: Report) -> None:
    """Report numbers in ``pause-siblings-at`` that are no checkpoint's (REF-3's exception)."""
    numbers = [item.number for item in items if isinstance(item, Checkpoint)]
    for number in keys.get("pause_siblings_at") or ():
        if items and number not in numbers:
            known = ", ".join(map(str, numbers))
            report(
                keys.lines["pause-siblings-at"],
                f"`pause-siblings-at` names checkpoint {number}",
                f"the numbers of checkpoints of this task ({known})",
            )


_SCRIPTS = (("review", "reviewer", "judges"), ("answers", "answerer", "answers"))
"""A key that may be ``agent``, the key of the script that the shell agent then runs, and what it does by that."""


def without_script(plan: Plan, agent: str | None = None) -> tuple[str, ...]:
    """Each task where the shell agent is to review or answer and has no script for it; ``agent`` plays all of them.

    No problem of the grammar: who plays is known when the plan is run.
    """
    return tuple(
        f"{task.source_path}:{task.line}: {task.task_id} with `{key}: agent` and no `{script}`; expected the script"
        f" the shell agent {does} by, `{script}: |`, in the task's keys or the plan's, or an agent that is a model"
        for task in plan.tasks
        for key, script, does in _SCRIPTS
        if getattr(task, key) == "agent"
        and (agent or task.agent) == "shell"
        and getattr(task, script) is None
    )


def check_network(task: TaskSpec, line: int, report: Report) -> None:
    """Report a closed network that a task could not be played with, or would not be held to."""
    given = f"{task.task_id} with `network: {task.network}`"
    if task.reach and task.network is not Network.REGISTRIES:
        report(line, f"{given} and `reach`", "`network: registries`, which `reach` adds hosts to")
    if task.network is Network.NONE and task.agent != "shell":
        report(line, f"{given} and a model", "`network: registries`: it must reach its provider")
    elif task.network is not Network.FULL and task.sandbox is Sandboxing.OFF:
        report(line, f"{given} and no sandbox", "`sandbox: required` beside it")


def resolve_task(
    *,
    task_id: str,
    title: str,
    overview: str,
    plan_overview: str = "",
    items: tuple[Step | Checkpoint, ...],
    keys: Keys,
    source_path: str,
    line: int,
) -> TaskSpec:
    """Build the task. A missing key gets its default, and so does an empty text or list."""
    return TaskSpec(
        task_id=task_id,
        title=title,
        overview=overview,
        plan_overview=plan_overview,
        items=items,
        source_path=source_path,
        line=line,
        **{
            name: value
            for name, value in keys.values.items()
            if name in _TASK_FIELDS and value not in _NOT_GIVEN
        },
    )
