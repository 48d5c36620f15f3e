"""Whatever happens, and whoever is killed after it: page, terminal and JSON say what the fold of the database says."""

import html
import random
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from musician.processes.machine import MACHINE
from musician.project import Project
from musician.runtime.overseeing import look
from musician.testing.waiting import HANG_S
from tests.surroundings import Call
from tests.web.conftest import Served
from tests.web.test_streams import Browser

EVENTS = 24
TASKS = ("task-01", "task-02")

WRITER = """
import sys, time
from contextlib import suppress
from musician import service
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.errors import MusicianError
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.settings import Settings
from musician.protocol.states import State
_, act, task = sys.argv
store = Project(".").store
row = service.task_row(store, task)
claim = Claim(task_id=task, session_id="s-" + task, epoch=max(row.claim_epoch, 1))
note = Entry(kind=EntryKind.QUESTION, text="Which <one>?")
with suppress(MusicianError):
    {
        "claim": lambda: service.claim(store, task, claim.session_id, settings=Settings()),
        "note": lambda: service.record(store, claim, Entry(kind=EntryKind.STARTED, item="step 1")),
        "send": lambda: service.send(store, task, "Look <b>here</b>"),
        "question": lambda: service.ask(store, claim, "Which <one>?", note),
        "trouble": lambda: service.ask_human(store, task, kind="trouble", subject_id=1, text="no <disk>"),
        "settle": lambda: service.resolve_asks(store, task, "mended"),
        "stop": lambda: service.request_exit(store, task, "enough", urgent=True, hold=True),
        "reopen": lambda: service.judge(store, task, State.FIX_PROPOSED, "again"),
    }[act]()
print("done", flush=True)
time.sleep(600)
"""
ACTS = ("claim", "claim", "note", "send", "question", "trouble", "settle", "stop", "reopen")


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1, 2])
def test_page_terminal_and_json_are_the_fold_after_every_event_and_kill(
    ready: Path, call: Call, command: tuple[str, ...], seed: int
) -> None:
    """Each event's writer is killed when it has written, and the server every third time; nothing is left to write."""
    chance = random.Random(seed)
    served = Served(ready, command).__enter__()
    browser = Browser(served.address)
    try:
        for number in range(EVENTS):
            happens(ready, chance.choice(ACTS), chance.choice(TASKS))
            if number % 3 == 0:
                served.process.kill()
                served.end()
                served = Served(ready, command).__enter__()
            with closing(Project(str(ready))) as project:
                seen = look(project, MACHINE)
            rows = [each for plan in seen.plans for each in plan.tasks]
            states = {each.row.task_id: str(each.row.state) for each in rows}
            needs = [need.reason for need in seen.needs]
            assert on_page(browser.load("/")) == ({each.row.task_id: str(each.lane) for each in rows}, needs)
            document = call("status", "--all", "--json").json
            assert {each["task_id"]: each["state"] for each in document["tasks"]} == states
            asked = call("needs-me", "--json", expect=1 if needs else 0).json["waiting"]
            assert [each["reason"] for each in asked] == needs
            text = call("status").out
            for task_id, state in states.items():
                assert re.search(rf"^{task_id}\s+{state}\s", text, re.MULTILINE), (number, text)
    finally:
        served.end()


def happens(folder: Path, act: str, task: str) -> None:
    with subprocess.Popen(
        (sys.executable, "-c", WRITER, act, task), cwd=folder, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "done\n", act
        writer.send_signal(signal.SIGKILL)
        writer.wait(HANG_S)


def on_page(page: str) -> tuple[dict[str, str], list[str]]:
    """Of each task its lane; the reasons of what waits for a person."""
    row = r'<a data-open href="/tasks/[^"]*">([^<]*)</a>[^<]*</th>\s*<td><span class="lane [^"]*">([^<]*)<'
    lanes = re.findall(row, page)
    needs = page.partition('id="needs"')[2].partition("</section>")[0]
    return dict(lanes), [
        html.unescape(each) for each in re.findall(r"</h3>\s*<p>(.*?)</p>", needs, re.DOTALL)
    ]
