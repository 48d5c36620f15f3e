"""What is wanted of a person, as rows; and the answers that are one step."""

from collections.abc import Iterator

from musician import service
from musician.project import Project
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.ceilings import read_amounts
from musician.protocol.values import dataclass
from musician.reporting.asks import JUDGED, Order
from musician.reporting.needs_me import Need
from musician.runtime.again import retry_task
from musician.runtime.as_person import as_person
from musician.runtime.takeover import hand_over
from musician.top.rows import Row, block, row


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTask:
    """A task, to look at; ``is_judged``: what it waits with."""

    task_id: str
    is_judged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneStep:
    """An answer to give."""

    need: Need
    order: Order
    effect: str


def need_rows(need: Need) -> Iterator[Row]:
    """Yield the reason, the whole question, what it blocks, and the commands that answer it."""
    key = f"need-{need.task_id}-{need.plan_id}-{need.kind}-{need.subject_id}"
    opens = None if need.task_id == CONDUCTOR else OfTask(task_id=need.task_id, is_judged=need.kind in JUDGED)
    yield Row(key=key, parts=((f"! {need.reason}", "bold"),), opens=opens, begins=True)
    if len(need.text.splitlines()) > 1:
        yield from block(f"{key}-text", need.text, indent="  ")
    if need.blocks:
        yield row(f"{key}-blocks", f"  waiting for it: {', '.join(need.blocks)}", hang=4)
    width = max((len(answer.command) for answer in need.answers), default=0)
    for number, answer in enumerate(need.answers):
        order = answer.order
        yield Row(
            key=f"{key}-answer-{number}",
            parts=((f"  {answer.command:<{width}}", "$text-accent"), (f"  {answer.effect}", "dim")),
            opens=opens if order is None else OneStep(need=need, order=order, effect=answer.effect),
            hang=6,
        )


def give(project: Project, step: OneStep, text: str) -> None:
    """Give an answer as the command does; ``text`` is what a person wrote, of a ceiling how much more. Blocks."""
    need, order = step.need, step.order
    if order.verb == "handoff":
        hand_over(project.root, as_person(project), need.task_id, text or None, project.settings)
        return
    if order.verb == "retry":
        retry_task(project.root, as_person(project), need.task_id, project.settings, text.strip() or None)
        return
    grants = bool(order.more or order.retries)
    service.send(
        as_person(project),
        need.task_id,
        order.text if order.more else text,
        question_id=need.subject_id if need.kind == "question" else None,
        retries=int(order.retries) if order.retries else None,
        more=read_amounts(text.split() or [text]) if order.more else None,
        answers=(need.kind, need.subject_id) if grants else None,
    )
