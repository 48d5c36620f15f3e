"""Answers what a page asks to see. Each answer is rendered from the database at that moment and changes nothing."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial, wraps

from pygments.formatters import HtmlFormatter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from musician import service
from musician.processes.identity import host_name
from musician.processes.machine import MACHINE
from musician.protocol.errors import MusicianError, UnknownTask
from musician.protocol.names import CONDUCTOR, NO_PLAN
from musician.protocol.states import WAITING
from musician.reporting import drawing
from musician.reporting.asks import answers_to
from musician.reporting.comments import Round, Said, places_in, places_of, rounds_of, said_beside, since
from musician.reporting.departures import departures_of
from musician.reporting.diff_view import TOO_LARGE, file_view
from musician.reporting.evidence import evidence_of
from musician.reporting.fleet import conducts, fleet_of, say_mixed
from musician.reporting.needs_me import needs_of_task
from musician.reporting.offers import offers_to
from musician.reporting.owners import owners_for
from musician.reporting.plan_list import list_plans
from musician.reporting.receipts import marks_of
from musician.reporting.run_at_work import run_process
from musician.reporting.spending import say_usage
from musician.reporting.standing import Standing, names_of
from musician.reporting.timeline import decisions, happenings, session_names, signers_of
from musician.reporting.transcripts import sizes_of
from musician.reporting.under_review import change_of, submission_of
from musician.reporting.wording import say_anomaly
from musician.runtime.bounds import bounds_of_task, say_bounds
from musician.service.similarity import alike_to_each
from musician.store.rows import CommentRow
from musician.trees.diffs import FileDiff, files_between
from musician.web.desk import MOST_LOG_LINES, Desk
from musician.web.news import seen_before

_ARCHIVE = "musician.archive"
"""The key in a request's scope of the desk that answers it instead."""
_MOST_DIGITS = 19
MOST_SHOWN = 200
"""Of the newest messages and happenings on a page; the others are counted."""


MOST_OPEN_CHARS = 600
"""Of a proposal's text; a longer one is folded until it is asked for."""
MOST_NEEDS = 50
"""Of what waits for a person, the oldest first; the others are counted until they are asked for."""


def desk_of(request: Request) -> Desk:
    desk: Desk = request.scope.get(_ARCHIVE) or request.app.state.desk
    return desk


def of_an_archive(render: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """The same page of the archived plan in the address."""

    @wraps(render)
    def page(request: Request) -> Response:
        with desk_of(request).archive(request.path_params["plan_id"]) as request.scope[_ARCHIVE]:
            try:
                return render(request)
            finally:
                del request.scope[_ARCHIVE]  # a page that says what is wrong is no page of the archive

    return page


def of_this_moment(render: Callable[[Request], HTMLResponse]) -> Callable[[Request], HTMLResponse]:
    """Of a page that is made of the database; what no row tells of, as a branch, it finds at the next beat."""

    @wraps(render)
    def page(request: Request) -> HTMLResponse:
        return desk_of(request).kept(request, render)

    return page


@of_this_moment
def home(request: Request) -> HTMLResponse:
    """With ``?open=NAME`` of phases that are to be shown whole; ``needs`` is what waits for a person."""
    opened = frozenset(request.query_params.getlist("open"))
    return desk_of(request).page(request, "home.html", opened=opened, most_needs=MOST_NEEDS)


@of_this_moment
def plans(request: Request) -> HTMLResponse:
    desk = desk_of(request)
    return desk.page(request, "plans.html", plans=list_plans(desk.store))


@of_this_moment
def decided(request: Request) -> HTMLResponse:
    """What was decided before, beside what is to be decided now."""
    desk = desk_of(request)
    until = request.query_params.get("until", "")
    at = int(until) if until.isascii() and until.isdecimal() and len(until) < _MOST_DIGITS else None
    found = decisions(desk.store, until=at)
    return desk.page(
        request,
        "timeline.html",
        heading="What was decided",
        timeline=found,
        is_cut=at is not None,
        names=session_names(desk.store, found.happenings),
    )


@of_this_moment
def fleet(request: Request) -> HTMLResponse:
    desk = desk_of(request)
    run = run_process(desk.root)
    hosts = fleet_of(desk.store, owners_for(desk.root, desk.settings, MACHINE))
    conductor = conducts(desk.store, is_conducted=desk.overview().is_conducted)
    return desk.page(
        request,
        "fleet.html",
        hosts=hosts,
        run=run,
        here=host_name(),
        conductor=conductor,
        mixed=say_mixed(hosts, conductor),
    )


@of_this_moment
def timeline(request: Request) -> HTMLResponse:
    desk = desk_of(request)
    newest = happenings(desk.store, most=MOST_SHOWN)
    names = session_names(desk.store, newest.happenings)
    return desk.page(request, "timeline.html", heading="Timeline", timeline=newest, names=names)


@of_this_moment
def task(request: Request) -> HTMLResponse:
    desk = desk_of(request)
    standing = _standing(request)
    view = standing.view
    messages, left_out = service.newest_messages(desk.store, standing.task_id, most=MOST_SHOWN)
    needs = tuple(needs_of_task(desk.store, standing, is_conducted=desk.overview().is_conducted))
    return desk.page(
        request,
        "task.html",
        standing=standing,
        view=view,
        needs=() if desk.is_away else needs,
        offers=offers_to(standing, is_asked=bool(needs)),
        dependents=service.waits_of(desk.store, view.row.plan_id).after(standing.task_id),
        anomalies=[say_anomaly(found) for found in standing.anomalies],
        used=say_usage(view.usage),
        may_use=say_bounds(bounds_of_task(desk.root, desk.store, desk.settings, view.row)),
        messages=messages,
        messages_left_out=left_out,
        marks=marks_of(desk.store, view, most=MOST_SHOWN),
        signers=signers_of(desk.store, standing.task_id, most=MOST_SHOWN),
        names=names_of(view),
        evidence=evidence_of(desk.root, view),
        departures=departures_of(view),
        life=drawing.life_of(view),
        context=drawing.context_of(view, desk.settings),
        waits=standing.state in WAITING,
    )


def proposals(request: Request) -> HTMLResponse:
    """What musicians propose to keep, and which of it is nearly the same; what was decided stands below."""
    desk = desk_of(request)
    every = service.list_proposals(desk.store, only_open=False)
    like = alike_to_each(every)
    return desk.page(request, "proposals.html", proposals=every, like=like, most_open=MOST_OPEN_CHARS)


def log(request: Request) -> HTMLResponse:
    """The end of what the task's sessions, and the agents asked about them, have said and done; with ``?find=TEXT``
    the lines of it that have the text, in whatever case.
    """
    desk = desk_of(request)
    view = _standing(request).view
    task_id = view.row.task_id
    lines = desk.log_of(task_id).lines(view)
    sought = request.query_params.get("find", "").strip()
    return desk.page(
        request,
        "log.html",
        task_id=task_id,
        sought=sought,
        lines=[each for each in lines if sought.casefold() in each.casefold()],
        is_cut=len(lines) == MOST_LOG_LINES,
        most=MOST_LOG_LINES,
    )


def review(request: Request) -> HTMLResponse:
    """The work of a task beside its evidence. ``?since=review`` shows what changed since a person has judged it."""
    desk = desk_of(request)
    standing = _standing(request)
    view = standing.view
    since_review = request.query_params.get("since") == "review"
    change = change_of(desk.root, view, since_review=since_review)
    written = service.comments_of(desk.store, standing.task_id)
    places = places_in(desk.root, written, change)
    deviations, findings = service.open_rows(view.journal)
    submission = submission_of(desk.store, standing)
    rounds = rounds_of(desk.store, view)
    asks = () if desk.is_away else standing.waiting
    return desk.page(
        request,
        "review.html",
        standing=standing,
        view=view,
        submission=submission,
        evidence=evidence_of(desk.root, view)[:1],
        deviations=deviations,
        findings=findings,
        drafts=[each for each in written if each.message_id is None],
        rounds=rounds[::-1],
        said=_stamp_of(written, rounds),
        since=lambda comment: since(comment, places),
        change=change,
        since_review=since_review,
        can_look_since=view.commit_seen_by_person is not None,
        verdicts=frozenset(view.open_verdicts),
        asks=[(ask, answers_to(ask, plan_id=view.row.plan_id or NO_PLAN)) for ask in asks],
    )


def _stamp_of(written: Iterable[CommentRow], rounds: Iterable[Round]) -> str:
    """Return what differs whenever something is said to a line, sent, dropped or answered: an open page asks then."""
    answers = tuple(point.answer for each in rounds for point in each.points)
    return str(hash((tuple((each.id, each.message_id) for each in written), answers)))


def changed_file(request: Request) -> Response:
    """One file of a change, a part of the review's page; with ``?of=TASK``, what was said to its lines beside them."""
    desk = desk_of(request)
    folder = desk.root.path
    old, new, number = (request.path_params[name] for name in ("old", "new", "number"))
    files = files_between(folder, old, new) if _is_commit(old) and _is_commit(new) else ()
    file = next((each for each in files if str(each.number) == number), None)
    if file is None:
        raise HTTPException(404)
    is_space_ignored = request.query_params.get("space") == "ignored"
    found = file_view(folder, old, new, file, is_space_ignored=is_space_ignored)
    shown = None if found is TOO_LARGE else found
    beside = _beside(desk, request.query_params.get("of"), old, new, file)
    lines = [line for hunk in shown.hunks for line in hunk.lines] if shown else []
    there = {"old": {line.old for line in lines}, "new": {line.new for line in lines}}
    return desk.page(
        request,
        "file.html",
        file=file,
        shown=shown,
        is_too_large=found is TOO_LARGE,
        beside=beside,
        apart=[
            each
            for side, said in beside.items()
            for at, several in said.items()
            if at not in there[side]
            for each in several
        ],
    )


def _beside(desk: Desk, task_id: str | None, old: str, new: str, file: FileDiff) -> Mapping[str, Said]:
    """Return what was said to the lines of a file, on each side, by the number of the line."""
    if not task_id:
        return {"old": {}, "new": {}}
    written = service.comments_of(desk.store, task_id)
    rounds = rounds_of(desk.store, service.task_view(desk.store, task_id))
    places = places_of(desk.root.path, written, old=old, new=new)
    return {
        "old": said_beside(written, rounds, places, path=file.old_path, side="old"),
        "new": said_beside(written, rounds, places, path=file.path, side="new"),
    }


def _is_commit(text: str) -> bool:
    return 40 <= len(text) <= 64 and set(text) <= set("0123456789abcdef")


def events(request: Request) -> Response:
    if request.method == "HEAD":  # its stream would go on and on, to nobody
        return Response(media_type="text/event-stream")
    desk = desk_of(request)
    seen = seen_before(request.headers.get("last-event-id"))
    task_id = request.query_params.get("log")
    grown = (
        None
        if task_id is None
        else partial(sizes_of, desk.root, service.task_row(desk.store, task_id).task_id)
    )
    return StreamingResponse(desk.news.stream(seen, grown), media_type="text/event-stream")


def syntax(_: Request) -> Response:
    """The colours of the languages, for light and for dark."""
    light, dark = (_sheet(style) for style in ("default", "monokai"))
    sheet = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n.code {{ background: none }}\n"
    return Response(sheet, media_type="text/css", headers={"Cache-Control": "private, max-age=3600"})


def _sheet(style: str) -> str:
    rules: str = HtmlFormatter(style=style).get_style_defs(".code")  # type: ignore[no-untyped-call]
    return rules


def _standing(request: Request) -> Standing:
    """Return the standing of the task in the address; :class:`UnknownTask`, also of the conductor's own row."""
    task_id = request.path_params["task_id"]
    if task_id == CONDUCTOR:
        raise UnknownTask(task_id=task_id)
    return Standing(service.task_view(desk_of(request).store, task_id))


def not_found(request: Request, error: Exception) -> Response:
    text = str(error) if isinstance(error, MusicianError) else "There is no such page."
    try:
        return desk_of(request).page(request, "message.html", status=404, title="Not found", text=text)
    except MusicianError as worse:
        return trouble(request, worse)


def trouble(request: Request, error: Exception) -> Response:
    """Say what is wrong; without a page around it where the database is what cannot be read."""
    with suppress(MusicianError):
        about = {"title": "This cannot be shown", "text": str(error)}
        return desk_of(request).page(request, "message.html", status=503, **about)
    return PlainTextResponse(f"{error}\n", status_code=503)
