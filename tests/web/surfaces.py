"""What each surface says of a project, beside what the fold of its database says at that moment."""

import html
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Protocol

from musician import service
from musician.processes.machine import MACHINE
from musician.processes.output import one_line, printable
from musician.project import Project
from musician.reporting.overview import Lane, Overview
from musician.reporting.plan_list import list_plans, pause_document, say_pause
from musician.reporting.timeline import decisions, happenings
from musician.runtime.overseeing import look
from musician.store.rows import TaskRow
from musician.web.pages import MOST_SHOWN
from tests.surroundings import Call


class Loads(Protocol):
    def load(self, path: str) -> str: ...


def check_surfaces(folder: Path, browser: Loads, call: Call) -> None:
    """Compare each with what is folded from the database here and now."""
    with closing(Project(str(folder))) as project:
        seen, rows = look(project, MACHINE), tasks_in(project)
        check_first_page(browser.load("/"), seen)
        for row in rows:
            check_task(project, browser, row, counts_of(seen))
        check_lists(project, browser)
        check_documents(project, call, seen)
    text = call("status", "--all").out
    needed = re.findall(r"^needs a person: (.*)$", text, re.MULTILINE)
    assert needed == [printable(need.reason) for need in seen.needs]
    for plan in seen.plans:
        assert plan.paused is None or printable(say_pause(plan.paused)) in text.splitlines()
    for row in rows:
        assert re.search(rf"^{row.task_id}\s+{row.shown_state}\s", text, re.MULTILINE), text


def tasks_in(project: Project) -> list[TaskRow]:
    plans = (None, *(plan.plan_id for plan in service.all_plans(project.store)))
    return [row for plan_id in plans for row in service.tasks_of(project.store, plan_id)]


def check_first_page(page: str, seen: Overview) -> None:
    lanes = {each.row.task_id: str(each.lane) for plan in seen.plans for each in plan.tasks}
    assert lanes_on(page) == lanes
    assert needs_on(page) == [shown(need.reason) for need in seen.needs]
    assert counts_on(page) == counts_of(seen)
    paused = [shown(one_line(plan.paused.said, 2000)) for plan in seen.plans if plan.paused is not None]
    assert [text_of(each) for each in re.findall(r'<p class="paused">(.*?)</p>', page)] == paused


def check_task(project: Project, browser: Loads, row: TaskRow, counts: dict[str, int]) -> None:
    messages = service.messages_of(project.store, row.task_id)[-MOST_SHOWN:]
    page = browser.load(f"/tasks/{row.task_id}")
    assert f"<dt>state</dt><dd>{row.state.replace('_', ' ')}</dd>" in page
    assert [int(each) for each in re.findall(r'id="message-(\d+)"', page)] == [
        each.id for each in messages[::-1]
    ]
    for each in (page, *(browser.load(f"/tasks/{row.task_id}/{more}") for more in ("review", "log"))):
        assert counts_on(each) == counts


def check_lists(project: Project, browser: Loads) -> None:
    """What happened, what was decided, and which plans there are, also those that were put away."""
    newest = happenings(project.store, most=MOST_SHOWN).happenings[::-1]
    assert rows_on(browser.load("/timeline")) == [
        (e.task_id, shown(one_line(e.what, 300).replace("_", " "))) for e in newest
    ]
    decided = decisions(project.store).happenings[::-1]
    assert rows_on(browser.load("/decided")) == [(each.task_id, each.what) for each in decided]
    page = browser.load("/plans")
    for plan in list_plans(project.store):
        found = rf">{plan.plan_id}</a>.*?<td>{plan.state}\b.*?<td[^>]*>{re.escape(plan.tally.brief)}<"
        assert re.search(found, page, re.DOTALL), page
        if plan.is_away:
            lanes = Counter(lanes_on(browser.load(f"/plans/{plan.plan_id}/")).values())
            waited_for = lanes.total() - lanes[Lane.SKIPPED] - lanes[Lane.WITHDRAWN]
            assert (waited_for, lanes[Lane.DONE]) == (plan.tasks, plan.completed)


def check_documents(project: Project, call: Call, seen: Overview) -> None:
    status = call("status", "--all", "--json").json
    assert {each["task_id"]: each["state"] for each in status["tasks"]} == {
        row.task_id: row.state for row in tasks_in(project)
    }
    paused = {plan.plan.plan_id: plan.paused for plan in seen.plans if plan.plan is not None}
    assert {each["plan_id"]: each["paused"] for each in status["plans"]} == {
        plan_id: pause_document(row) for plan_id, row in paused.items()
    }
    assert [each["reason"] for each in status["needs"]] == [need.reason for need in seen.needs]
    asked = call("needs-me", "--json", expect=1 if seen.needs else 0).json["waiting"]
    assert [each["reason"] for each in asked] == [need.reason for need in seen.needs]
    happened = call("timeline", "--json", "--last", str(MOST_SHOWN)).json["timeline"]
    newest = happenings(project.store, most=MOST_SHOWN).happenings
    assert [(each["seq"], each["what"]) for each in happened] == [(each.seq, each.what) for each in newest]
    plans = call("plan", "list", "--json").json["plans"]
    assert [each["state"] for each in plans] == [each.state for each in list_plans(project.store)]


def shown(text: str) -> str:
    """As a page shows it, its white space apart."""
    return " ".join(printable(text).split())


def text_of(markup: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", "", markup)).split())


def lanes_on(page: str) -> dict[str, str]:
    row = r'<a data-open href="[^"]*/tasks/[^"]*">([^<]*)</a>.*?</th>\s*<td><span class="lane [^"]*">([^<]*)<'
    return dict(re.findall(row, page))


def needs_on(page: str) -> list[str]:
    needs = page.partition('id="needs"')[2].partition("</section>")[0]
    return [text_of(each) for each in re.findall(r"</h3>\s*<p>(.*?)</p>", needs, re.DOTALL)]


def counts_on(page: str) -> dict[str, int]:
    counts = page.partition('class="counts"')[2].partition("</dl>")[0]
    return {name: int(number) for name, number in re.findall(r"<dt>([^<]*)</dt><dd>(\d+)</dd>", counts)}


def counts_of(seen: Overview) -> dict[str, int]:
    counts = {
        "for you": len(seen.needs),
        "running": seen.count(Lane.RUNNING),
        "done": seen.count(Lane.DONE),
        "standing still": seen.count(Lane.STANDS_STILL),
    }
    unknown = seen.count(Lane.UNKNOWN)
    return counts | ({"not known to run": unknown} if unknown else {})


def rows_on(page: str) -> list[tuple[str, str]]:
    """Of what happened or was decided: the task, and what it was."""
    rows = re.findall(r"<tr data-item.*?</tr>", page.partition('id="timeline"')[2], re.DOTALL)
    cells = (re.findall("<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows)
    return [(text_of(each[1]), text_of(each[3])) for each in cells]
