"""The orders about a task or a plan, each with what is asked before it. The verbs are those of the commands."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from musician import service
from musician.project import Project
from musician.protocol.values import dataclass
from musician.reporting.offers import offers_to
from musician.reporting.overview import PlanLines
from musician.reporting.standing import Standing
from musician.runtime.again import retry_task, skip_task
from musician.runtime.as_person import as_person, person_name
from musician.runtime.takeover import hand_over
from musician.service import Dependents
from musician.store.rows import PauseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What it is called, what is asked before it, and what it does with the answer; the verb blocks.

    ``text`` is what stands there to begin with; None if nothing is to be said.
    """

    label: str
    title: str
    verb: Callable[[str], object]
    text: str | None = ""


def task_offers(project: Project, standing: Standing, *, is_asked: bool) -> tuple[Offer, ...]:
    """Return the orders that may be given about a task. Blocks."""
    waiting = service.waits_of(project.store, standing.view.row.plan_id).after(standing.task_id)
    return tuple(_offers(project, standing, waiting, is_asked=is_asked))


def say_offer(project: Project, task_id: str, *, urgent: bool = False) -> Offer:
    def verb(text: str) -> None:
        service.send(as_person(project), task_id, text, urgent=urgent)

    how = ", urgently: what it is doing is interrupted" if urgent else ""
    return Offer(label=f"Say something{how}", title=f"To the session on {task_id}{how}", verb=verb)


def plan_offers(project: Project, plans: Iterable[PlanLines]) -> tuple[Offer, ...]:
    """Return for each open plan the order to pause it, or to let it go on."""
    return tuple(
        _pause_offer(project, each.plan.plan_id, each.paused)
        for each in plans
        if each.plan is not None and each.plan.finished_at is None
    )


def _pause_offer(project: Project, plan_id: str, paused: PauseRow | None) -> Offer:
    if paused is None:
        return Offer(
            label=f"Pause {plan_id}",
            title=f"Pause plan {plan_id}: nothing of it is begun until it goes on; say why, if you like",
            verb=lambda why: service.pause_plan(as_person(project), plan_id, who=person_name(), reason=why),
        )
    return Offer(
        label=f"Let {plan_id} go on",
        title=f"Let plan {plan_id} go on; it is {paused.said}",
        verb=lambda _: service.resume_plan(as_person(project), plan_id, who=person_name()),
        text=None,
    )


def _offers(
    project: Project, standing: Standing, waiting: tuple[str, ...], *, is_asked: bool
) -> Iterator[Offer]:
    task_id = standing.task_id
    root, store, settings = project.root, as_person(project), project.settings
    may = offers_to(standing, is_asked=is_asked)
    if may.say:
        yield say_offer(project, task_id)
        yield say_offer(project, task_id, urgent=True)
    if may.end:
        yield Offer(
            label="Hand off to a fresh session",
            title=f"Hand {task_id} off to a fresh session; a word to the present one, if you like",
            verb=lambda text: hand_over(root, store, task_id, text or None, settings),
        )
        yield Offer(
            label="Stop, and hold",
            title=f"Stop the session on {task_id} at once; no other goes on until you say so",
            verb=partial(_stop, project, task_id),
            text=service.STOP_NOW,
        )
    if may.retry:
        for label, from_start in (
            ("Play again", False),
            ("Play again from the first step; what was done is kept aside", True),
        ):
            yield Offer(
                label=label,
                title=f"{label}: {task_id}; a word to whoever plays it, if you like",
                verb=partial(_retry, project, task_id, from_start=from_start),
            )
    if may.skip:
        names = ", ".join(waiting)
        choices: tuple[tuple[str, Dependents | None], ...] = (("Skip", None),)
        if waiting:
            choices = (
                (f"Skip, and {names}, which wait for it", Dependents.SKIP),
                (f"Skip; {names} are played without it", Dependents.PLAY),
            )
        for label, dependents in choices:
            yield Offer(
                label=label,
                title=f"{label}: {task_id}; say why",
                verb=partial(_skip, project, task_id, dependents=dependents),
            )


def _stop(project: Project, task_id: str, text: str) -> None:
    service.request_exit(as_person(project), task_id, text, urgent=True, hold=True)


def _retry(project: Project, task_id: str, text: str, *, from_start: bool) -> None:
    said = text.strip() or None
    retry_task(project.root, as_person(project), task_id, project.settings, said, from_start=from_start)


def _skip(project: Project, task_id: str, text: str, *, dependents: Dependents | None) -> None:
    skip_task(project.root, as_person(project), task_id, text, project.settings, dependents=dependents)
