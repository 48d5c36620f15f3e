"""The demo as a user starts it: a process of its own, to its end, and everything it promises."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.states import State
from musician.service import TaskView
from musician.store.opening import open_store
from musician.testing.waiting import HANG_S, until
from tests.cli.test_run_terminal import Terminal

MUSICIAN = (sys.executable, "-m", "musician")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One demo, kept."""

    folder: Path
    output: str
    cpu_s: float
    views: dict[str, TaskView]


def environment(place: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(place), "HOME": str(place), **more}


def views_of(folder: Path) -> dict[str, TaskView]:
    store = open_store(folder / ".musician" / "comms.db")
    try:
        return {view.row.task_id: view for view in service.everything(store, "pigeonpost")}
    finally:
        store.close()


def processes_of(place: Path) -> list[list[str]]:
    """Every process that was started for something below ``place``."""
    return [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if any(str(place) in part for part in process.info["cmdline"] or ())
    ]


def nothing_runs(place: Path) -> None:
    """What the demo has started ends with it; the last of it may take a moment on a busy machine."""
    until(lambda: not processes_of(place), told=lambda: str(processes_of(place)))


def cpu_s() -> float:
    """What the programs that have ended took of a core."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, encoding="utf-8")
    return ran.stdout


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    place = tmp_path_factory.mktemp("demo")
    folder = place / "kept post"
    # A user's own database and session must not get in.
    env = environment(place, MUSICIAN_DB=str(place / "other.db"), MUSICIAN_SESSION="mine")
    before_s = cpu_s()
    ran = subprocess.run(
        [*MUSICIAN, "demo", "--keep", "kept post"],
        cwd=place,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
    )
    used_s = cpu_s() - before_s
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    nothing_runs(place)
    return Played(folder=folder, output=ran.stdout, cpu_s=used_s, views=views_of(folder))


def _changes(view: TaskView) -> list[tuple[str, str]]:
    return [(row.from_state or "", row.to_state) for row in view.history]


def _exits(view: TaskView) -> list[tuple[int, str | None]]:
    return [(session.number, session.exit_reason) for session in view.sessions]


def test_it_costs_less_than_a_minute_of_a_core_and_every_task_is_complete(played: Played) -> None:
    assert played.cpu_s < 60
    assert {view.row.state for view in played.views.values()} == {State.COMPLETE}
    assert len(played.views) == 4


def test_the_killed_musician_is_followed_by_its_second_session_through_a_takeover(played: Played) -> None:
    view = played.views["task-01"]
    assert _exits(view) == [(1, "died"), (2, "complete")]
    assert view.row.worked_by == "musician-task-01-S2"
    assert ("working", "fix_proposed") in _changes(view)


def test_what_the_killed_musician_had_half_written_is_kept_and_its_step_is_in_the_tree_once(
    played: Played,
) -> None:
    refs = _git(played.folder, "for-each-ref", "--format=%(refname)", "refs/musician/partial").split()
    half = _git(played.folder, "show", f"{refs[0]}:pigeonpost/routes.py")
    whole = _git(played.folder, "show", "main:pigeonpost/routes.py")
    assert half.rstrip().endswith("return math.hypot(")
    assert whole.count("def km_between(") == 1
    subjects = _git(played.folder, "log", "--format=%s", "main").splitlines()
    steps = [subject for subject in subjects if subject.startswith("task-01, step")]
    assert len(steps) == len(set(steps)) == 3


def test_the_short_cut_is_sent_back_and_approved_after_its_rework(played: Played) -> None:
    view = played.views["task-02"]
    assert _exits(view) == [(1, "complete")]
    assert [each.verdict for each in view.submissions] == [State.REVIEW_FAILED, State.REVIEW_APPROVED]
    assert "Medium" in (view.submissions[0].verdict_text or "")
    assert "read_tariff" in (played.folder / "pigeonpost" / "postage.py").read_text(encoding="utf-8")


def test_the_full_context_is_handed_off_through_an_exit(played: Played) -> None:
    view = played.views["task-03"]
    changes = _changes(view)
    assert ("working", "error") in changes
    assert ("error", "exit_requested") in changes
    assert ("exit_requested", "exited") in changes
    assert ("exited", "fix_proposed") in changes
    assert view.row.worked_by == "musician-task-03-S2"
    assert view.sessions[0].context_pct == 67
    first, second = (
        [
            row.item
            for row in view.journal
            if row.kind == EntryKind.COMPLETED and row.claim_epoch == session.claim_epoch
        ]
        for session in view.sessions
    )
    assert (first, second) == (["step 1", "step 2"], ["step 3"])
    assert (played.folder / "temp" / "task-03-HANDOFF").is_file()


def test_the_tasks_of_the_first_phase_are_played_at_the_same_time_and_the_second_phase_after_them(
    played: Played,
) -> None:
    # History ids have the order of the commits.
    claimed = {
        task: next(row.id for row in view.history if row.to_state is State.WORKING)
        for task, view in played.views.items()
    }
    done = {task: view.history[-1].id for task, view in played.views.items()}
    crashed = played.views["task-01"].history[2].id
    first_phase = ("task-01", "task-02", "task-03")
    assert max(claimed[task] for task in first_phase) < min(crashed, done["task-02"], done["task-03"])
    assert claimed["task-04"] > max(done[task] for task in first_phase)


def test_the_desk_used_a_subagent_and_owned_up_to_its_self_correction(played: Played) -> None:
    kinds = {row.kind for row in played.views["task-04"].journal}
    assert {EntryKind.RETURNED, EntryKind.SELF_CORRECTION} <= kinds
    assert len(played.views["task-04"].submissions) == 2


def test_the_users_branch_has_it_all_and_its_tests_are_green(played: Played) -> None:
    assert _git(played.folder, "symbolic-ref", "--short", "HEAD").strip() == "main"
    assert _git(played.folder, "diff", "HEAD", "--stat") == ""
    ran = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"], cwd=played.folder, capture_output=True, encoding="utf-8"
    )
    assert ran.returncode == 0
    assert "Ran 20 tests" in ran.stderr


def test_the_output_tells_the_story_to_a_newcomer(played: Played) -> None:
    before, _, after = played.output.partition("$ musician run PLAN.md")
    assert "FAILED (failures=2, errors=18)" in before
    assert "\nOK" in after
    for told in (
        "task-01, task-02 and task-03 were played at the same time",
        "musician-task-01 died in the middle of step 2",
        "musician-task-01-S2",
        "tariff.csv is not read",
        "musician-task-03 stopped after step 2",
        "4 of 4 tasks complete",
        "git show refs/musician/partial/pigeonpost/task-01/",
        "SAINT-ÉLAN",
    ):
        assert told in " ".join(after.split()), told
    assert "\x1b" not in played.output


def test_the_readme_quotes_what_is_printed(played: Played) -> None:
    """Line by line, whatever the time, the numbers and what it leaves out; the story's paragraphs in whole."""
    printed = " ".join(played.output.split())
    shown, story = _quoted().split("What happened\n", 1)
    paragraphs = re.split(r"\n(?=  \w)", story.strip("\n"))
    assert len(paragraphs) == 5
    quotes = [*(line for line in shown.splitlines() if line.strip(" …")), *paragraphs]
    assert [quote for quote in quotes if not re.search(_as_pattern(quote), printed)] == []


def _quoted() -> str:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (quoted,) = re.findall(r"^```text\n(\$ musician run PLAN\.md.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return str(quoted)


def _as_pattern(quote: str) -> str:
    """What is printed where a README says ``quote``: two musicians race, so times and what they counted differ."""
    words = re.escape(" ".join(quote.split())).replace("…", ".*")
    words = re.sub(r"\d\d:\d\d:\d\d", r"\\d\\d:\\d\\d:\\d\\d", words)
    words = re.sub(r"in\\ \d+\\?[.:]\d+", r"in\\ \\d+[.:]\\d+", words)
    return re.sub(r"\d+\\ times", r"\\d+\\ times", words)


def test_the_kept_folder_answers_the_commands_it_names(played: Played) -> None:
    named = [line.split("  ")[1] for line in played.output.splitlines() if line.startswith("  ")]
    typed = [line.strip() for line in named if line.strip().startswith(("musician ", "git ", "cat "))]
    assert len(typed) >= 5
    for line in typed:
        command = line.split()
        argv = [*MUSICIAN, *command[1:]] if command[0] == "musician" else command
        ran = subprocess.run(
            argv, cwd=played.folder, env=environment(played.folder.parent), capture_output=True
        )
        assert ran.returncode == 0, (line, ran.stderr)
        assert ran.stdout, line


@pytest.mark.deep
def test_without_keep_nothing_is_left_and_json_is_one_document(tmp_path: Path) -> None:
    ran = subprocess.run(
        [*MUSICIAN, "demo", "--json"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
    )
    document = json.loads(ran.stdout)
    assert (ran.returncode, document["exit_code"], document["folder"]) == (0, 0, None)
    titles = [episode["title"] for episode in document["episodes"]]
    assert titles == ["side by side", "killed", "sent back", "handed off", "finished"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ran = subprocess.run(
        [*MUSICIAN, "demo", "--keep", str(tmp_path)], capture_output=True, encoding="utf-8", timeout=HANG_S
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "new or an empty" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.deep
def test_an_interrupted_demo_saves_its_state_and_run_goes_on_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "post"
    demo = subprocess.Popen(
        [*MUSICIAN, "demo", "--keep", str(folder)],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    struck = folder / ".musician" / "scratch" / "task-01" / "struck"
    deadline_s = time.monotonic() + HANG_S
    while not struck.exists() and demo.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)
    demo.send_signal(signal.SIGINT)
    output, _ = demo.communicate(timeout=HANG_S)
    assert demo.returncode == 130, output
    assert "musician run PLAN.md" in output.partition("Look around")[2]
    nothing_runs(tmp_path)

    again = subprocess.run(
        [*MUSICIAN, "run", "PLAN.md"],
        cwd=folder,
        env=environment(tmp_path),
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert {view.row.state for view in views_of(folder).values()} == {State.COMPLETE}
    whole = _git(folder, "show", "main:pigeonpost/routes.py")
    assert whole.count("def km_between(") == 1
    nothing_runs(tmp_path)


@pytest.mark.deep
def test_with_the_dashboard_its_address_is_told_first_and_it_ends_with_the_demo(tmp_path: Path) -> None:
    ran = subprocess.run(
        [*MUSICIAN, "demo", "--dashboard"],
        env=environment(tmp_path),
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.index("dashboard: http://127.") < ran.stdout.index("$ musician run")
    nothing_runs(tmp_path)


def _asked(folder: Path, *words: str) -> str:
    ran = subprocess.run([*MUSICIAN, *words], cwd=folder, check=True, capture_output=True, encoding="utf-8")
    return ran.stdout


def _address_in(said: str) -> str:
    found = re.search(r"http://127\.[\d.]+:\d+/enter\?token=[0-9a-f]+", said)
    assert found, said
    return found.group()


def _page(address: str) -> None:
    """Without a cookie the page refuses; that it does says that somebody answers."""
    with closing(HTTPConnection(urlsplit(address).netloc, timeout=HANG_S)) as line:
        line.request("GET", "/")
        assert line.getresponse().status == 403


@pytest.mark.deep
def test_who_looks_on_at_a_terminal_reviews_the_last_task_himself(tmp_path: Path) -> None:
    """Sent back once with a point on a line, then approved: the musician answers, and the demo goes on to its end."""
    folder = tmp_path / "kept"
    words = ("demo", "--dashboard", "--keep", os.fspath(folder))
    with closing(Terminal(*words, TMPDIR=os.fspath(tmp_path), HOME=os.fspath(tmp_path))) as terminal:

        def asked(*judge: tuple[str, ...]) -> None:
            terminal.until(lambda said: "It waits for you" in said)
            assert views_of(folder)["task-04"].row.state is State.NEEDS_REVIEW
            _page(address)  # a run has ended in the same process, and the page lives
            for words in judge:
                _asked(folder, "review", *words)
            terminal.said = ""
            terminal.press(b" ")

        terminal.until(lambda said: "Open it; any key" in said)
        address = _address_in(terminal.said)
        terminal.press(b" ")
        asked(
            ("comment", "task-04", "pigeonpost/desk.py:1", "Say what an ounce is."),
            ("reject", "task-04", "Nearly."),
        )
        asked(("approve", "task-04"))
        assert "Say what an ounce is." in _git(folder, "show", "musician/pigeonpost/task-04:README.md")
        assert "It stands in README.md now." in _asked(folder, "review", "comments", "task-04")
        asked(("approve", "task-04"))
        terminal.until(lambda said: "Any key ends" in said)
        terminal.press(b" ")
        assert terminal.end() == 0
    assert views_of(folder)["task-04"].row.state is State.COMPLETE
    nothing_runs(tmp_path)
