"""Each page says what the database says at that moment, whatever is in it."""

import html
import json
import os
import re
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from musician import service
from musician.processes.identity import login_name
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.protocol.spending import Usage
from musician.protocol.values import replace
from musician.reporting.asks import ANSWERS
from musician.reporting.drawing import context_of, life_of
from musician.reporting.spending import say_cost
from musician.reporting.timeline import decisions
from musician.runtime.as_person import as_person
from musician.service.views import MOST_MESSAGES
from musician.store.rows.sessions import CostRow
from musician.store.sqlite.store import SqliteStore
from musician.trees.branches import branch_of, integration_branch
from musician.web.desk import Desk, clock
from musician.web.pages import MOST_NEEDS, MOST_OPEN_CHARS, MOST_SHOWN
from tests.cli.test_cli_look_at_work import submit, tree_of
from tests.said import farewell
from tests.surroundings import Call, git
from tests.web.conftest import Open, enter, post

HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) \x1b[31m \u202e </textarea><img src=x onerror=alert(1)>"


def test_the_first_page_says_what_is_wanted_and_how_the_tasks_stand(
    submitted: Path, desk: TestClient
) -> None:
    text = desk.get("/").text
    assert "waits for a verdict on its work" in text
    assert "musician review approve task-01" in text
    assert '<span class="lane needs-you">needs you</span>' in text
    assert '<span class="lane not-begun">not begun</span>' in text
    assert "No run is at work." in text


def test_what_is_not_there_is_said(desk: TestClient) -> None:
    for path in (
        "/nowhere",
        "/tasks/task-99",
        "/tasks/task-99/review",
        "/tasks/task-00",
        f"/changes/{'0' * 39}/{'0' * 40}/0",
    ):
        assert desk.get(path).status_code == 404, path
    gone = desk.get(f"/changes/{'0' * 40}/{'1' * 40}/0")
    assert (gone.status_code, "is not in this repository any more" in gone.text) == (404, True)


@pytest.mark.parametrize(
    "path", ["/", "/timeline", "/tasks/task-01", "/tasks/task-01/review", "/tasks/task-01/log"]
)
def test_what_agents_write_is_only_text(claimed: Path, desk: TestClient, call: Call, path: str) -> None:
    """B40: and its kinds."""
    call("step", "1", "start", "1")
    call("deviation", "1", "Low", HOSTILE)
    call("send", "1", HOSTILE)
    project = Project(str(claimed))
    service.ask_human(project.store, "task-01", kind="trouble", subject_id=1, text=HOSTILE)
    project.close()
    text = desk.get(path).text
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_verdict_is_given_on_what_was_seen(submitted: Path, desk: TestClient, call: Call) -> None:
    seen = call("review", "show", "1", "--json").json["message"]["id"]
    code, text = post(desk, "/tasks/task-01/judge", verdict="approve", submission=str(seen - 1))
    assert code == 409
    assert "Not done" in text
    assert call("status", "1", "--json").json["state"] == "needs_review"
    code, _ = post(desk, "/tasks/task-01/judge", verdict="approve", submission=str(seen))
    assert code == 303
    assert call("status", "1", "--json").json["state"] == "review_approved"


def test_what_is_said_to_lines_goes_with_a_verdict_and_is_answered_beside_them(
    submitted: Path, desk: TestClient, call: Call
) -> None:
    """LINE-COMMENTS: on the page and in the terminal it is one list, and a refused verdict sends none of it."""
    page = desk.get("/tasks/task-01/review").text
    old, new = page.partition('data-old="')[2][:40], page.partition('data-new="')[2][:40]
    about = {"path": "greeter.py", "side": "new", "line": "1", "commit": new}
    assert post(desk, "/tasks/task-01/comment", text="say it\r\nin two lines", **about)[0] == 303
    assert call("review", "comment", "1", "greeter.py:1", "and test it").code == 0
    for wrong in ({"line": "2"}, {"commit": "f" * 40}, {"commit": "--x"}, {"path": "../x"}, {"text": " "}):
        assert post(desk, "/tasks/task-01/comment", **({"text": "x", **about} | wrong))[0] in (404, 409), (
            wrong
        )
    page = desk.get("/tasks/task-01/review").text
    for draft in ("say it\nin two lines", "and test it"):
        assert f"greeter.py:1: {draft}" in page
    file = f"/changes/{old}/{new}/0?of=task-01"
    assert desk.get(file).text.count("<em>not sent yet</em>") == 2
    assert post(desk, "/tasks/task-01/judge", verdict="approve")[0] == 409
    assert post(desk, "/tasks/task-01/drop", comment="2")[0] == 303
    assert post(desk, "/tasks/task-01/judge", verdict="reject", text="almost")[0] == 303
    (message,) = (
        each
        for each in call("messages", "1", "--json").json["messages"]
        if each["message_type"] == "rejection"
    )
    assert "1. greeter.py:1: say it" in message["message"]
    assert "and test it" not in message["message"]
    assert desk.get("/tasks/task-01/review").text.count("not answered yet") == 1
    assert desk.get(file).text.count("<em>not answered yet</em>") == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "reject"},
        {"verdict": "reject", "text": " \n"},
        {"verdict": "nonsense", "text": "x"},
        {},
    ],
    ids=["no reason", "blank", "unknown", "empty"],
)
def test_a_verdict_that_says_nothing_changes_nothing(
    submitted: Path, desk: TestClient, call: Call, fields: dict[str, str | list[str]]
) -> None:
    code, text = post(desk, "/tasks/task-01/judge", **fields)
    assert (code, "Not done" in text) == (409, True)
    assert call("status", "1", "--json").json["state"] == "needs_review"


def test_a_form_has_a_bound(desk: TestClient) -> None:
    code, text = post(desk, "/tasks/task-01/send", text="x" * 1_000_001)
    assert (code, "at most" in text) == (409, True)


def test_a_message_reaches_the_session(submitted: Path, desk: TestClient, call: Call) -> None:
    post(desk, "/tasks/task-01/send", text="one\r\ntwo", urgent="yes")
    last = call("messages", "1", "--json").json["messages"][-1]
    assert (last["message"], last["message_type"]) == ("one\ntwo", "emergency")


def test_of_a_talkative_task_the_newest_is_shown_and_all_that_is_older_counted(
    submitted: Path, desk: TestClient, call: Call
) -> None:
    """DASHBOARD-ORDERS: and what it has submitted is found however much was said since."""
    sent = call("review", "show", "1", "--json").json["message"]["id"]
    with closing(Project(str(submitted))) as project:
        assert isinstance(project.store, SqliteStore)
        many = [("task-01", "s1", "note", f"note {number}") for number in range(MOST_MESSAGES + MOST_SHOWN)]
        project.store.connection.executemany(
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message) VALUES (?, ?, ?, ?)",
            many,
        )
        service.send(as_person(project), "task-01", "the last word")
        _, older = service.newest_messages(project.store, "task-01", most=MOST_SHOWN)
    page = desk.get("/tasks/task-01").text
    assert older > MOST_MESSAGES
    assert f"{older} older ones are left out" in page
    assert page.count('<li id="message-') == MOST_SHOWN
    assert page.count(f"({login_name()})") == 1
    assert call("review", "show", "1", "--json").json["message"]["id"] == sent


def test_a_changed_file_is_shown_by_its_place(submitted: Path, desk: TestClient) -> None:
    page = desk.get("/tasks/task-01/review").text
    source = page.partition('data-src="')[2].partition('"')[0]
    text = desk.get(source).text
    assert 'class="added"' in text
    assert '<span class="k">def</span>' in text
    for number in ("7", "-1", "٠", "9" * 5000):
        assert desk.get(source.replace("/0?", f"/{number}?")).status_code == 404
    assert desk.get(source).headers["cache-control"] == "no-store"  # its head tells how the tasks stand


def test_what_was_written_comes_back_with_a_refusal(submitted: Path, desk: TestClient) -> None:
    code, text = post(desk, "/tasks/task-01/judge", verdict="approve", text="my words", submission="1")
    assert (code, "my words" in text) == (409, True)


def test_the_work_of_a_task_whose_branch_and_tree_are_gone_is_shown(
    submitted: Path, desk: TestClient
) -> None:
    """By the commit that was submitted."""
    git(submitted, "worktree", "remove", "--force", ".musician/trees/greeter/task-01")
    git(submitted, "branch", "-D", branch_of("greeter", "task-01"))
    page = desk.get("/tasks/task-01/review").text
    assert 'class="path">greeter.py' in page
    assert "+" in desk.get(page.partition('data-src="')[2].partition('"')[0]).text


def test_a_log_goes_on_where_it_was_read_to(claimed: Path, desk: TestClient, call: Call) -> None:
    """Each line once, as in the terminal, however often it is looked at."""
    project = Project(str(claimed))
    (session,) = service.task_view(project.store, "task-01").sessions
    path = project.root.transcript("task-01", session.claim_epoch, session.session_id)
    project.close()
    path.parent.mkdir(parents=True)
    for number in range(3):
        with path.open("a") as file:
            said = {
                "seq": number,
                "at": f"2026-01-01T00:00:0{number}",
                "kind": "text",
                "text": f"line {number}",
            }
            file.write(json.dumps(said) + "\n")
        shown = re.findall(r"<li[^>]*>(.*)</li>", desk.get("/tasks/task-01/log").text)
        assert [html.unescape(line) for line in shown] == [
            line.removeprefix("== ").removeprefix("-- ").removeprefix("   ")
            for line in call("log", "1").out.splitlines()
        ]
    assert shown[-3:] == ["line 0", "line 1", "line 2"]
    found = desk.get("/tasks/task-01/log", params={"find": "LINE 1"}).text
    assert re.findall(r"<li[^>]*>(.*)</li>", found) == ["line 1"]
    assert "No line has it." in desk.get("/tasks/task-01/log", params={"find": '"><b>'}).text


def test_what_became_of_a_message_is_marked_and_who_wrote_has_a_name(
    claimed: Path, desk: TestClient, call: Call
) -> None:
    """Stored, delivered and acknowledged are three facts."""
    project = Project(str(claimed))
    claim = Claim(task_id="task-01", session_id="s1", epoch=1)
    marks = []
    for act in (
        lambda: call("send", "1", "hello"),
        lambda: service.deliver(
            project.store, claim, tuple(r.id for r in service.unread(project.store, "task-01"))
        ),
        lambda: service.acknowledge(
            project.store, claim, service.messages_of(project.store, "task-01")[-1].id
        ),
    ):
        act()
        newest = desk.get("/tasks/task-01").text.partition('<ol class="messages">')[2].partition("</li>")[0]
        assert ">conductor<" in newest
        marks.append(newest.partition('<span class="mark">')[2].split()[0].partition("<")[0])
    project.close()
    assert marks == ["stored,", "delivered", "acknowledged"]
    assert "musician-task-01: from" in desk.get("/tasks/task-01").text


def test_evidence_that_has_gone_stale_is_marked_on_every_surface(
    submitted: Path, desk: TestClient, call: Call
) -> None:
    """The work goes on, or what it will be merged into does: by what stands on the branches, whoever committed it."""

    def stale() -> str:
        call("send", "1", "as whoever commits does")  # what no row tells a kept page finds at the next beat
        text: str = call("review", "show", "1", "--json").json["verification"]["stale"]
        pages = [desk.get(path).text for path in ("/tasks/task-01", "/tasks/task-01/review")]
        assert all(f"Stale: {html.escape(text)}." in page for page in pages) == bool(text)
        assert (f"stale: {text}" in call("review", "show", "1").out) == bool(text)
        return text

    page = desk.get("/tasks/task-01/review").text
    assert "exit code 0" in page
    assert "of commit" in page
    assert stale() == ""
    base, work = integration_branch("greeter"), branch_of("greeter", "task-01")
    _grow(submitted, base)
    assert "by 1 commit that" in stale()
    _grow(submitted, work)
    assert stale() == "the work has gone on since"


def _grow(folder: Path, branch: str) -> None:
    """Commit to a branch that it has no file any more, whoever has it checked out."""
    nothing = git(folder, "hash-object", "-t", "tree", "-w", os.devnull).strip()
    commit = git(folder, "commit-tree", "-p", branch, "-m", "more", nothing).strip()
    git(folder, "update-ref", f"refs/heads/{branch}", commit)


def test_deviations_and_self_corrections_stand_on_the_tasks_page_with_what_became_of_them(
    claimed: Path, desk: TestClient, call: Call
) -> None:
    (tree_of(claimed) / "greeter.py").write_text("def greet(name): return name\n")
    call("step", "1", "start", "1")
    assert "Deviations and self-corrections" not in desk.get("/tasks/task-01").text
    call("deviation", "1", "Medium", "another <b>way</b>")
    call("self-correction", "1", "a slip")
    text = desk.get("/tasks/task-01").text.partition("Deviations and self-corrections")[2]
    found = [html.unescape(re.sub(r"<[^>]*>", "", each)) for each in re.findall("<li>(.*)</li>", text)]
    assert re.fullmatch(r"self-correction a slip step 1, [\d:]{8}", found[0])
    assert re.fullmatch(r"Medium deviation another <b>way</b> .*; nobody has ruled on it yet", found[1])
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")
    call("review", "approve", "1")
    page = desk.get("/tasks/task-01").text
    assert "nobody has ruled on it yet" not in page
    assert "; ruled by message " in page


def test_a_look_is_not_older_than_the_database(submitted: Path, call: Call) -> None:
    """Also before the listener of the news has heard of it."""
    project = Project(str(submitted))
    desk = Desk(project, read_only=False)
    desk.news.seq = service.newest_seq(project.store)
    assert len(desk.overview().needs) == 1
    call("review", "approve", "1")
    assert not desk.overview().needs
    project.close()


def test_what_a_session_left_open_ended_with_it(claimed: Path, call: Call) -> None:
    """A picture never shows as at work what is known to have ended."""
    call("step", "1", "start", "1")
    call("inbox", "1", "--ack")
    assert call("step", "1", "start", "1").code == 0
    project = Project(str(claimed))

    pictures = []
    for _ in range(2):
        view = service.task_view(project.store, "task-01")
        pictures.append([life_of(replace(view, at=f"2099-01-01 0{hour}:00:00")) for hour in (1, 2)])
        call("release", "1", expect=None)  # the second time there is nothing to leave
    project.close()
    (now, later), (ended, still_ended) = pictures
    assert now != later
    assert "step 1, open" in ended
    assert ended == still_ended


def test_a_database_that_was_replaced_is_told_and_takes_no_orders(
    submitted: Path, desk: TestClient, call: Call
) -> None:
    place = submitted / ".musician" / "comms.db"
    assert desk.get("/timeline").status_code == 200
    away = place.rename(place.with_name("away.db"))
    place.write_bytes(b"")
    for answer in (desk.get("/timeline"), desk.get("/tasks/task-01")):
        assert (answer.status_code, "moved, replaced or deleted" in answer.text) == (503, True)
    assert post(desk, "/tasks/task-01/send", text="hello")[0] == 503
    away.rename(place)
    assert desk.get("/").status_code == 200
    assert "hello" not in call("messages", "1").out


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2026-03-01 10:51:11", "10:51:11"),
        ("2026-02-28 23:59:59", "2026-02-28 23:59"),
        ("", ""),
    ],
)
def test_a_time_of_another_day_is_shown_with_its_day(at: str, shown: str) -> None:
    found = clock(at, "2026-03-01 12:00:00")
    assert found.striptags() == shown
    assert (f'title="{at} UTC"' in found) is bool(at)


def test_a_merge_that_failed_is_tried_again_in_one_step(claimed: Path, desk: TestClient, call: Call) -> None:
    """DASHBOARD-ORDERS: as `musician task retry` does, which is what the command line is told to give."""
    with closing(Project(str(claimed))) as project:
        claim = service.only_claim(project.store, "s1")
        service.exit_task(project.store, claim, farewell("asked", path="h"), handoff="next: all")
        service.ask_human(project.store, "task-01", kind="merge", subject_id=0, text="no space left")
    (path,) = re.findall(r'action="(/tasks/task-01/retry)" id="answer-task-01-merge-', desk.get("/").text)
    assert post(desk, path, text="")[0] == 303
    waiting = call("needs-me", "--json", expect=None).json["waiting"]
    assert "merge" not in [each["kind"] for each in waiting]
    assert call("status", "1", "--json").json["state"] == "fix_proposed"


SENT = sorted(
    kind for kind, answers in ANSWERS.items() if any("musician send" in command for command, _ in answers)
)


@pytest.mark.parametrize("kind", SENT)
def test_what_waits_is_answered_in_one_step_by_the_commands_own_verb(
    claimed: Path, desk: TestClient, call: Call, kind: str
) -> None:
    """DASHBOARD-ORDERS"""
    project = Project(str(claimed))
    if kind == "question":
        service.ask(project.store, service.only_claim(project.store, "s1"), "red or blue?")
    else:
        service.ask_human(project.store, "task-01", kind=kind, subject_id=1, text="why")
    project.close()
    (form,) = re.findall(
        r'<form method="post" action="(/tasks/task-01/send)" id="answer-.*?>(.*?)</form>',
        desk.get("/").text,
        re.S,
    )
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[1]))
    assert ("text" in fields) or "<textarea" in form[1]
    fields.setdefault("text", "blue")
    if kind == "question":
        granting = {"question": "1", "retries": "3", "more": "5usd"}
        assert post(desk, form[0], **fields | granting)[0] == 409
        with closing(Project(str(claimed))) as opened:
            assert service.task_row(opened.store, "task-01").retry_limit == 5, "a refusal grants nothing"
    assert post(desk, form[0], **fields)[0] == 303
    assert not call("needs-me", "--json").json["waiting"]
    assert call("messages", "1", "--json").json["messages"][-1]["message"] == fields["text"]
    if kind in ("question", "retries", "budget"):
        before = call("status", "1", "--json").json | {"heartbeat_age_s": 0}
        code, text = post(desk, form[0], **fields)  # a second click grants nothing more
        assert (code, html.escape(fields["text"]) in text) == (409, True)
        assert call("status", "1", "--json").json | {"heartbeat_age_s": 0} == before


def test_an_order_that_would_be_refused_is_not_offered(submitted: Path, desk: TestClient, call: Call) -> None:
    """DASHBOARD-ORDERS: nothing is ended or played again that nobody has begun; what waits for a verdict is judged."""

    def offered(task_id: str) -> set[str]:
        page = desk.get(f"/tasks/{task_id}").text
        return set(re.findall(r'action="/tasks/[^/"]+/(send|handoff|stop|retry|skip)"', page))

    assert offered("task-01") == {"send", "handoff", "stop", "skip"}
    assert post(desk, "/tasks/task-01/retry")[0] == 409
    assert offered("task-02") == {"send", "skip"}
    for verb in ("handoff", "stop", "retry"):
        assert post(desk, f"/tasks/task-02/{verb}", text="x")[0] == 409
    call("review", "reject", "1", "almost")
    assert offered("task-01") == {"send", "handoff", "stop", "retry", "skip"}


def test_a_task_is_left_out_and_taken_back(ready: Path, desk: TestClient, call: Call) -> None:
    """DASHBOARD-ORDERS"""
    assert post(desk, "/tasks/task-01/skip", text=" ")[0] == 409
    assert post(desk, "/tasks/task-01/skip", text="x", dependents="no")[0] == 409
    assert post(desk, "/tasks/task-01/skip", text="not needed")[0] == 303
    assert '<span class="lane skipped">skipped</span>' in desk.get("/").text
    page = desk.get("/tasks/task-01").text
    assert (">Play again</h2>" in page, ">Skip</h2>" in page) == (True, False), "it is left out already"
    assert post(desk, "/tasks/task-01/retry", text="")[0] == 303
    assert "lane skipped" not in desk.get("/").text
    assert ">Skip</h2>" in desk.get("/tasks/task-01").text
    code, text = post(desk, "/tasks/task-99/retry", text="try harder")
    assert (code, "try harder" in text) == (409, True)


def test_proposals_are_decided_once(claimed: Path, desk: TestClient, call: Call) -> None:
    """DASHBOARD-ORDERS"""
    for title in ("Use tabs", "Use spaces"):
        call("propose", "1", f"{HOSTILE} {title}", "--type", "PATTERN", "--title", title)
    call("propose", "1", "x" * (MOST_OPEN_CHARS + 1), "--type", "PATTERN", "--title", "Long")
    page = desk.get("/proposals").text
    assert ('id="body-1" open>' in page, 'id="body-3" open>' in page) == (True, False)
    assert ("Use tabs" in page, "<script>alert" in page) == (True, False)
    assert post(desk, "/proposals/2/reject", text="")[0] == 409
    assert post(desk, "/proposals/2/reject", text="tabs it is")[0] == 303
    assert post(desk, "/proposals/1/accept")[0] == 303
    assert "Use tabs: accepted" in desk.get("/proposals").text
    names = login_name()
    assert _cells(desk.get("/decided").text) == [
        ["task-01", names, "proposal accepted", "Use tabs: docs/knowledge-base/patterns/use-tabs.md"],
        ["task-01", names, "proposal rejected", "Use spaces: tabs it is"],
    ]
    for late in (
        "/proposals/1/accept",
        "/proposals/9/accept",
        "/proposals/x/accept",
        f"/proposals/{'9' * 5000}/accept",
    ):
        assert post(desk, late)[0] == 409, late


def test_a_page_that_only_shows_has_no_orders(submitted: Path, open_desk: Open) -> None:
    """DASHBOARD-ORDERS"""
    client = open_desk(read_only=True)
    enter(client)
    for path in ("/", "/proposals", "/tasks/task-01", "/tasks/task-01/review"):
        assert 'method="post"' not in client.get(path).text, path
    for order in ("send", "skip", "retry", "comment", "judge"):
        assert post(client, f"/tasks/task-01/{order}", text="x")[0] == 403


def _cells(page: str) -> list[list[str]]:
    """Of what was decided: the task, who, what and the words."""
    return [
        [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall("<td.*?</td>", row)[1:]]
        for row in re.findall(r"<tr data-item.*?</tr>", page, re.S)
    ]


def test_what_was_decided_is_told_with_who_decided_it(submitted: Path, desk: TestClient, call: Call) -> None:
    """DASHBOARD-ORDERS"""
    assert post(desk, "/tasks/task-01/judge", verdict="fix", text="say it otherwise")[0] == 303
    project = Project(str(submitted))
    service.ask_human(project.store, "task-02", kind="trouble", subject_id=1, text="no disk")
    project.close()
    assert post(desk, "/tasks/task-02/send", text="mended")[0] == 303
    assert _cells(desk.get("/decided").text) == [
        ["task-02", login_name(), "trouble settled", "answered: mended"],
        ["task-01", login_name(), "fix proposed", "say it otherwise"],
    ]
    assert f"conductor ({login_name()})" in desk.get("/timeline").text
    assert f"</b> ({login_name()}) rejection" in desk.get("/tasks/task-01").text.replace(
        "fix proposal", "rejection"
    )
    assert f"({login_name()})" in call("messages", "task-01").out
    for odd in ("0", "-1", "x", "9" * 30):
        assert desk.get(f"/decided?until={odd}").status_code == 200


def test_a_page_of_many_tasks_shows_what_goes_on_and_leads_to_the_others(
    ready: Path, desk: TestClient
) -> None:
    tasks, asked = 80, MOST_NEEDS + 5
    with closing(Project(str(ready))) as project:
        for number in range(tasks):
            service.open_task(
                project.store, f"more-{number:02d}", title="More", instruction_path=f"docs/{number}.md"
            )
        for number in range(asked):
            service.ask_human(
                project.store, f"more-{number:02d}", kind="trouble", subject_id=1, text="no disk"
            )
    first = desk.get("/").text
    assert needs_and_rows(first) == (MOST_NEEDS, asked + 2), "and the two of the plan, which is small"
    assert f"{asked - MOST_NEEDS} more wait for you" in first
    assert f">{tasks - asked} not begun</a>" in first
    for link in re.findall(r'class="folded".*?href="([^"#]*)', first):
        needs, rows = needs_and_rows(desk.get(html.unescape(link)).text)
        assert (needs == asked) != (rows == tasks + 2), link


def needs_and_rows(page: str) -> tuple[int, int]:
    return page.count('<li class="need"'), page.count('<th scope="row">')


def test_the_pictures_of_a_task_have_one_time_from_left_to_right(claimed: Path, call: Call) -> None:
    """What happened at the same time stands one below the other: a reading below the piece in which it was taken."""
    call("inbox", "1", "--ack")
    for item, context in (("1", "12"), ("1", "55")):
        assert call("step", "1", "start" if context == "12" else "done", item, "--context", context).code == 0
    project = Project(str(claimed))
    view = replace(service.task_view(project.store, "task-01"), at="2099-01-01 00:00:00")
    pictures = [str(life_of(view)), str(context_of(view, Settings()))]
    project.close()
    times = [re.findall(r">(\d{4}-\d\d-\d\d \d\d:\d\d)<", each) for each in pictures]
    assert times[0] == times[1]
    assert times[0][-1] == "2099-01-01 00:00"
    assert pictures[1].count("<circle") == 2
    assert re.search('text-anchor="start">55 %<', pictures[1]), (
        "beside the names of the thresholds, not over them"
    )


def test_the_plan_shows_its_phases_whom_a_task_waits_for_and_what_was_used(
    ready: Path, desk: TestClient, call: Call
) -> None:
    """DASHBOARD: nothing is said of a cost where none is known, and nobody is waited for who is done."""

    def cells() -> list[list[str]]:
        rows = re.findall(r"<tr data-item>(.*?)</tr>", desk.get("/").text, re.S)
        return [
            [
                re.sub(r"<[^>]*>|\s+", " ", cell).strip()
                for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)
            ]
            for row in rows
        ]

    text = desk.get("/").text
    assert "Phase 1: Foundations</th>" in text
    assert (">Used</th>" in text, [len(row) for row in cells()]) == (False, [5, 5])

    plan = ready / "PLAN.md"
    title = "### task-02: Add the farewell\n"
    plan.write_text(plan.read_text().replace(title, f"{title}```yaml task\nafter: [task-01]\n```\n"))
    assert call("plan", "amend", "PLAN.md").code == 0
    call("claim", "1", "--session", "s1")
    with closing(Project(str(ready))) as project:
        claim = service.only_claim(project.store, "s1")
        used = Usage(model="opus", input_tokens=1000, output_tokens=100, cost_usd=0.5)
        service.record_usage(project.store, claim, "step 1", used)
    first, second = cells()
    assert (first[4], second[1], second[4]) == ("$0.50", "after task-01", "")
    assert "$0.50 used, 0 of 2 tasks complete" in desk.get("/").text


def test_what_tasks_have_cost_is_a_word() -> None:
    rows = [
        CostRow("task-01", 0.5, 1100, has_unpriced=False),
        CostRow("task-02", None, 2000, has_unpriced=True),
        CostRow("task-03", 1.25, 10, has_unpriced=True),
    ]
    said = [say_cost(each) for each in ([], rows[:1], rows[1:2], rows[2:], rows)]
    assert said == ["", "$0.50", "2k tokens", "$1.25+", "$1.75+"]


def test_a_line_of_a_file_whose_name_is_no_text_is_commented(
    claimed: Path, open_desk: Open, call: Call
) -> None:
    """LINE-COMMENTS"""
    tree = claimed / ".musician" / "trees" / "greeter" / "task-01"
    Path(os.fsdecode(os.fsencode(tree) + b"/caf\xe9.txt")).write_text("one\n")
    submit(claimed, call)
    desk = open_desk()
    enter(desk)
    page = desk.get("/tasks/task-01/review").text
    shown = html.unescape(re.findall(r'data-path="(caf[^"]*)"', page)[0])
    commit = re.findall(r'data-new="(\w+)"', page)[0]
    said = {"path": shown, "line": "1", "side": "new", "commit": commit, "text": "who?"}
    assert post(desk, "/tasks/task-01/comment", **said)[0] == 303
    address = html.unescape(re.findall(r'data-path="caf.*?data-src="([^"]*)"', page)[0])
    assert re.search(r'data-note="1"><td colspan="3">\s*<span class="said">who\?', desk.get(address).text)


def test_a_plan_is_paused_and_goes_on_from_its_head(ready: Path, open_desk: Open, call: Call) -> None:
    """PLAN-28: by the commands' own verbs, and offered to nobody who only looks; who pauses it wants no run."""
    with closing(Project(str(ready))) as project:
        conducting = service.start_conducting(project.store, "c1", settings=Settings())
        service.interrupt_conducting(project.store, conducting)
    desk, onlooker = open_desk(), open_desk(read_only=True)
    for each in (desk, onlooker):
        enter(each)

    def needs() -> list[str]:
        told = [each["kind"] for each in call("needs-me", "--json", expect=None).json["waiting"]]
        assert told == ["run"] * desk.get("/").text.count("no run is at work on the plan")
        return told

    assert needs() == ["run"]
    assert offers_on(desk) == ["pause"]
    assert offers_on(onlooker) == []
    assert post(desk, "/plan/greeter/pause", text="lunch", token="guessed")[0] == 409  # noqa: S106
    assert paused_on(desk) == []
    assert post(desk, "/plan/greeter/pause", text="lunch")[0] == 303
    for each in (desk, onlooker):
        assert re.fullmatch(r"paused by .* UTC: lunch", paused_on(each)[0])
    assert needs() == []
    assert (offers_on(desk), offers_on(onlooker)) == (["resume"], [])
    resume = "<code>musician plan resume greeter</code>"
    assert [resume in each.get("/").text for each in (desk, onlooker)] == [False, True]
    assert "paused by" in call("claim", "1", "--session", "s1", expect=5).err
    assert post(desk, "/plan/greeter/resume", token="guessed")[0] == 409  # noqa: S106
    assert post(onlooker, "/plan/greeter/resume")[0] in (403, 404, 405, 409)
    assert len(paused_on(desk)) == 1
    assert post(desk, "/plan/greeter/resume")[0] == 303
    assert (needs(), paused_on(desk), offers_on(desk)) == (["run"], [], ["pause"])
    decided = [(row["what"], row["text"]) for row in decided_in(ready)]
    assert decided == [
        ("plan paused", f"plan greeter is paused by {login_name()}: lunch"),
        ("plan goes on", f"{login_name()} lets plan greeter go on"),
    ]
    assert "plan greeter is paused by" in desk.get("/decided").text
    call("claim", "1", "--session", "s1")


def test_what_a_paused_plan_has_waiting_stays_listed_and_is_judged(
    submitted: Path, desk: TestClient, call: Call
) -> None:
    """PLAN-28."""
    assert post(desk, "/plan/greeter/pause")[0] == 303
    assert "waits for a verdict on its work" in desk.get("/").text
    seen = call("review", "show", "1", "--json").json["message"]["id"]
    assert post(desk, "/tasks/task-01/judge", verdict="approve", submission=str(seen))[0] == 303
    assert "waits for a verdict on its work" not in desk.get("/").text


@pytest.mark.parametrize("how", ["finished", "archived", "unknown"])
def test_what_is_not_open_is_neither_paused_nor_offered_to_be(
    ready: Path, desk: TestClient, call: Call, how: str
) -> None:
    """PLAN-28."""
    if how == "finished":
        for task in ("2", "1"):
            call("task", "skip", task, "enough")
        with closing(Project(str(ready))) as project:
            conducting = service.start_conducting(project.store, "c1", settings=Settings())
            assert service.finish_conducting(project.store, conducting, "greeter")
    elif how == "archived":
        call("plan", "archive", "greeter", "--abandon", "enough")
    for page in ("/", "/plans", *(("/plans/greeter/",) if how == "archived" else ())):
        assert offers_on(desk, page) == (["pause"] if (how, page) == ("unknown", "/") else [])
    plan = "nobody" if how == "unknown" else "greeter"
    for act in ("pause", "resume"):
        code, text = post(desk, f"/plan/{plan}/{act}")
        assert (code, "Not done" in text) == (409, True)


def offers_on(desk: TestClient, page: str = "/") -> list[str]:
    """What a plan's head offers to do with it."""
    return re.findall(r'action="/plan/[^/"]*/(\w+)"', desk.get(page).text)


def paused_on(desk: TestClient) -> list[str]:
    return re.findall(r'<p class="paused">([^<]*)</p>', desk.get("/").text)


def decided_in(folder: Path) -> list[dict[str, str]]:
    with closing(Project(str(folder))) as project:
        return [{"what": each.what, "text": each.text} for each in decisions(project.store).happenings]
