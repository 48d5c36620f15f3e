"""Lists what waits for a person: the one list behind ``musician needs-me``, the conductor's tools and the web page.

Most of it is what the conductor asked (D18), a row of its own. The rest follows from where the tasks stand, and only
where nobody conducts: a submission, a report or a question that no rule will answer, and a plan that stands still.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from musician import service
from musician.processes.output import one_line
from musician.protocol.arguments import as_argument
from musician.protocol.names import CONDUCTOR, NO_PLAN
from musician.protocol.rules.liveness import Owner
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.asks import Answer, answers_to, shown
from musician.reporting.owners import OwnerOf
from musician.reporting.standing import Standing
from musician.service import Snapshot, Waits
from musician.store.port import Store
from musician.store.rows import HumanRow, PlanRow

NO_RUN = "run"
"""The kind of a plan that stands still because nobody conducts it."""

WHY: Mapping[str, str] = MappingProxyType(
    {
        "review": "{task} waits for a verdict on its work",
        "error": "{task} reported an error that no rule answers",
        "conflict": "the work of {task} and what is merged already contradict each other",
        "question": "{task} asks",
        "retries": "{task} has used up its retries",
        "progress": "the sessions of {task} end without progress",
        "launch": "no session of {task} starts",
        "withdrawn": "{task} was taken out of the plan by hand",
        "doubtful": "nobody can tell whether the session of {task} lives",
        "merge": "the work of {task} could not be merged",
        "trouble": "{task} cannot be played in these surroundings",
        "provider": "the provider of the agent of {task} gives nothing before you act",
        "budget": "a ceiling of the agents of {task} is reached",
        "stopped": "{task} was stopped, and waits for your word to go on",
        NO_RUN: "no run is at work on the plan",
    }
)
"""The kind of a need to the first words of its reason."""

_UNJUDGED: Mapping[State, tuple[str, str]] = MappingProxyType(
    {
        State.NEEDS_REVIEW: ("review", "it was submitted, and no run is at work that would judge it"),
        State.ERROR: ("error", "no run is at work that would answer it"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that waits for a person.

    ``text`` is the whole question and may quote a musician. ``answers`` are the commands, the recommended one first.
    """

    task_id: str
    """``task-00`` for what concerns a plan."""
    plan_id: str | None
    kind: str
    subject_id: int
    """What it is about: a message for a review, an error or a question, else the claim or how often. 0: nothing."""
    at: str
    reason: str
    text: str
    blocks: tuple[str, ...]
    """The tasks that cannot be begun before it is settled."""
    answers: tuple[Answer, ...]


def needs_me(store: Store, *, is_conducted: bool, owner_of: OwnerOf) -> tuple[Need, ...]:
    """Return what waits for a person, the oldest first; ``is_conducted``: whether a run is at work."""
    seen = service.snapshot_of(store)
    return needs_in(seen, standings_in(seen), is_conducted=is_conducted, owner_of=owner_of)


def standings_in(seen: Snapshot) -> Mapping[str, Standing]:
    return {task_id: Standing(view) for task_id, view in seen.views.items()}


def needs_in(
    seen: Snapshot, standings: Mapping[str, Standing], *, is_conducted: bool, owner_of: OwnerOf
) -> tuple[Need, ...]:
    """The same of one moment."""
    found = [
        need
        for each in standings.values()
        for need in needs_of(each, seen.waits.__getitem__, is_conducted=is_conducted)
    ]
    # Asked last: who lives is looked up, task by task, and mostly something else waits or a run is at work.
    if not (is_conducted or found or any(_is_played(each, owner_of) for each in standings.values())):
        found.extend(_stands_still(seen))
    return tuple(sorted(found, key=lambda need: need.at))


def _is_played(standing: Standing, owner_of: OwnerOf) -> bool:
    """Whether somebody may still go on with it: a claim whose session is dead moves nothing."""
    return owner_of(standing.view) not in (None, Owner.DEAD, Owner.STALE)


def needs_of(
    standing: Standing, waits: Callable[[str | None], Waits], *, is_conducted: bool
) -> Iterator[Need]:
    """Yield what a person must do about one task. ``waits`` tells what waits in a plan for what."""
    row = standing.view.row
    asks = standing.asks if is_conducted else standing.waiting
    if not asks and not is_conducted and standing.state in _UNJUDGED:
        asks = (_unjudged(standing),)
    blocks = waits(row.plan_id).on(row) if asks else ()
    for ask in asks:
        yield Need(
            task_id=ask.task_id,
            plan_id=row.plan_id,
            kind=ask.kind,
            subject_id=ask.subject_id,
            at=ask.at,
            reason=_reason(ask),
            text=ask.text,
            blocks=blocks,
            answers=answers_to(ask, plan_id=row.plan_id or NO_PLAN),
        )


def needs_of_task(store: Store, standing: Standing, *, is_conducted: bool) -> Iterator[Need]:
    """The same, with what waits asked of the database. Blocks."""
    return needs_of(standing, partial(service.waits_of, store), is_conducted=is_conducted)


def _reason(ask: HumanRow) -> str:
    why = WHY.get(ask.kind, "{task} waits for a person").format(task=ask.task_id)
    return f"{why}: {shown(ask)}"


def _unjudged(standing: Standing) -> HumanRow:
    kind, text = _UNJUDGED[standing.state]
    if not standing.view.history:
        return standing.asked(kind, 0, text, at=standing.view.at)
    last = standing.view.history[-1]
    return standing.asked(kind, last.message_id or 0, text, at=last.at)


def _stands_still(seen: Snapshot) -> Iterator[Need]:
    """Yield the plans that a run has begun and not finished. One that is paused is wanted so."""
    if seen.conductor is None:
        return
    for plan in seen.plans:
        left = tuple(row.task_id for row in seen.rows[plan.plan_id] if not row.is_over)
        if plan.finished_at is None and left and plan.plan_id not in seen.paused:
            yield _plan_need(plan, left, seen.conductor.last_heartbeat or plan.locked_at)


def _plan_need(plan: PlanRow, left: tuple[str, ...], at: str) -> Need:
    return Need(
        task_id=CONDUCTOR,
        plan_id=plan.plan_id,
        kind=NO_RUN,
        subject_id=0,
        at=at,
        reason=f"{WHY[NO_RUN]} {one_line(plan.plan_id, len(plan.plan_id))}, and nothing of it goes on by itself",
        text="",
        blocks=left,
        answers=(Answer(command=f"musician run {as_argument(plan.path)}", effect="go on with it"),),
    )
