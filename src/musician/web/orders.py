"""Takes a person's orders from a page's forms: each calls the one verb that the command line calls, too.

The verb decides; what it refuses is told on a page of its own, with the remedy, and has changed nothing. A verdict
names the submission that was on the page, so a newer one refuses it. After an order the page is asked for anew
(303): loading it again repeats nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qs, quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from musician import service
from musician.protocol.errors import BadField, MusicianError
from musician.protocol.rules.ceilings import read_amounts
from musician.protocol.states import State
from musician.runtime.again import retry_task, skip_task
from musician.runtime.as_person import person_name
from musician.runtime.commenting import comment as write_comment
from musician.runtime.overseeing import check_database
from musician.runtime.proposing import Desk as Proposing
from musician.runtime.takeover import hand_over
from musician.web.desk import Desk
from musician.web.guard import is_form_token
from musician.web.pages import desk_of

MOST_FORM_BYTES = 1_000_000
MOST_FIELDS = 1000

_VERDICTS = {
    "approve": State.REVIEW_APPROVED,
    "reject": State.REVIEW_FAILED,
    "fix": State.FIX_PROPOSED,
}


class Form:
    """The fields of a form. A text is stored as it was typed, with the line ends of this machine."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields

    def get(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> list[str]:
        return [value.replace("\r\n", "\n") for value in self._fields.get(name, ())]

    def number(self, name: str) -> int | None:
        value = self.get(name)
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else None


def judge(desk: Desk, task_id: str, form: Form) -> None:
    """Give a verdict on the submission that the page has shown. What was said to its lines goes with it."""
    name = form.get("verdict")
    if name not in _VERDICTS:
        raise BadField(field="verdict", value=name, reason="use " + ", ".join(_VERDICTS))
    service.judge_as_person(
        desk.as_person,
        task_id,
        _VERDICTS[name],
        form.get("text").strip(),
        submission_id=form.number("submission"),
    )


def comment(desk: Desk, task_id: str, form: Form) -> None:
    """Keep what is said to a line as a draft, for the commit that was on the page."""
    write_comment(
        desk.root,
        desk.store,
        task_id,
        path=form.get("path"),
        line=form.number("line") or 0,
        text=form.get("text"),
        side="old" if form.get("side") == "old" else "new",
        commit=form.get("commit") or None,
    )


def drop(desk: Desk, task_id: str, form: Form) -> None:
    service.drop_comment(desk.store, task_id, form.number("comment") or 0)


def send(desk: Desk, task_id: str, form: Form) -> None:
    """Say something, and grant what goes with it. An answer is to what the page has shown, and grants once."""
    more, about = form.get("more").split(), form.number("about")
    service.send(
        desk.as_person,
        task_id,
        form.get("text"),
        urgent=form.get("urgent") == "yes",
        question_id=form.number("question"),
        retries=form.number("retries"),
        more=read_amounts(more) if more else None,
        answers=None if about is None else (form.get("kind"), about),
    )


def stop(desk: Desk, task_id: str, form: Form) -> None:
    text = form.get("text") or service.STOP_NOW
    service.request_exit(desk.as_person, task_id, text, urgent=True, hold=True)


def handoff(desk: Desk, task_id: str, form: Form) -> None:
    hand_over(desk.root, desk.as_person, task_id, form.get("text") or None, desk.settings)


def retry(desk: Desk, task_id: str, form: Form) -> None:
    text, from_start = form.get("text").strip() or None, form.get("from-start") == "yes"
    retry_task(desk.root, desk.as_person, task_id, desk.settings, text, from_start=from_start)


def skip(desk: Desk, task_id: str, form: Form) -> None:
    name = form.get("dependents")
    if name and name not in list(service.Dependents):
        raise BadField(field="dependents", value=name, reason="use " + ", ".join(service.Dependents))
    named = service.Dependents(name) if name else None
    skip_task(desk.root, desk.as_person, task_id, form.get("text"), desk.settings, dependents=named)


def pause(desk: Desk, plan_id: str, form: Form) -> None:
    service.pause_plan(desk.as_person, plan_id, who=person_name(), reason=form.get("text"))


def resume(desk: Desk, plan_id: str, _: Form) -> None:
    service.resume_plan(desk.as_person, plan_id, who=person_name())


def accept(desk: Desk, number: str, _: Form) -> None:
    Proposing(root=desk.root, store=desk.as_person).accept(_number(number), session_id=None)


def reject(desk: Desk, number: str, form: Form) -> None:
    Proposing(root=desk.root, store=desk.as_person).reject(_number(number), form.get("text"), session_id=None)


def _number(text: str) -> int:
    return Form({"number": [text]}).number("number") or 0


def order(
    verb: Callable[[Desk, str, Form], None], *, back: str = "/tasks/{}"
) -> Callable[[Request], "object"]:
    """Return the endpoint of an order about what its address names; ``back`` is the page that is shown then."""

    async def endpoint(request: Request) -> Response:
        desk, name = desk_of(request), request.path_params["name"]
        page = back.format(quote(name, safe=""))
        form = await _form(request)
        if form is None:
            text = f"A form has at most {MOST_FORM_BYTES} bytes and {MOST_FIELDS} fields."
            return await _refused(request, text, page)
        if not is_form_token(request.scope, form.get("token")):
            return await _refused(request, "This page is of an earlier server. Load it again.", page, form)
        await run_sync(check_database, desk.store)
        try:
            await run_sync(verb, desk, name, form)
        except MusicianError as error:
            return await _refused(request, str(error), page, form)
        desk.news.look()
        return RedirectResponse(page, status_code=303)

    return endpoint


async def _form(request: Request) -> Form | None:
    """Return the form that was sent; None if it is larger than a form may be."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_FORM_BYTES:
            return None
    try:
        fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return None
    return Form(fields)


async def _refused(request: Request, text: str, page: str, form: Form | None = None) -> Response:
    """Say that nothing was done, and give back what was written."""
    written = [] if form is None else form.all("text")
    about = {"title": "Not done", "text": text, "back": page, "written": written}
    return await run_sync(lambda: desk_of(request).page(request, "message.html", status=409, **about))
