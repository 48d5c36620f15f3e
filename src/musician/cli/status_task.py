"""What ``status`` tells of one task."""

from collections.abc import Iterator
from functools import cached_property

from musician import service
from musician.cli.context import App
from musician.cli.render import fields, pairs
from musician.processes.machine import MACHINE
from musician.processes.output import one_line
from musician.protocol.rules.ceilings import Bound
from musician.protocol.rules.liveness import Owner, heartbeat_status, owner_standing
from musician.protocol.states import ACTIVE, State
from musician.reporting.ahead import Met, met_ahead, met_by, say_ahead
from musician.reporting.needs_me import Need, needs_of_task
from musician.reporting.owners import owner_of
from musician.reporting.run_at_work import conductor_lives, is_conducted
from musician.reporting.spending import say_usage, spending_document
from musician.reporting.standing import Standing
from musician.store.rows import SessionRow, TaskRow, UsageRow

_MOST_ERROR_CHARS = 200


class TaskStatus:
    """History and messages have commands of their own. Blocks."""

    def __init__(self, app: App, task_id: str) -> None:
        self._app = app
        self._standing = Standing(service.task_view(app.shown, task_id))
        self._view = self._standing.view
        self._row = self._view.row

    def document(self) -> dict[str, object]:
        standing, view, progress = self._standing, self._view, self._standing.progress
        return {
            **fields(self._row, heartbeat=life_of(self._app, self._row, standing)),
            "unread": view.unread,
            "completed": list(progress.completed),
            "approved": sorted(progress.approved),
            "deviations": [fields(deviation) for deviation in progress.deviations],
            "self_corrections": list(progress.self_corrections),
            "sessions": [
                fields(session, spending=spending_document(self._used_in(session)))
                for session in view.sessions
            ],
            "anomalies": [fields(found) for found in standing.anomalies],
            "spending": spending_document(view.usage),
            "bounds": [
                {
                    "measure": each.measure,
                    "used": each.used,
                    "ceiling": each.ceiling,
                    "is_budget": each.is_budget,
                }
                for each in self._bounds
            ],
            "limited_until": view.limited_until or None,
            "limited_account": view.limited_account or None,
            "with_person_since": standing.with_person_since or None,
            "ahead": [fields(met) for met in self._ahead],
            "needs": [fields(need) for need in self._needs],
            "needs_human": [fields(ask) for ask in standing.asks],
        }

    def text(self) -> Iterator[str]:
        view, standing = self._view, self._standing
        yield pairs(self._facts())
        if standing.anomalies:
            from musician.reporting.wording import say_anomaly  # slow to import, and seldom needed

            yield from map(say_anomaly, standing.anomalies)
        if view.limited_until:
            yield limit_said(view)
        if standing.with_person_since:
            yield f"with a person since {standing.with_person_since} UTC; nothing is prompted meanwhile"
        yield from map(say_ahead, self._ahead)
        yield from (f"needs a person: {need.reason}" for need in self._needs)

    def _facts(self) -> dict[str, object]:
        row, view, progress = self._row, self._view, self._standing.progress
        may_use = ", ".join(each.share for each in self._bounds)
        return {
            "task": row.task_id,
            "title": row.title,
            "state": row.shown_state,
            "plan": row.plan_id,
            "phase": row.phase,
            "session": row.session_id,
            "worked by": row.worked_by,
            "claim": row.claim_epoch,
            "heartbeat": life_of(self._app, row, self._standing),
            "instructions": row.instruction_path,
            "report": row.report_path,
            "last error": _error(row),
            "done": ", ".join(progress.completed),
            "approved": ", ".join(sorted(progress.approved)),
            "deviations": len(progress.deviations),
            "unread": view.unread,
            **({"used": say_usage(view.usage)} if view.usage else {}),
            **({"may use": may_use} if may_use else {}),
        }

    @cached_property
    def _bounds(self) -> tuple[Bound, ...]:
        from musician.runtime.bounds import (
            bounds_of_task,
        )  # it reads the task's file, which is slow to import

        return bounds_of_task(self._app.root, self._app.shown, self._app.settings, self._row)

    @property
    def _ahead(self) -> tuple[Met, ...]:
        foreseen = service.foreseen(self._app.shown, self._row.plan_id or "")
        return met_by(self._row.task_id, met_ahead(foreseen))

    @property
    def _needs(self) -> tuple[Need, ...]:
        app = self._app
        if app.is_archived:
            return ()
        conducted = is_conducted(app.root_if_any, app.store, app.settings)
        return tuple(needs_of_task(app.store, self._standing, is_conducted=conducted))

    def _used_in(self, session: SessionRow) -> list[UsageRow]:
        return [each for each in self._view.usage if each.claim_epoch == session.claim_epoch]


def life_of(app: App, row: TaskRow, standing: Standing | None = None) -> str:
    """Return the heartbeat's status, "dead" if the owner is known to be (D38), or "-" without an active owner."""
    if row.session_id is None or row.state not in ACTIVE:
        return "-"
    status = heartbeat_status(row.heartbeat_age_s, app.settings)
    if standing is not None:
        owner = owner_of(app.root, standing.view, app.settings, MACHINE) or Owner.LIVE
    elif row.state is State.WORKING:  # the conductor
        owner = owner_standing(status, lock_held=conductor_lives(app.root, row))
    else:
        return "-"
    return "dead" if owner is Owner.DEAD else status


def limit_said(view: service.TaskView) -> str:
    until = view.limited_until
    return f"its agent's provider gives nothing before {until} UTC ({view.limited_account}); it goes on by itself then"


def _error(row: TaskRow) -> str | None:
    """Return the last error on one line, with the path of its log."""
    if not row.last_error:
        return None
    first = one_line(row.last_error.strip().partition("\n")[0], _MOST_ERROR_CHARS)
    return f"{first} (musician log {row.task_id})"
