"""Shows a run: as a live table on a terminal, as lines elsewhere, as one document with ``--json``."""

import time
from contextlib import AbstractContextManager
from pathlib import Path

from musician import service
from musician.cli.context import App
from musician.cli.render import is_plain, note, show
from musician.cli.run_end import End
from musician.cli.run_lines import JsonLines, Lines, object_line
from musician.cli.run_stage import Face, Stage, give_up_output, write
from musician.cli.run_table import LiveTable, final_table
from musician.cli.run_time import today, zone
from musician.plans.model import Plan, Require
from musician.processes.whole_file import write_whole
from musician.protocol.values import replace
from musician.reporting.account import account_of
from musician.reporting.events import Reporter
from musician.reporting.standing import Standing, standings_of
from musician.reporting.wording import say_base
from musician.runtime.conductor.conduct import Ending, Outcome
from musician.runtime.plan_page import keep_page, page_path
from musician.runtime.program import programs_of
from musician.trees.branches import integration_branch
from musician.verification.baseline import Baseline
from musician.verification.findings import counted

_PATIENCE_S = 0.3
"""How long an interrupted run waits for a slow reader of its output."""


class View(AbstractContextManager["View"]):
    """The display of a run, as a context manager. :meth:`end` prints the summary."""

    def __init__(
        self,
        app: App,
        plan: Plan,
        *,
        jobs: int,
        again: str,
        summary: Path | None = None,
        has_events: bool = False,
    ) -> None:
        self._app, self._plan, self._again, self._summary = app, plan, again, summary
        self._programs = programs_of(plan)
        self._has_events = has_events
        self._began_s = time.monotonic()
        self._has_ended = False
        self._reporter = Reporter(plan_id=plan.plan_id, store=app.store, by_hand=not jobs)
        self._stage = Stage(self._face(jobs))

    def __exit__(self, *_: object) -> None:
        self._stage.finish(_PATIENCE_S)

    def on_look(self, standings: tuple[Standing, ...]) -> None:
        self._programs = {each.task_id: each.program for each in standings if each.program is not None}
        self._stage.on_look(standings)

    def on_base(self, baseline: Baseline) -> None:
        self._reporter.heard.append(say_base(baseline, required=self._plan.require is Require.GREEN))

    def note(self, text: str) -> None:
        """Tell something of the run's own: among its lines while it goes on, else on standard error."""
        if self._has_ended:
            note(text)
        else:
            self._reporter.heard.append(text)

    def end(self, outcome: Outcome) -> End:
        """Show the last snapshot and the summary, and return that. An output that fails is given up."""
        self._has_ended = True
        views = service.everything(self._app.store, self._plan.plan_id)
        standings = standings_of(views, self._programs)
        self._stage.on_look(standings)
        patience_s = _PATIENCE_S if outcome.ending is Ending.INTERRUPTED else None
        if not self._stage.finish(patience_s):
            give_up_output()
        end = self._kept(self._end(outcome, standings))
        try:
            self._print(end)
        except OSError:
            give_up_output()
        if self._summary is not None:
            write_whole(self._summary, end.page)
        return end

    def _print(self, end: End) -> None:
        if self._has_events:
            write(object_line({"event": "end", **end.document}))
            return
        show(self._app, end.document, "", final_table(end.standings), "", end.summary)
        write("")

    def _kept(self, end: End) -> End:
        """Keep the page on a complete plan where its reports are."""
        if end.outcome.ending is not Ending.COMPLETE:
            return end
        kept = replace(end, page_path=page_path(self._app.root, end.plan_id))
        return kept if keep_page(self._app.root, end.plan_id, kept.page) else end

    def _face(self, jobs: int) -> Face:
        if self._has_events:
            return JsonLines(self._reporter)
        if self._app.json:
            return Face()
        if is_plain():
            return Lines(self._reporter, head=self._head(jobs), id_width=max(map(len, self._programs)))
        return LiveTable(self._reporter, plan_id=self._plan.plan_id, title=self._plan.title)

    def _head(self, jobs: int) -> str:
        plan = self._plan
        tasks, phases = counted(len(self._programs), "task"), counted(len(plan.phases), "phase")
        who = (
            f"up to {counted(jobs, 'musician')} at once"
            if jobs
            else "the musicians are the sessions you start"
        )
        return f"{plan.plan_id}: {plan.title} ({tasks} in {phases}, {who})\n{today()}, times are {zone()}"

    def _end(self, outcome: Outcome, standings: tuple[Standing, ...]) -> End:
        row = service.plan_row(self._app.store, self._plan.plan_id)
        # Whoever interrupts a run does not wait for git to count the lines of every task.
        is_whole = outcome.ending is not Ending.INTERRUPTED or self._summary is not None
        return End(
            plan_id=self._plan.plan_id,
            outcome=outcome,
            standings=standings,
            base_branch=None if row is None else row.base_branch,
            integration=integration_branch(self._plan.plan_id),
            again=self._again,
            phases=service.smoothness_by_phase(self._app.store, self._plan.plan_id),
            took_s=time.monotonic() - self._began_s,
            account=account_of(
                self._app.root if is_whole else None,
                self._app.store,
                standings,
                plan_id=self._plan.plan_id,
                title=self._plan.title,
            ),
        )
