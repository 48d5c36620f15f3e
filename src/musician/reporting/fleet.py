"""Lists who is at work, by the machine he is on, as far as the database knows it: the same for one machine and many.

A session or a run that is known to be dead (D38) is at work nowhere, though its claim is still held.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter

from musician import service
from musician.processes.output import one_line
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.liveness import Owner
from musician.protocol.states import ACTIVE
from musician.protocol.values import dataclass
from musician.reporting.needs_me import standings_in
from musician.reporting.owners import OwnerOf
from musician.reporting.standing import Standing
from musician.store.port import Store
from musician.store.rows import ProgramRow

_MOST_HOST_CHARS = 200


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
    program: ProgramRow | None = None
    """None of one that an older version has claimed."""


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


def say_mixed(hosts: Iterable[Host], conductor: ProgramRow | None) -> str:
    """Return what mixed versions mean, "" where one is at work, or none."""
    found = {version for host in hosts for version in host.versions}
    versions = sorted(found | ({conductor.version} if conductor else set()))
    if len(versions) < 2:
        return ""
    return (
        f"Mixed versions are at work: {', '.join(versions)}. The older ones do not know what the newest may ask of"
        " them: install one version everywhere, and start the workers again."
    )


def say_host(host: Host, *, here: str) -> str:
    """Return a machine's name, and with which versions of the program there is work on it."""
    this = " (this machine)" if host.name == here else ""
    versions = f", Musician {' and '.join(host.versions)}" if host.versions else ""
    return one_line(f"{host.name or 'an unknown machine'}{this}{versions}", _MOST_HOST_CHARS)


def conducts(store: Store, *, is_conducted: bool) -> ProgramRow | None:
    """Return the program of the run that is at work; None if none is (``is_conducted``)."""
    if not is_conducted:
        return None
    return next((each for each in service.programs_at_work(store) if each.task_id == CONDUCTOR), None)


def fleet_of(store: Store, owner_of: OwnerOf) -> tuple[Host, ...]:
    """Return the machines by name, each with who is at work on it; a session of an unknown one stands first."""
    return fleet_in(standings_in(service.snapshot_of(store)), service.programs_at_work(store), owner_of)


def fleet_in(
    standings: Mapping[str, Standing], at_work: Iterable[ProgramRow], owner_of: OwnerOf
) -> tuple[Host, ...]:
    """The same of one moment."""
    programs = {each.task_id: each for each in at_work}
    workers = [
        _worker(each, programs.get(each.task_id))
        for each in standings.values()
        if each.state in ACTIVE and each.view.row.session_id and owner_of(each.view) is not Owner.DEAD
    ]
    by_host = groupby(sorted(workers, key=attrgetter("host", "task_id")), key=attrgetter("host"))
    return tuple(Host(name=name, workers=tuple(found)) for name, found in by_host)


def _worker(standing: Standing, program: ProgramRow | None) -> Worker:
    view = standing.view
    row, client = view.row, view.client
    session = next((each for each in reversed(view.sessions) if each.session_id == row.session_id), None)
    epoch = None if session is None else session.claim_epoch
    own = [each for each in view.processes if each.claim_epoch == epoch and each.role == "musician"]
    place = own[0] if own else client
    return Worker(
        host=place.host if place is not None else "" if program is None else program.host,
        pid=None if place is None else place.pid,
        task_id=row.task_id,
        name=row.worked_by or "",
        session_id=row.session_id or "",
        agent="" if session is None else session.agent or "",
        since="" if session is None else session.started_at,
        last_seen=row.last_heartbeat or "",
        program=program,
    )
