"""Looking: ``status``, ``history``, ``timeline``; documents with stable keys."""

import re
import signal
import subprocess
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import apsw
import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.spending import Usage
from musician.store.opening import open_store
from musician.testing.waiting import HANG_S
from tests.surroundings import Call, play

MARKUP = [
    "<img src=x onerror=\"fetch('/x')\">",
    "<script>document.title='xss'</script>",
    "[click](javascript:alert(1))",
    '"><svg onload=alert(1)>',
    "</script><script>alert(1)</script>",
    "{{7*7}} ${7*7} {count}",
]
"""B40."""


def test_status_shows_every_task_and_where_the_database_is(claimed: Path, call: Call) -> None:
    lines = call("status").out.splitlines()
    assert lines[0] == f"database: {claimed / '.musician' / 'comms.db'}"
    assert lines[1] == "conductor: none so far"
    assert lines[2].split()[:3] == ["TASK", "STATE", "PHASE"]
    assert lines[3].split()[:5] == ["task-01", "working", "1", "musician-task-01", "ok"]
    assert lines[4].split()[:5] == ["task-02", "watching", "1", "-", "-"]


def test_what_was_used_is_shown_per_task_session_phase_and_plan(claimed: Path, call: Call) -> None:
    with closing(open_store(claimed / ".musician" / "comms.db")) as store:
        claim = Claim(task_id="task-01", session_id="s1", epoch=1)
        used = Usage(model="opus", input_tokens=1000, output_tokens=100, cost_usd=0.5)
        service.record_usage(store, claim, "step 1", used)
        service.record_usage(store, claim, "step 2", Usage(input_tokens=500, is_estimated=True))
    assert "used: about 1.5k tokens in, 100 out, at least $0.50 (opus)" in call("status").out
    assert "about 1.5k tokens in" in call("status", "task-01").out
    whole, task = call("status", "--json").json, call("status", "task-01", "--json").json
    first, second = whole["tasks"]
    assert first["spending"] == task["spending"] == whole["spending"] == whole["phases"][0]["spending"]
    assert first["spending"] == task["sessions"][0]["spending"]
    assert (first["spending"]["cost_usd"], first["spending"]["models"]["opus"]["tokens_in"]) == (0.5, 1000)
    assert second["spending"] is None
    assert "step 1: 1k tokens in, 100 out, $0.50 (opus)" in call("timeline").out


@pytest.mark.parametrize(("setting", "lifts"), [("plan_tokens", False), ("day_tokens", True)])
def test_a_ceiling_that_holds_a_plan_is_told(ready: Path, call: Call, setting: str, *, lifts: bool) -> None:
    """CEIL-5: a run that waits for the end of the day says nothing else."""
    (ready / ".musician" / "config.toml").write_text(f"[ceilings]\n{setting} = 1000\n")
    assert call("plan", "amend", "PLAN.md").code == 0
    assert call("status", "--json").json["ceilings"] == []
    with closing(open_store(ready / ".musician" / "comms.db")) as store:
        claim = Claim(task_id="task-01", session_id="s1", epoch=1)
        service.record_usage(store, claim, "step 1", Usage(input_tokens=1500))
    told = call("status").out
    assert f" has used 1,500 tokens of 1,000 tokens (ceilings.{setting})" in told
    assert ("nothing is begun before midnight, UTC" in told) is lifts
    (found,) = call("status", "--json").json["ceilings"]
    assert (found["setting"], found["used"]) == (f"ceilings.{setting}", 1500)


def test_status_leaves_out_finished_plans_but_the_one_in_which_something_happened_last(
    ready: Path, call: Call
) -> None:
    """DATA-9: what is over is neither read nor shown, unless somebody asks for it; and that is said."""
    for number, plan in enumerate(("older", "old", "last"), start=3):
        text = (ready / "PLAN.md").read_text().replace("plan: greeter", f"plan: {plan}")
        text = text.replace("task-01", f"task-{number}1").replace("task-02", f"task-{number}2")
        (ready / f"{plan}.md").write_text(text)
        call("plan", "lock", f"{plan}.md")
    with closing(open_store(ready / ".musician" / "comms.db")) as store:
        service.open_task(store, "lone", title="Of no plan", instruction_path="i.md")
    with closing(apsw.Connection(str(ready / ".musician" / "comms.db"))) as raw:
        raw.execute("UPDATE plans SET finished_at = datetime('now') WHERE plan_id <> 'greeter'")
    call("send", "42", "something happened")
    found = call("status", "--json").json
    assert [each["plan_id"] for each in found["plans"]] == ["greeter", "old"]
    assert {each["task_id"] for each in found["tasks"]} == {
        "lone",
        "task-01",
        "task-02",
        "task-41",
        "task-42",
    }
    assert {each["plan_id"] for each in found["phases"]} == {"greeter", "old"}
    assert found["plans_left_out"] == 2
    assert "finished plans left out: 2 (--all shows them too)" in call("status").out
    everything = call("status", "--all", "--json").json
    assert (len(everything["plans"]), len(everything["tasks"]), everything["plans_left_out"]) == (4, 9, 0)


def test_status_of_nothing_says_what_to_do(repository: Path, call: Call) -> None:
    call("init")
    assert "musician plan lock" in call("status").out


def test_the_keys_of_status_are_stable(claimed: Path, call: Call) -> None:
    found = call("status", "--json").json
    assert set(found) == {
        *("database", "conductor", "plans", "plans_left_out", "phases", "tasks", "anomalies", "limits"),
        "accounts",
        "ahead",
        "ceilings",
        "hosts",
        "needs",
        "needs_human",
        "spending",
    }
    row = {
        *("task_id", "state", "session_id", "worked_by", "started_at", "last_heartbeat", "heartbeat_age_s"),
        *("completed_at", "retry_count", "last_error", "report_path", "instruction_path", "claim_epoch"),
        *("title", "plan_id", "phase", "position", "retry_limit", "created_at", "heartbeat"),
    }
    assert row <= set(found["tasks"][0])
    one = call("status", "task-01", "--json").json
    assert row | {
        "unread",
        "completed",
        "approved",
        "deviations",
        "self_corrections",
        "sessions",
        "anomalies",
        "spending",
    } <= set(one)


def test_one_task_shows_what_it_has_done(claimed: Path, call: Call) -> None:
    play(call, 1)
    call("deviation", "1", "High", "another way")
    text = call("status", "1").out
    assert "done:         step 1" in text
    assert "deviations:   1" in text


def test_what_is_out_of_the_ordinary_and_how_smooth_each_phase_was_is_shown(
    claimed: Path, call: Call
) -> None:
    assert "anomaly" not in call("status").out + call("status", "1").out
    call("step", "1", "start", "1")
    call("deviation", "1", "High", "another way")
    call("self-correction", "1", "a slip")
    (claimed / ".musician" / "trees" / "greeter" / "task-01" / "greeter.py").write_text("x = 1\n")
    call("step", "1", "done", "1")
    call("checkpoint", "1", "--smoothness", "4")
    said = [
        "anomaly: High deviation step 1: another way",
        "anomaly: self-correction step 1: a slip",
    ]
    everything = call("status").out
    for line in said:
        assert f"task-01: {line}" in everything
        assert line in call("status", "1").out
    assert (
        "greeter: smoothness of phase 1 (Foundations): 6.0 on average of 1 submission, the roughest 6 of 9"
        in (everything)
    )
    found = call("status", "--json").json
    assert [(each["task_id"], each["signal"]) for each in found["anomalies"]] == [
        ("task-01", "High deviation"),
        ("task-01", "self-correction"),
    ]
    assert found["phases"][0]["smoothness"] == {"submissions": 1, "mean": 6.0, "worst": 6}
    assert call("review", "approve", "1", "as it is").code == 0
    assert "High deviation" not in call("status").out, "it is ruled"


def test_what_waits_for_a_person_is_shown_everywhere(claimed: Path, call: Call) -> None:
    store = open_store(claimed / ".musician" / "comms.db")
    service.ask_human(store, "task-01", kind="review", subject_id=1, text="which way?")
    store.close()
    for words in (["status"], ["status", "1"], ["review", "list"], ["review", "show", "1"]):
        assert "which way?" in call(*words).out
    assert call("review", "list", "--json").json["waiting"][0]["needs_human"] == "which way?"


def test_a_question_that_no_conductor_has_handed_on_is_listed_until_it_is_answered(
    claimed: Path, call: Call
) -> None:
    with closing(open_store(claimed / ".musician" / "comms.db")) as store:
        claim = service.only_claim(store, "s1")
        service.ask(store, claim, "which file?\n  Context Usage: unknown")
    listed = call("review", "list", "--json").json["waiting"]
    assert [(each["task_id"], each["needs_human"]) for each in listed] == [("task-01", "which file?")]
    shown = call("review", "show", "1").out
    assert "needs a person: question: which file?" in shown
    assert 'musician send task-01 "your answer"' in shown
    assert "needs a person: task-01 asks: which file?" in call("status", "1").out
    call("send", "1", "the first")
    assert call("review", "list").out == "nothing waits\n"


def test_nothing_to_review_is_said(ready: Path, call: Call) -> None:
    assert call("review", "list").out == "nothing waits\n"
    text = call("review", "show", "1").out
    assert "nothing was submitted" in text
    assert "nothing was verified" in text


def test_history_has_every_change(claimed: Path, call: Call) -> None:
    found = call("history", "1", "--json").json["history"]
    assert [(row["from_state"], row["to_state"], row["who"]) for row in found] == [
        (None, "watching", "task-00"),
        ("watching", "working", "s1"),
    ]
    assert call("history", "1").out.splitlines()[2].split()[2:5] == ["watching", "working", "s1"]


@pytest.mark.parametrize("by", ["service", "raw sql"])
def test_a_watching_status_prints_again_when_something_changed(
    claimed: Path, command: tuple[str, ...], call: Call, by: str
) -> None:
    """D11.9"""
    watching = subprocess.Popen(
        [*command, "status", "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    seen = [watching.stdout.readline() for _ in range(6)]
    assert "working" in seen[3]
    if by == "service":
        call("stop", "1")
    else:
        with closing(apsw.Connection(str(claimed / ".musician" / "comms.db"))) as raw:
            raw.execute("UPDATE orchestration_tasks SET state = 'exit_requested' WHERE task_id = 'task-01'")
    again = [watching.stdout.readline() for _ in range(6)]
    assert "exit_requested" in again[4]
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=HANG_S)
    assert (watching.returncode, err) == (130, "")


def test_the_timeline_goes_by_time_over_all_tasks(claimed: Path, call: Call) -> None:
    call("send", "2", "two\nlines")
    call("step", "1", "start", "1")
    found = call("timeline", "--json").json["timeline"]
    assert [each["at"] for each in found] == sorted(each["at"] for each in found)
    assert {each["source"] for each in found} == {"message", "state", "journal"}
    assert {each["task_id"] for each in found} == {"task-01", "task-02"}
    text = call("timeline").out
    assert "two\n    lines" in text
    assert "watching → working" in text
    assert "step 1 started" in text


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_what_was_said_as_text_and_nothing_else(ready: Path, call: Call) -> None:
    """B40."""
    for text in MARKUP:
        call("send", "task-01", "--", text)
    call("timeline", "--html", "page.html")
    page = Elements()
    page.feed((ready / "page.html").read_text())
    assert page.tags == {
        *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "small", "b", "p"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert page.attributes == {"lang", "charset", "name", "http-equiv", "content", "class", "scope"}
    for text in MARKUP:
        assert text in page.text


def test_a_page_to_share_has_no_secret_and_no_path_outside_the_project(
    ready: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands around them; what is a name of the project's own, or an address, stays."""
    monkeypatch.setenv("MY_API_KEY", "hunter2hunter2")
    home = ready.parent / "Ada Home"
    monkeypatch.setenv("HOME", str(home))
    said = [
        f"see {ready}/src/main.py:12 and '{home}/notes/diary.txt', error:/var/lib/other/x.db",
        "PATH=/opt/tools/bin:/home/ada/bin file:///home/ada/plan.md (~/.ssh/id_rsa) ~bob/x",
        "hunter2hunter2 ghp_" + "a" * 36 + " https://ada:pa55word@example.org/a/b",
        f"in {ready}-old/seclude-a.txt and {home}2/seclude-b.txt, -I/opt/seclude-c/inc \x1b[31m/srv/seclude-d/x\x1b[0m",
        f"first\\n/srv/seclude-e/x; all of {ready}.",
        "docs/plan/one.md ./src/x.py a/b https://example.org/home/page 3/4 and/or",
    ]
    for text in said:
        call("send", "task-01", "--", text)
    call("timeline", "--html", "page.html")
    page = Elements()
    page.feed((ready / "page.html").read_text())
    for gone in (
        "hunter2",
        "ghp_",
        "pa55",
        "diary",
        "/var/",
        "ada/bin",
        "plan.md",
        "id_rsa",
        "bob",
        "Ada Home",
        "seclude",
        str(ready),
    ):
        assert gone not in page.text, gone
    assert "see src/main.py:12 and" in page.text
    assert "all of .." in page.text
    assert said[-1] in page.text


ELSEWHERE_TOO = {
    "encoded": "GET /x?path=%2Fhome%2Fada%2Fseclude and file%3A%2F%2F%2Fsrv%252fseclude%252Fx",
    "Windows": r"open C:\Users\Ada Seclude\x.txt, d:/seclude/y or \\server\seclude\z: no such file",
    "as JSON has it": r'{"cwd":"\/srv\/seclude\/x","win":"C:\\Users\\seclude"}',
    "invisible": "\u200b/srv/seclude/x \x07/srv/seclude/y \u202e/srv/seclude/z",
    "of another system": "/mnt/c/Users/seclude/x and /Users/seclude/y",
}


def test_a_page_shares_pictures_and_words_of_a_run_without_what_is_this_machines(
    claimed: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote it: a tool, a failure, the reason of an end; however it is spelt."""
    home = claimed.parent / "seclude home"
    monkeypatch.setenv("HOME", str(home))
    secret = "sk-" + "seclude" * 8
    call("step", "1", "start", "1", "--context", "30")
    call("step", "1", "done", "1", "--context", "66")
    with closing(open_store(claimed / ".musician" / "comms.db")) as store:
        claim = Claim(task_id="task-01", session_id="s1", epoch=1)
        service.record_usage(store, claim, "step 1", Usage(model="opus", input_tokens=1000, cost_usd=0.5))
        service.send(store, "task-01", f"use {secret}; {'; '.join(ELSEWHERE_TOO.values())}")
        whole, parts = quote(str(claimed)), quote(str(claimed), safe="")
        service.send(store, "task-01", f"see {whole}/src/a%20b.py and {parts}%2Fsrc")
    call("error", "1", f"cannot read {home}/diary of {secret}")
    call("exit", "1", "--reason", f"{home}/diary {secret} {quote(str(home))}")
    call("timeline", "--html", "page.html")
    written = (claimed / "page.html").read_text()
    page = Elements()
    page.feed(written)
    assert "seclude" not in written
    assert "see src/a%20b.py and src" in page.text
    assert {"svg", "rect", "polyline", "line"} <= page.tags
    for drawn in ("session 1, ", "step 1", "65 %", "working", "$0.50"):
        assert drawn in page.text
    with closing(apsw.Connection(str(claimed / ".musician" / "comms.db"))) as raw:
        raw.execute("UPDATE sessions SET started_at = 'at noon'")
    call("timeline", "--html", "page.html")
    assert "<svg" not in (claimed / "page.html").read_text()
    assert not re.search(r"<[^>]*\b(src|href|style)=", written)


def test_a_page_that_cannot_be_written_is_told(ready: Path, call: Call) -> None:
    assert call("timeline", "--html", "/proc/page.html", expect=1).err.count("\n") == 1


def test_what_waits_for_a_person_is_one_line_with_its_kind(claimed: Path, call: Call) -> None:
    """A text of several lines would pass for several things; what was stopped says so once."""
    call("stop", "1", "enough\nfor today")
    for words in (["status"], ["status", "1"], ["review", "list"], ["review", "show", "1"]):
        [line] = [line for line in call(*words).out.splitlines() if "enough" in line]
        assert "stopped" in line
        assert ": enough for today" in line
        assert "stopped: stopped" not in line
