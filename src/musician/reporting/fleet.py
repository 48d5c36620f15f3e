"""Lists who is at work, by the machine he is on, as far as the database knows it: the same for one machine and many."""

from itertools import groupby
from operator import attrgetter

from musician import service
from musician.protocol.states import ACTIVE
from musician.protocol.values import dataclass
from musician.reporting.needs_me import standings_in
from musician.reporting.overview import Lane, OwnerOf, lane_of
from musician.reporting.standing import Standing
from musician.store.port import Store


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    name: str
    workers: tuple[Worker, ...]


def fleet_of(store: Store, owner_of: OwnerOf) -> tuple[Host, ...]:
    """Return the machines by name, each with who is at work on it; a session of an unknown one stands first."""
    standings = standings_in(service.glance_at(store)).values()
    workers = [
        _worker(each, owner_of) for each in standings if each.state in ACTIVE and each.view.row.session_id
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
