"""What happened, and what was decided; the newest stands at the end."""

from collections.abc import Sequence

from musician.processes.output import one_line
from musician.project import Project
from musician.protocol.names import CONDUCTOR
from musician.reporting.overview import Overview
from musician.reporting.timeline import Happening, decisions, happenings, session_names
from musician.top.needs import OfTask
from musician.top.page import Folded, Page
from musician.top.rows import Row, row
from musician.top.task import Task

MOST_SHOWN = 200
"""Of the newest; the others are counted."""
_MOST_CHARS = 500


class _Happened(Page):
    def rows_of(self, title: str, project: Project, told: Sequence[Happening], older: str) -> Folded:
        names = session_names(project.store, told)
        rows = [_row(each, names.get((each.task_id, each.who), each.who)) for each in told]
        if older:
            rows.insert(0, row("older", older, "dim"))
        of = f" of {self.plan}" if self.plan else ""
        return ((f"{title}{of}", "bold"),), rows or [row("none", "Nothing yet.")]

    def start(self, rows: list[Row]) -> int:
        return len(rows) - 1

    def open_row(self, opens: object) -> None:
        if isinstance(opens, OfTask):
            self.app.push_screen(Task(opens.task_id, self.plan))


class Timeline(_Happened):
    def fold(self, _: Overview, project: Project) -> Folded:
        told = happenings(project.store, most=MOST_SHOWN)
        left_out = f"Older ones are left out: {told.left_out} (musician timeline)" if told.left_out else ""
        return self.rows_of("Timeline", project, told.happenings, left_out)


class Decided(_Happened):
    def fold(self, _: Overview, project: Project) -> Folded:
        told = decisions(project.store)
        older = (
            ""
            if told.earlier is None
            else "What was decided earlier: musician dashboard, or musician timeline"
        )
        return self.rows_of("What was decided", project, told.happenings, older)


def _row(each: Happening, name: str) -> Row:
    who = f"{name} ({each.by})" if each.by else name
    return Row(
        key=f"{each.source}-{each.id}",
        parts=(
            (f"{each.at[5:]}  ", "dim"),
            (each.task_id, "bold"),
            (f"  {each.what}", "$text-accent"),
            (f"  {who}" if who else "", "dim"),
            (f"  {one_line(each.text, _MOST_CHARS)}", ""),
        ),
        opens=None if each.task_id == CONDUCTOR else OfTask(task_id=each.task_id),
        hang=16,
    )
