"""Lists every plan there is, open or archived, with how much of it is complete."""

from musician import service
from musician.protocol.arguments import as_argument
from musician.protocol.values import dataclass
from musician.reporting.tally import Tally, tally_of, tally_of_archive
from musician.store.port import Store
from musician.store.rows import ArchiveRow, PauseRow, PlanRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPlan:
    """``state`` is open, paused, complete, archived or abandoned; ``abandoned`` says why, None if it was not.

    ``paused`` is the pause that lasts.
    """

    plan_id: str
    title: str
    state: str
    tasks: int
    """Those that it waits for."""
    completed: int
    locked_at: str
    ended_at: str | None
    abandoned: str | None
    paused: PauseRow | None = None
    skipped: int = 0
    withdrawn: int = 0
    settled: int = 0
    """Skipped or withdrawn, of an old archive that has not kept which."""

    @property
    def tally(self) -> Tally:
        return Tally(
            complete=self.completed,
            tasks=self.tasks,
            skipped=self.skipped,
            withdrawn=self.withdrawn,
            settled=self.settled,
        )

    @property
    def is_away(self) -> bool:
        return self.state in ("archived", "abandoned")


def list_plans(store: Store) -> tuple[ListedPlan, ...]:
    """Return the archived ones first, in the order in which they were, then the others."""
    there = (listed(store, row) for row in service.all_plans(store))
    return (*map(put_away, service.archives(store)), *there)


def listed(store: Store, row: PlanRow) -> ListedPlan:
    tally = tally_of(service.tasks_of(store, row.plan_id))
    pause = service.pause_of_plan(store, row.plan_id)
    open_state = "open" if pause is None else "paused"
    return ListedPlan(
        plan_id=row.plan_id,
        title=row.title,
        state=open_state if row.finished_at is None else "complete",
        tasks=tally.tasks,
        completed=tally.complete,
        skipped=tally.skipped,
        withdrawn=tally.withdrawn,
        locked_at=row.locked_at,
        ended_at=row.finished_at,
        abandoned=None,
        paused=pause,
    )


def pause_document(row: PauseRow | None) -> dict[str, str] | None:
    """Return who has paused a plan, when and why, as its keys in ``--json`` have it; None if nobody has."""
    return None if row is None else {"who": row.who, "at": row.at, "reason": row.reason}


def say_pause(row: PauseRow) -> str:
    """Return by whom a plan is paused, since when and why, and the command with which it goes on."""
    return f"{row.text}; to go on: musician plan resume {as_argument(row.plan_id)}"


def say_left_open(row: ArchiveRow) -> str:
    """Return what an archived plan has left to decide, with the commands; "" of nothing."""
    if not row.proposals:
        return ""
    return (
        f"{row.plan_id} is archived with open proposals: {row.proposals}"
        f" (musician proposals list --plan {row.plan_id}); to accept one, first: musician plan restore {row.plan_id}"
    )


def put_away(row: ArchiveRow) -> ListedPlan:
    tally = tally_of_archive(row)
    return ListedPlan(
        plan_id=row.plan_id,
        title=row.title,
        state="archived" if row.abandoned is None else "abandoned",
        tasks=tally.tasks,
        completed=tally.complete,
        skipped=tally.skipped,
        withdrawn=tally.withdrawn,
        settled=tally.settled,
        locked_at=row.locked_at,
        ended_at=row.finished_at or row.archived_at,
        abandoned=row.abandoned,
    )
