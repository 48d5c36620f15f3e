"""Scores how smoothly submissions came about, for each one and for a phase (D14)."""

from musician.protocol.rules.review import Smoothness, summed_up
from musician.protocol.values import dataclass
from musician.store.port import Store
from musician.store.queries.history import History
from musician.store.queries.plans import Plans


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSmoothness:
    """``smoothness`` is None while nothing of the phase was submitted with a score."""

    plan_id: str
    number: int
    title: str
    smoothness: Smoothness | None


def smoothness_by_phase(store: Store, plan_id: str) -> tuple[PhaseSmoothness, ...]:
    """Every phase of a plan, over all submissions of its tasks."""
    from musician.protocol.messages.stored import read_submission

    with store.read() as tx:
        phases = tx.all(Plans.phases, plan_id=plan_id)
        rows = tx.all(History.submissions_of_plan, plan_id=plan_id)
    scores: dict[object, list[int]] = {row.number: [] for row in phases}
    for row in rows:
        said = read_submission(row.message_type, row.message, row.fields)
        if said is not None and said.smoothness is not None:
            scores.setdefault(row.phase, []).append(said.smoothness)
    return tuple(
        PhaseSmoothness(
            plan_id=plan_id,
            number=row.number,
            title=row.title,
            smoothness=summed_up(scores[row.number]),
        )
        for row in phases
    )
