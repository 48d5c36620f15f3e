"""Lists who is at work, by the machine he is on, as far as the database knows it: the same for one machine and many."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from musician import service
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import ACTIVE
from musician.protocol.values import dataclass, replace
from musician.reporting.needs_me import standings_in
from musician.reporting.overview import Lane, OwnerOf, lane_of
from musician.reporting.standing import Standing
from musician.store.port import Store
from musician.store.rows import ProgramRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A session that owns a task. ``host`` is "" and ``pid`` None where it left no process in the database."""

    host: str
    pid: int | None
    task_id: str
    name: str
    session_id: str
    agent: str
    since: str
    last_seen: str
    lane: Lane
    program: ProgramRow | None = None
    """None of a session that somebody opened by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    name: str
    workers: tuple[Worker, ...]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the program that are at work on it."""
        return tuple(sorted({each.program.version for each in self.workers if each.program is not None}))

    @property
    def runs_on(self) -> str:
        """What its programs run on, as they say it; "" where nobody has said it."""
        found = {
            f"Python {each.program.python}, {each.program.system}" for each in self.workers if each.program
        }
        return "; ".join(sorted(found))


def versions_of(hosts: Iterable[Host], conductor: ProgramRow | None) -> tuple[str, ...]:
    """Return every version that is at work: more than one are mixed, and the newest may do what others do not know."""
    found = {version for host in hosts for version in host.versions}
    return tuple(sorted(found | ({conductor.version} if conductor else set())))


def conducts(store: Store) -> ProgramRow | None:
    """Return the program of the run that holds the conductor's row; None if none does."""
    return next((each for each in service.programs_at_work(store) if each.task_id == CONDUCTOR), None)


def fleet_of(store: Store, owner_of: OwnerOf) -> tuple[Host, ...]:
    """Return the machines by name, each with who is at work on it; a session of an unknown one stands first."""
    standings = standings_in(service.glance_at(store)).values()
    programs = {each.task_id: each for each in service.programs_at_work(store)}
    workers = [
        replace(_worker(each, owner_of), program=programs.get(each.task_id))
        for each in standings
        if each.state in ACTIVE and each.view.row.session_id
    ]
    by_host = groupby(sorted(workers, key=attrgetter("host", "task_id")), key=attrgetter("host"))
    return tuple(Host(name=name, workers=tuple(found)) for name, found in by_host)


def _worker(standing: Standing, owner_of: OwnerOf) -> Worker:
    view = standing.view
    row, client = view.row, view.client
    session = next((each for each in reversed(view.sessions) if each.session_id == row.session_id), None)
    epoch = None if session is None else session.claim_epoch
    own = [each for each in view.processes if each.claim_epoch == epoch and each.role == "musician"]
    place = own[0] if own else client
    return Worker(
        host="" if place is None else place.host,
        pid=None if place is None else place.pid,
        task_id=row.task_id,
        name=row.worked_by or "",
        session_id=row.session_id or "",
        agent="" if session is None else session.agent or "",
        since="" if session is None else session.started_at,
        last_seen=row.last_heartbeat or "",
        lane=lane_of(standing, owner_of(view)),
    )
