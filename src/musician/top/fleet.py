"""Who is at work, by the machine he is on."""

from musician.processes.identity import host_name
from musician.processes.machine import MACHINE
from musician.project import Project
from musician.reporting.fleet import Worker, conducts, fleet_of, say_host, say_mixed
from musician.reporting.overview import Overview
from musician.reporting.owners import owners_for
from musician.top.needs import OfTask
from musician.top.page import Folded, Page
from musician.top.rows import Row, heading, row
from musician.top.task import Task


class Fleet(Page):
    def fold(self, look: Overview, project: Project) -> Folded:
        rows: list[Row] = []
        owner_of = owners_for(project.root, project.settings, MACHINE)
        hosts = fleet_of(project.store, owner_of)
        conductor = conducts(project.store, is_conducted=look.is_conducted)
        if mixed := say_mixed(hosts, conductor):
            rows.append(row("mixed", mixed))
        if conductor is not None:
            run = f"The run: Musician {conductor.version} on {conductor.host} (Python {conductor.python},"
            rows.append(row("run", f"{run} {conductor.system})"))
        for host in hosts:
            rows.append(heading(f"host-{host.name}", say_host(host, here=host_name())))
            if host.runs_on:
                rows.append(row(f"runs-on-{host.name}", f"  {host.runs_on}"))
            rows.extend(_worker_row(each, look.lanes.get(each.task_id, "")) for each in host.workers)
        if not hosts:
            rows.append(row("none", "Nobody is at work."))
        return (("Fleet", "bold"),), rows

    def open_row(self, opens: object) -> None:
        if isinstance(opens, OfTask):
            self.app.push_screen(Task(opens.task_id))


def _worker_row(worker: Worker, lane: str) -> Row:
    facts = (
        lane,
        worker.agent,
        "" if worker.pid is None else f"process {worker.pid}",
        worker.since and f"since {worker.since}",
        worker.last_seen and f"seen {worker.last_seen} UTC",
    )
    return Row(
        key=f"worker-{worker.task_id}",
        parts=((f"  {worker.task_id}  {worker.name}", "bold"), (f"  {', '.join(filter(None, facts))}", "")),
        opens=OfTask(task_id=worker.task_id),
        hang=6,
    )
