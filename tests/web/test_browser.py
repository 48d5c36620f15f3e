"""The page before a real browser: what a person sees, types and sends."""

import json
import os
import random
import re
import subprocess
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from musician import service
from musician.demo.story import prepare
from musician.project import Project
from musician.protocol.messages.feedback import points_of
from musician.testing.waiting import HANG_S, until
from tests.cli.test_cli_look_at_work import tree_of
from tests.needs import refuse
from tests.surroundings import Call, begin
from tests.web.conftest import Served
from tests.web.test_one_truth import Actors, next_act

pytest.importorskip("playwright", reason="left out: needs playwright")

from playwright.sync_api import BrowserContext, Page, Request, expect

expect.set_options(timeout=HANG_S * 1000)

AXE = os.environ.get("AXE_CORE", "")
"""The file of axe-core, which finds what a page hides from people who do not see it, or use no mouse."""


def test_a_review_is_given_by_keyboard_alone(
    submitted: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """PROOF-9"""
    with Served(submitted, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        assert "token" not in page.url
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page).to_have_title("Review of task-01 · Musician")
        line = page.get_by_role("button", name="Comment on line 1")
        line.focus()
        page.keyboard.press("Enter")
        page.keyboard.type("say who is greeted")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#drafts li")).to_contain_text("greeter.py:1: say who is greeted")
        expect(page.locator(".diff tr.note")).to_contain_text("not sent yet")
        page.keyboard.press("r")
        page.keyboard.type("almost")
        page.keyboard.press("Control+Enter")
        expect(page).to_have_title("task-01 · Musician")
        page.goto(f"{desk.base}/tasks/task-01/review")
        expect(page.locator("#points li")).to_contain_text("say who is greeted")
        page.close()
    found = [
        each
        for each in call("messages", "1", "--json").json["messages"]
        if "rejection" in each["message_type"]
    ]
    (point,) = points_of(found[0]["message"])
    assert found[0]["message"].split("\n")[0] == "almost"
    assert point.startswith("greeter.py:1: say who is greeted")


@pytest.fixture
def long_work(claimed: Path, call: Call) -> Path:
    """task-01 waits for a verdict on a file that is longer than a window."""
    lines = "".join(f"    line_{number} = {number}\n" for number in range(200))
    (tree_of(claimed) / "greeter.py").write_text(f"def greet(name):\n{lines}    return name\n")
    for what in (("step", "1", "start", "1"), ("step", "1", "done", "1", "--commit"), ("checkpoint", "1")):
        call(*what)
    return claimed


def is_order(request: Request) -> bool:
    return request.method == "POST"


def test_a_point_that_could_not_be_sent_stays_and_is_sent_again(
    submitted: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """The form itself says so: the server may be gone, or the laptop was asleep."""
    with Served(submitted, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        page.goto(f"{desk.base}/tasks/task-01/review")
        page.get_by_role("button", name="Comment on line 1").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("say who is greeted")
        browser.set_offline(True)
        page.get_by_role("button", name="Add the point").click()
        told = page.locator(".diff tr.note").get_by_role("alert")
        expect(told).to_contain_text("send it again")
        expect(page.locator(".diff textarea")).to_have_value("say who is greeted")
        with page.expect_event("requestfailed", is_order):  # or it may be sent once the line is back
            page.get_by_role("button", name="Add the point").click()
        expect(told).to_have_count(1)
        browser.set_offline(False)
        page.get_by_role("button", name="Add the point").click()
        expect(page.locator("#drafts li")).to_contain_text("say who is greeted")
        expect(page.locator("#drafts li")).to_have_count(1)
        expect(told).to_have_count(0)
        page.close()


def test_what_is_said_to_lines_comes_to_an_open_file_and_moves_nothing(
    long_work: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """Written in a terminal, dropped and sent, while somebody writes at a line below."""
    with Served(long_work, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        page.goto(f"{desk.base}/tasks/task-01/review")
        page.get_by_role("button", name="Comment on line 150", exact=True).focus()
        page.keyboard.press("Enter")
        page.keyboard.type("half a thou")
        writing = page.locator(".diff textarea")
        before = writing.bounding_box()
        notes = page.locator(".diff tr[data-note]")
        call("review", "comment", "1", "greeter.py:3", "a longer point\nof two lines")
        expect(notes).to_contain_text("a longer point")
        call("review", "comment", "1", "greeter.py:150", "somebody else was here first")
        expect(notes).to_have_count(2)
        call("review", "comments", "1", "--drop", "1")
        expect(notes).to_have_count(1)
        expect(writing).to_be_focused()
        expect(writing).to_have_value("half a thou")
        after = writing.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(before["y"] - after["y"]) < 2, "what one reads and writes stays where it is"
        page.keyboard.type("ght")
        page.keyboard.press("Control+Enter")
        expect(notes).to_have_count(2)
        expect(notes.nth(1)).to_contain_text("half a thought not sent yet")
        call("review", "reject", "1", "see the points")
        expect(notes.nth(1)).to_contain_text("half a thought not answered yet")
        page.close()


@pytest.mark.deep
def test_an_open_page_shows_what_happens_and_what_was_typed_stays(
    claimed: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    with Served(claimed, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        page.goto(f"{desk.base}/tasks/task-01")
        page.get_by_label("To the session").fill("half a sent")
        call("step", "1", "start", "1")
        call("send", "1", "<b>look</b> here")
        expect(page.locator("#messages")).to_contain_text("<b>look</b> here")
        expect(page.get_by_label("To the session")).to_have_value("half a sent")
        project = Project(str(claimed))
        for task_id, others in (("task-02", 1), ("task-01", 2)):
            service.ask_human(project.store, task_id, kind="trouble", subject_id=1, text="no disk")
            if others == 1:
                page.goto(desk.base)
                page.locator("#needs summary").press("Enter")
            expect(page.locator("#needs .need")).to_have_count(others)
        reached = (
            "document.activeElement.matches('summary') && document.activeElement.closest('.need').innerText"
        )
        assert "task-02" in page.evaluate(reached), "what was reached stays so, wherever the list has it now"
        project.close()
        page.close()


@pytest.mark.deep
def test_a_newer_submission_is_told_and_refuses_the_old_verdict(
    submitted: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    with Served(submitted, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        page.goto(f"{desk.base}/tasks/task-01/review")
        call("review", "reject", "1", "no")
        expect(page.locator("#newer")).to_be_visible()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("alert")).to_contain_text("Not done")
        page.close()
    assert call("status", "1", "--json").json["state"] == "review_failed"


@pytest.mark.deep
def test_what_else_is_served_on_this_machine_gets_no_key_and_gives_no_orders(
    claimed: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """A cookie knows no ports: a session may serve what it has made, and its page may send forms to ours."""
    with Served(claimed, command) as desk, Neighbour() as neighbour:
        page = browser.new_page()
        page.goto(desk.address)
        expect(page).to_have_title(re.compile("Musician"))
        neighbour.page = f"""<form method="post" action="{desk.base}/tasks/task-01/send"><button>Go</button>
            <input name="text" value="obey"></form><iframe src="{desk.base}/"></iframe><img src="{desk.base}/fleet">"""
        for name in ("127.0.0.1", "localhost"):
            page.goto(f"http://{name}:{neighbour.port}/")
            page.get_by_role("button", name="Go").click()
            expect(page.locator("body")).to_contain_text("has printed")
        assert neighbour.heard == {""}
        assert desk.address not in neighbour.referers
        page.goto(desk.base)
        expect(page.locator("#plans")).to_be_visible()
        page.close()
    assert "obey" not in call("messages", "1").out


class Neighbour:
    """Another server of this machine. ``heard`` are the cookies that it was sent."""

    def __init__(self) -> None:
        self.page, self.heard, self.referers = "", set[str](), set[str]()
        outer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.heard.add(self.headers.get("Cookie", ""))
                outer.referers.add(self.headers.get("Referer", ""))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(outer.page.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.port = self._server.server_port

    def __enter__(self) -> "Neighbour":
        Thread(target=self._server.serve_forever).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.deep
def test_points_stay_until_a_verdict_with_them_is_taken(
    submitted: Path, command: tuple[str, ...], browser: BrowserContext
) -> None:
    with Served(submitted, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        review = f"{desk.base}/tasks/task-01/review"
        page.goto(review)
        for text in ("say who is greeted", "and test it"):
            page.get_by_role("button", name="Comment on line 1").click()
            page.keyboard.type(text)
            page.keyboard.press("Control+Enter")
            expect(page.locator("#drafts")).to_contain_text(text)
        page.get_by_label("What you say").fill("half a sent")
        page.get_by_role("button", name="Delete").last.click()
        expect(page.locator("#drafts li")).to_have_count(1)
        expect(page.get_by_label("What you say")).to_have_value("half a sent")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("alert")).to_contain_text("an approval changes nothing")
        page.goto(review)
        expect(page.locator("#drafts li")).to_have_count(1)
        page.get_by_role("button", name="Send back").click()
        expect(page).to_have_title("task-01 · Musician")
        page.goto(review)
        expect(page.locator("#points")).to_contain_text("say who is greeted")
        page.close()


@pytest.mark.deep
def test_tabs_in_the_background_leave_the_browser_its_connections(
    ready: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """A browser opens six to one server; a stream holds one."""
    away = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    turned = away + "document.dispatchEvent(new Event('visibilitychange'))"
    with Served(ready, command) as desk:
        pages = []
        for _ in range(7):
            pages.append(browser.new_page())
            pages[-1].goto(desk.address if len(pages) == 1 else desk.base)
            pages[-1].evaluate(turned % "true")
        call("send", "1", "while it was away")
        pages[0].evaluate(turned % "false")
        pages[0].goto(f"{desk.base}/timeline")
        expect(pages[0].locator("#timeline")).to_contain_text("while it was away")
        call("send", "1", "and when it was back")
        expect(pages[0].locator("#timeline")).to_contain_text("and when it was back")
        pages[0].evaluate(turned % "true")
        call("send", "1", "while nobody saw it")
        pages[0].evaluate(turned % "false")
        expect(pages[0].locator("#timeline")).to_contain_text("while nobody saw it")
        pages[0].evaluate(turned % "true")
        freezer = browser.new_cdp_session(pages[0])
        freezer.send("Page.setWebLifecycleState", {"state": "frozen"})
        assert desk.end() == 0
    call("send", "1", "while it was frozen and its server gone")
    with Served(ready, command):
        freezer.send("Page.setWebLifecycleState", {"state": "active"})
        pages[0].evaluate(turned % "false")
        expect(pages[0].locator("#timeline")).to_contain_text("while it was frozen and its server gone")
        expect(pages[0].locator("#lost")).to_be_hidden()
        for page in pages:
            page.close()


@pytest.mark.deep
def test_a_server_that_is_gone_is_told_and_found_again(
    ready: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """PROOF-9: the page itself goes on; nobody loads it again."""
    page = browser.new_page()
    with Served(ready, command) as desk:
        page.goto(desk.address)
        page.goto(f"{desk.base}/timeline")
        page.evaluate("window.isTheSame = true")
        expect(page.locator("#lost")).to_be_hidden()
        assert desk.end() == 0
        expect(page.locator("#lost")).to_be_visible()
    call("send", "1", "while it was gone")
    with Served(ready, command) as desk:
        expect(page.locator("#timeline")).to_contain_text("while it was gone")
        expect(page.locator("#lost")).to_be_hidden()
        desk.process.kill()
        expect(page.locator("#lost")).to_be_visible()
    call("send", "1", "while it was dead")
    with Served(ready, command) as desk:
        expect(page.locator("#timeline")).to_contain_text("while it was dead")
        expect(page.locator("#lost")).to_be_hidden()
        call("send", "1", "and then")
        expect(page.locator("#timeline")).to_contain_text("and then")
        assert page.evaluate("window.isTheSame")
        page.close()


@pytest.mark.deep
def test_nothing_needs_a_script(
    submitted: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    with Served(submitted, command) as desk:
        assert browser.browser is not None
        plain = browser.browser.new_context(java_script_enabled=False)
        page = plain.new_page()
        page.goto(desk.address)
        page.get_by_role("link", name="task-01").first.click()
        page.locator(".file summary").first.click()
        page.get_by_role("link", name="Show it").click()
        expect(page.locator(".diff .added")).to_contain_text("def greet")
        page.go_back()
        page.get_by_role("button", name="Approve").click()
        expect(page).to_have_title("task-01 · Musician")
        plain.close()
    assert call("status", "1", "--json").json["state"] == "review_approved"


@pytest.mark.deep
def test_nothing_runs_that_is_not_known_to_live(
    tmp_path: Path, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """DASHBOARD-ORDERS: a musician is killed, and writes nothing any more; the page says so by itself."""
    folder = begin(tmp_path / "tune", {"PLAN.md": PLAN, "README": "Songs\n"})
    for words in (("init",), ("plan", "lock", "PLAN.md")):
        subprocess.run([*command, *words], cwd=folder, check=True, capture_output=True, timeout=HANG_S)
    with Served(folder, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        env = {**os.environ, "MUSICIAN_GO": str(tmp_path / "never")}
        musician = subprocess.Popen(
            [*command, "work", "task-02"], cwd=folder, stdout=subprocess.DEVNULL, env=env
        )
        lane = page.locator("#plans tr", has_text="task-02").locator(".lane")
        running = page.locator("#overview .counts div", has_text="running").locator("dd")
        expect(lane).to_have_text("running")
        expect(running).to_have_text("1")
        musician.kill()
        musician.wait(HANG_S)
        expect(lane).to_have_text("stands still")
        expect(running).to_have_text("0")
        page.close()


@pytest.mark.deep
def test_a_whole_run_is_watched_on_pages_that_nobody_loads_again(
    tmp_path: Path, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """CLI-24, PROOF-9: each page ends as it is when it is loaded anew, and as the command line has it."""
    folder = tmp_path / "post"
    prepare(folder)
    run = partial(subprocess.run, cwd=folder, check=True, capture_output=True, timeout=HANG_S)
    run([*command, "init"])
    with Served(folder, command) as desk:
        first, task = browser.new_page(), browser.new_page()
        first.goto(desk.address)
        run([*command, "run", "PLAN.md"])
        expect(first.locator("#plans")).to_contain_text("4 of 4 tasks complete")
        task.goto(f"{desk.base}/tasks/task-03")
        rows = json.loads(run([*command, "status", "--all", "--json"]).stdout)["tasks"]
        assert {row["state"] for row in rows} == {"complete"}
        expect(first.locator(".lane.done")).to_have_count(len(rows))
        expect(first.locator("#overview .run")).to_contain_text("No run is at work.")
        anew = browser.new_page()
        for page in (first, task):
            anew.goto(page.url)
            until(
                lambda page=page: said_by(page) == said_by(anew),  # type: ignore[misc]
                told=lambda page=page: f"{said_by(page)}\n\nanew: {said_by(anew)}",  # type: ignore[misc]
            )
            page.close()


PLAN = """\
---
plan: tune
agent: shell
test: test -s song.txt
---
# Tune

## Phase 1: Verses

### task-01: The song
```yaml task
review: human
```
#### Step 1: Write it
```bash run
printf 'one\\ntwo\\nthree\\n' > song.txt
```
```bash rework
sed -i -e '1i zero' -e 's/two/two too/' song.txt
echo '::answer 1 begins at zero'
```

### task-02: The other one
```yaml task
test: test -s other.txt
review: rules
```
#### Step 1: Write it
```bash run
until test -e "$MUSICIAN_GO"; do read -rt 0.05 <> <(:) || :; done
echo other > other.txt
```
"""


@pytest.mark.deep
def test_a_whole_review_by_keyboard_while_a_run_goes_on(
    tmp_path: Path, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """LINE-COMMENTS: points on lines, a rejection, the answers beside lines that have moved."""
    folder = begin(tmp_path / "tune", {"PLAN.md": PLAN, "README": "Songs\n"})
    go = tmp_path / "go"
    musician = partial(subprocess.run, cwd=folder, check=True, capture_output=True, timeout=HANG_S)
    musician([*command, "init"])
    with Served(folder, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        run = subprocess.Popen(
            [*command, "run", "PLAN.md"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "MUSICIAN_GO": str(go)},
        )
        try:
            expect(page.locator("#needs")).to_contain_text("waits for a verdict")
            for key in ("j", "Enter"):
                page.keyboard.press(key)
            for line, text in ((1, "begin at zero"), (2, "is it?")):
                page.get_by_role("button", name=f"Comment on line {line}").focus()
                page.keyboard.press("Enter")
                page.keyboard.type(text)
                page.keyboard.press("Control+Enter")
                expect(page.locator("#drafts")).to_contain_text(text)
                expect(page.get_by_role("button", name=f"Comment on line {line}")).to_be_focused()
            page.keyboard.press("r")
            page.keyboard.type("Not yet.")
            page.keyboard.press("Control+Enter")
            expect(page).to_have_title("task-01 · Musician")
            expect(page.locator("#task")).to_contain_text("needs review")
            page.get_by_role("link", name="Review what it has submitted").press("Enter")
            points = page.locator("#points li")
            expect(points.nth(0)).to_contain_text("now song.txt:2")
            expect(points.nth(0).locator("blockquote")).to_have_text("begins at zero")
            expect(points.nth(1)).to_contain_text("changed since: song.txt:3")
            beside = page.locator(".diff tr.note")
            expect(beside).to_have_count(2)
            assert beside.nth(0).evaluate("each => each.previousElementSibling.textContent").endswith("one")
            assert (
                beside.nth(1).evaluate("each => each.previousElementSibling.textContent").endswith("two too")
            )
            page.get_by_role("link", name="Only what changed since your last review").press("Enter")
            expect(page.locator(".diff .added")).to_have_count(2)
            expect(page.locator(".diff .word")).to_have_text(" too")
            assert run.poll() is None, "the run has gone on all the while"
            page.keyboard.press("a")
            page.keyboard.press("Enter")
            expect(page).to_have_title("task-01 · Musician")  # whoever leaves at once takes the verdict along
            go.touch()
            page.goto(desk.base)
            expect(page.locator("#plans")).to_contain_text("2 of 2 tasks complete")
            assert run.wait(HANG_S) == 0
        finally:
            run.kill()
            run.wait(HANG_S)
        page.close()


@pytest.mark.deep
def test_an_open_page_is_changed_where_it_differs_and_nowhere_else(
    claimed: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    with Served(claimed, command) as desk:
        page = browser.new_page()
        page.goto(desk.address)
        page.goto(f"{desk.base}/timeline")
        rows = page.locator("#timeline tbody tr")
        count = rows.count()
        rows.first.evaluate("row => { row.isTheSame = true; getSelection().selectAllChildren(row); }")
        selected = page.evaluate("getSelection().toString()")
        call("send", "1", "look here")
        expect(rows).to_have_count(count + 1)
        expect(rows.first).to_contain_text("look here")
        assert rows.nth(1).evaluate("row => row.isTheSame")
        assert page.evaluate("getSelection().toString()") == selected
        page.close()


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1, 2])
def test_open_pages_are_what_they_are_when_loaded_anew_whatever_happens(
    ready: Path, command: tuple[str, ...], browser: BrowserContext, seed: int
) -> None:
    """PROOF-9: after random acts, whose doers are killed."""
    chance = random.Random(seed)
    with Served(ready, command) as desk, Actors(ready) as actors:
        fresh = browser.new_page()
        fresh.goto(desk.address)
        paths = ("/", "/timeline", "/tasks/task-01", "/plans")
        pages = {path: browser.new_page() for path in paths}
        for path, page in pages.items():
            page.goto(desk.base + path)
        for _ in range(8):
            told = [actors.act(*next_act(ready, chance), chance.randrange(1000)) for _ in range(4)]
            assert not any(each.startswith("crashed") for each in told)
            for path, page in pages.items():
                fresh.goto(desk.base + path)
                until(
                    lambda page=page: said_by(page) == said_by(fresh),  # type: ignore[misc]
                    told=lambda page=page: f"{said_by(page)}\n\nanew: {said_by(fresh)}",  # type: ignore[misc]
                )


def said_by(page: Page) -> str:
    """The body of a page, but for the time of the look and what a person has opened."""
    text: str = page.evaluate(
        "document.querySelector('main').innerHTML + document.querySelector('.counts').outerHTML"
    )
    return re.sub(r">\s+<", "><", text.replace(' open=""', ""))


PAGES = (
    "/",
    "/timeline",
    "/plans",
    "/fleet",
    "/proposals",
    "/decided",
    "/tasks/task-01",
    "/tasks/task-01/log",
    "/tasks/task-01/review",
)


@pytest.mark.deep
def test_every_page_fits_a_phone_and_a_thumb_reviews_on_it(
    submitted: Path, call: Call, command: tuple[str, ...], browser: BrowserContext
) -> None:
    """PROOF-9: whatever long words are on it."""
    call("send", "1", "W" * 3000)
    call("deviation", "1", "Low", f"it is in {'a/long/way/' * 100}")
    with closing(Project(str(submitted))) as project:
        service.ask_human(project.store, "task-02", kind="trouble", subject_id=1, text="/mnt/" + "x" * 400)
    assert browser.browser is not None
    phone = browser.browser.new_context(
        viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    with Served(submitted, command) as desk:
        page = phone.new_page()
        page.goto(desk.address)
        for path in PAGES:
            page.goto(desk.base + path)
            if path.endswith("review"):
                expect(page.locator(".diff")).to_be_visible()
            assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, path
        page.goto(desk.base)
        page.locator("#needs .need", has_text="task-01").get_by_role("link").first.tap()
        expect(page).to_have_title("Review of task-01 · Musician")
        page.get_by_role("button", name="Comment on line 1").tap()
        page.keyboard.type("say who is greeted")
        page.get_by_role("button", name="Add the point").tap()
        expect(page.locator("#drafts li")).to_contain_text("say who is greeted")
        page.get_by_role("button", name="Send back").tap()
        expect(page).to_have_title("task-01 · Musician")
    phone.close()
    assert call("status", "1", "--json").json["state"] == "review_failed"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("width", "height"), [(1280, 800), (640, 400), (390, 800)], ids=["desk", "at 200 %", "phone"]
)
def test_a_verdict_is_reached_by_scrolling_the_page_and_no_box_in_it(
    long_work: Path, command: tuple[str, ...], browser: BrowserContext, width: int, height: int
) -> None:
    """Beside a change that is longer than the window it stays in sight; in one column it comes after the change."""
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": height})
    with Served(long_work, command) as desk:
        page.goto(desk.address)
        page.goto(f"{desk.base}/tasks/task-01/review")
        expect(page.locator(".diff")).to_be_visible()
        page.mouse.move(width / 2, height - 20)
        page.keyboard.press("End")
        for name in ("Approve", "Send back", "Propose a fix"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        boxes = """[...document.querySelectorAll("main *")].filter(each => each.scrollHeight > each.clientHeight + 1
          && ["auto", "scroll"].includes(getComputedStyle(each).overflowY)).map(each => each.outerHTML.slice(0, 99))"""
        assert page.evaluate(boxes) == []
    page.close()


WORDS_CUT = """() => [...document.querySelectorAll(".plan td, .plan th, .plan td *")].flatMap(each =>
  [...each.childNodes].filter(node => node.nodeType === Node.TEXT_NODE).flatMap(node =>
    [...node.data.matchAll(/[\\p{L}]+/gu)].filter(word => {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
    }).map(word => word[0])))"""


@pytest.mark.deep
@pytest.mark.parametrize("width", [390, 700, 900, 1000])
def test_no_word_of_the_tasks_is_cut_at_any_width(
    submitted: Path, command: tuple[str, ...], browser: BrowserContext, width: int
) -> None:
    """700 is a screen of 1400 at 200 %."""
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": 600})
    with Served(submitted, command) as desk:
        page.goto(desk.address)
        expect(page.get_by_role("rowheader", name="task-01")).to_be_visible()
        assert page.evaluate(WORDS_CUT) == []
    page.close()


@pytest.mark.deep
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_used_without_seeing_it(
    submitted: Path, command: tuple[str, ...], browser: BrowserContext, scheme: str
) -> None:
    """PROOF-9"""
    if not AXE:
        refuse("axe-core")
    assert browser.browser is not None
    window = browser.browser.new_context(bypass_csp=True, color_scheme=scheme)  # type: ignore[arg-type]
    with Served(submitted, command) as desk:
        page = window.new_page()
        page.goto(desk.address)
        for path in PAGES:
            page.goto(desk.base + path)
            if path.endswith("review"):
                expect(page.locator(".diff")).to_be_visible()
            page.add_script_tag(path=AXE)
            found = page.evaluate("axe.run()")["violations"]
            told = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]
            assert told == [], path
        window.close()


@pytest.mark.deep
def test_open_pages_do_not_hold_a_stop_up(
    ready: Path, command: tuple[str, ...], browser: BrowserContext
) -> None:
    with Served(ready, command) as desk:
        pages = [browser.new_page() for _ in range(4)]
        pages[0].goto(desk.address)
        for page in pages[1:]:
            page.goto(desk.base)
        assert desk.end() == 0
        until(lambda: all(page.locator("#lost").is_visible() for page in pages))
        for page in pages:
            page.close()
