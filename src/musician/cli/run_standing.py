"""Where a task stands, in the few facts that a table shows."""

from collections.abc import Iterable

from musician import service
from musician.cli.run_wording import many
from musician.protocol.conductor.anomalies import Anomaly
from musician.protocol.journal import Progress
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.store.rows import HumanRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``item`` is what is played or comes next, as ``step 2 of 3``; ``done`` of ``total`` items are finished.

    ``who`` and ``context_pct`` are the owner's, None while nobody owns the task or nobody has said.
    """

    task_id: str
    title: str
    phase: int | None
    state: State
    who: str | None
    item: str
    done: int
    total: int
    context_pct: float | None
    sessions: int
    report_path: str | None
    asks: tuple[HumanRow, ...]
    anomalies: tuple[Anomaly, ...] = ()
    is_withdrawn: bool = False

    @property
    def is_over(self) -> bool:
        """Complete or withdrawn."""
        return self.state is State.COMPLETE or self.is_withdrawn


def standing_of(view: TaskView, program: Program | None) -> Standing:
    """``program`` is None for a task that the plan does not know (any more): it has no progress to show."""
    row = view.row
    progress = Progress().after(service.as_entry(entry) for entry in view.journal)
    items = () if program is None else program.items
    done = sum(1 for item in items if progress.is_done(item.item))
    following = None if program is None else program.next_item(progress)
    session = view.sessions[-1] if view.sessions and row.session_id is not None else None
    return Standing(
        task_id=row.task_id,
        title=row.title or "",
        phase=row.phase,
        state=row.state,
        who=row.worked_by if session is not None else None,
        item=_numbered(following, items) if view.sessions and row.state is not State.COMPLETE else "",
        done=len(items) if row.state is State.COMPLETE else done,
        total=len(items),
        context_pct=None if session is None else session.context_pct,
        sessions=len(view.sessions),
        is_withdrawn=row.is_withdrawn,
        report_path=row.report_path,
        asks=view.open_asks,
        anomalies=service.anomalies_now(view),
    )


def counted(standings: Iterable[Standing]) -> str:
    """``2 of 4 tasks complete``; what was withdrawn is no part of the plan any more and counted apart."""
    all_of_them = tuple(standings)
    withdrawn = sum(1 for each in all_of_them if each.is_withdrawn)
    complete = sum(1 for each in all_of_them if each.state is State.COMPLETE)
    apart = f" ({withdrawn} withdrawn)" if withdrawn else ""
    return f"{complete} of {many(len(all_of_them) - withdrawn, 'task')} complete{apart}"


def _numbered(item: Play | CheckpointItem | None, items: tuple[Play | CheckpointItem, ...]) -> str:
    match item:
        case Play(is_agent=True):
            return item.item
        case Play():
            last = max((each.step for each in items if isinstance(each, Play)), default=item.step)
            return f"{item.item} of {last}"
        case CheckpointItem():
            return f"{item.item} of {item.of}"
    return ""
