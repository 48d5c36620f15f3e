"""What every page needs: the project, its database, the look that all pages of one moment share, and the templates."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from threading import RLock
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from musician import __version__, service
from musician.processes.machine import MACHINE
from musician.processes.output import headline, one_line, printable
from musician.project import Project
from musician.reporting.ahead import say_ahead
from musician.reporting.closed import say_closed
from musician.reporting.drawing import progress_of
from musician.reporting.overview import Lane, Overview, archived_overview
from musician.reporting.spending import say_cost
from musician.reporting.transcript_lines import TaskLog
from musician.runtime.archiving import ArchivedProject
from musician.runtime.as_person import as_person
from musician.runtime.overseeing import branch_of, check_database, look
from musician.store.port import Store
from musician.web.guard import form_token
from musician.web.news import News

MOST_LOG_LINES = 2000
"""Of the end of a task's transcripts."""
_MOST_LOGS = 20
"""Which are read on; of another task it is read from the beginning."""
_MOST_LINE_CHARS = 300
_MOST_KEPT = 100
"""Rendered pages of one moment."""


class Desk:
    """One server's pages; or those of an archived plan, which hang below an address of their own."""

    def __init__(
        self, project: Project, *, read_only: bool, live: "Desk | None" = None, plan: str | None = None
    ) -> None:
        self.live, self.plan = live or self, plan
        self.base = "" if plan is None else f"/plans/{quote(plan, safe='')}"
        self.project, self.read_only = project, read_only
        self.store, self.root, self.settings = project.store, project.root, project.settings
        self.news = News(self.store)
        self._lock = RLock()
        self._moment: object = None
        self._overview: Overview | None = None
        self._branch: str | None = None
        self._kept: dict[tuple[str, str, str], bytes] = {}
        self.log_of = lru_cache(_MOST_LOGS)(partial(TaskLog, self.root, self.store, most=MOST_LOG_LINES))
        self._templates = _templates()

    def overview(self) -> Overview:
        """Return the look of this moment; all pages that ask in the same moment get the same. Blocks."""
        check_database(self.store)
        with self._lock:
            self._forget_the_past()
            if self._overview is None:
                self._overview = (
                    archived_overview(self.store) if self.is_away else look(self.project, MACHINE)
                )
            return self._overview

    def branch(self) -> str:
        """Return the branch of this moment. Blocks: git is asked, once for all pages."""
        with self._lock:
            self._forget_the_past()
            if self._branch is None:
                self._branch = branch_of(self.root)
            return self._branch

    @contextmanager
    def archive(self, plan_id: str) -> Iterator["Desk"]:
        """Open the desk of an archived plan for one page; :class:`UnknownPlan`. Only to look at. Blocks."""
        check_database(self.store)
        with closing(ArchivedProject(self.project, plan_id)) as project:
            yield Desk(project, read_only=True, live=self, plan=plan_id)

    @property
    def as_person(self) -> Store:
        """The database for what the person at the page decides, which bears his name."""
        return as_person(self.project)

    @property
    def is_away(self) -> bool:
        return self.plan is not None

    def kept(self, request: Request, render: Callable[[Request], HTMLResponse]) -> HTMLResponse:
        """Answer with a page that is made of nothing but the database: in one moment it is rendered once. Blocks.

        Fifty open pages ask for it at the same news, and one that all wait for is there sooner than fifty.
        """
        check_database(self.store)
        key = (request.url.path, request.url.query, form_token(request.scope))
        with self._lock:
            self._forget_the_past()
            if key not in self._kept:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = bytes(render(request).body)
            return HTMLResponse(self._kept[key])

    def _forget_the_past(self) -> None:
        # Asked of the database: the listener may not have heard yet of what this page was loaded for.
        moment = (service.version_of(self.store), self.news.beats)
        if moment != self._moment:
            self._moment, self._overview, self._branch = moment, None, None
            self._kept.clear()

    def page(self, request: Request, template: str, *, status: int = 200, **about: Any) -> HTMLResponse:
        """Render a whole page. Everything in it is escaped by the template."""
        shared = {
            "look": self.live.overview(),
            "shown": self.overview(),
            "base": self.base,
            "plan": self.plan,
            "project": self.root.path.name,
            "branch": self.live.branch(),
            "form_token": form_token(request.scope),
            "read_only": self.read_only,
            "path": request.url.path,
        }
        return HTMLResponse(self._templates.get_template(template).render(shared | about), status_code=status)


def clock(at: str | None, now: str) -> Markup:
    """Render a stored time: of today without its day, always with the whole of it to point at."""
    if not at:
        return Markup()
    day, of_day = at[:10], at[11:19]
    shown = of_day if day == now[:10] else f"{day} {of_day[:5]}"
    return Markup('<time datetime="{}T{}Z" title="{} UTC">{}</time>').format(day, of_day, at, shown)


def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("musician.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["line"] = lambda text: one_line(text or "", _MOST_LINE_CHARS)
    made.filters["headline"] = lambda text: headline(text or "")
    made.filters["printable"] = lambda text: printable(text or "")
    made.filters["clock"] = clock
    made.filters["ahead"] = lambda met: one_line(say_ahead(met), _MOST_LINE_CHARS)
    made.filters["cost"] = say_cost
    made.filters["closed"] = lambda each: one_line(say_closed(each), _MOST_LINE_CHARS)
    made.filters["progress"] = progress_of
    made.globals["Lane"] = Lane
    made.globals["version"] = __version__
    return made
