"""``musician log``: what sessions said and did, for people, pipes and programs."""

import json
import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.processes.identity import login_name
from musician.processes.redaction import Redactor
from musician.processes.transcript import Kind, Transcript
from musician.project import Project
from musician.protocol.states import State
from musician.testing.waiting import HANG_S
from tests.cli.test_cli_look_at_work import submit
from tests.surroundings import Call, git

PLAN = r"""---
plan: talk
test: "true"
---
# Talk

## Phase 1: All

### task-01: Talk
#### Step 1: Say much
```bash run
printf '\033[31mred\033]0;title\a \342\200\256backwards\n'
echo "the key is $MY_API_KEY"
echo ::deviation Low another way
echo ::context 70%
echo one > one
```
#### Step 2: Say more
```bash run
echo from the second session
echo two > two
```
"""
ODD = ("\x1b", "\x07", "\N{RIGHT-TO-LEFT OVERRIDE}")


@pytest.fixture
def talk(repository: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MY_API_KEY", "hunter2hunter2")
    (repository / "PLAN.md").write_text(PLAN)
    git(repository, "commit", "-qam", "the plan")
    call("init")
    call("plan", "lock", "PLAN.md")
    return repository


def test_a_log_that_is_followed_goes_on_in_the_next_session_and_ends_with_the_task(
    talk: Path, call: Call, program: Call, command: tuple[str, ...]
) -> None:
    """What acts on a terminal is made harmless, and secrets were never written; a pipe gets the same as a person."""
    with subprocess.Popen([*command, "log", "1", "-f"], stdout=subprocess.PIPE, text=True) as following:
        done = program("run", "PLAN.md")
        assert done.code == 0, done.out
        out, _ = following.communicate(timeout=HANG_S)
    assert following.returncode == 0
    assert out == call("log", "1").out
    assert not any(each in out for each in (*ODD, "hunter2"))
    assert "the key is [MY_API_KEY]\n" in out
    assert "red␛]0;title" in out
    told = [line.strip() for line in out.splitlines()]
    assert [line.split()[1] for line in told if line.startswith("== musician")] == [
        *("musician-task-01", "musician-task-01-S2")
    ]
    wanted = [
        *("-- step 1: Say much", "deviation: Low another way", "context 70 %", "step 1 done"),
        *("-- step 2: Say more", "from the second session"),
    ]
    assert [line for line in told if line in wanted] == wanted
    assert any(line.startswith("verified, green: ") for line in told)
    assert any(line.startswith("conductor: review_approved: ") for line in told)  # by the rules
    assert told[-1].startswith("== complete")
    for path in (talk / ".musician" / "logs" / "task-01").glob("*.jsonl"):
        assert "hunter2" not in path.read_text()


def test_a_program_gets_every_event_in_a_line_and_one_session_if_it_wants(
    talk: Path, call: Call, program: Call
) -> None:
    assert program("run", "PLAN.md").code == 0
    found = [json.loads(line) for line in call("log", "1", "--json").out.splitlines()]
    sessions = list(dict.fromkeys(each["session_id"] for each in found))
    assert len(sessions) == 2
    for session in sessions:
        seqs = [each["seq"] for each in found if each["session_id"] == session]
        assert seqs == list(range(1, len(seqs) + 1))
    kinds = {each["kind"] for each in found}
    assert kinds >= {"begin", "prompt", "text", "told", "usage", "ended", "verification", "verdict", "end"}
    first = call("log", "1", "--session", sessions[0], "--follow").out
    assert "Say much" in first
    assert "Say more" not in first
    call("log", "1", "--session", "nobody", expect=2)
    call("log", "9", expect=3)


@pytest.mark.deep
def test_a_log_that_nobody_reads_any_more_ends_quietly(talk: Path, program: Call, shell: Call) -> None:
    assert program("run", "PLAN.md").code == 0
    found = shell("$MUSICIAN log 1 | head -n 1; exit ${PIPESTATUS[0]}")
    assert (found.out.count("\n"), found.err) == (1, "")


def test_of_a_task_that_nobody_has_played_it_says_so(ready: Path, call: Call) -> None:
    said = call("log", "task-02")
    assert (said.out, said.err) == ("", "no session has played task-02 yet\n")
    assert (call("log", "task-02", "--json").out, call("log", "task-99", expect=3).out) == ("", "")


def test_of_a_session_by_hand_it_says_where_to_look(claimed: Path, call: Call) -> None:
    assert "no transcript: opened by hand" in call("log", "1").out
    call("log", "2")


def test_a_verdict_bears_the_name_of_the_person_who_gave_it(claimed: Path, call: Call) -> None:
    """DASHBOARD-ORDERS: and a file that names no message of the task's makes nobody of it."""
    submit(claimed, call)
    call("review", "fix", "1", "say it otherwise")
    with closing(Project(str(claimed))) as project:
        view = service.task_view(project.store, "task-01")
        session, verdict = view.sessions[-1], view.history[-1]
        path = project.root.transcript("task-01", session.claim_epoch, session.session_id)
    with Transcript(path, Redactor({})) as transcript:
        for message_id in (verdict.message_id, 2**70, 999, -1, True, "1", None):
            transcript.write(Kind.VERDICT, state=State.REVIEW_FAILED, text="say it", message_id=message_id)
    told = [line.strip() for line in call("log", "1").out.splitlines() if "say it" in line]
    by_nobody = ["conductor: review_failed: say it"] * 6
    assert told == [f"conductor ({login_name()}): review_failed: say it", *by_nobody]


def test_a_message_bears_the_name_of_who_has_signed_it(claimed: Path, call: Call) -> None:
    """DASHBOARD-ORDERS: as in ``musician messages``; what the program, or nobody known, has said bears none."""
    call("send", "1", "use tabs")
    with closing(Project(str(claimed))) as project:
        service.send(project.store, "task-01", "of the program")
        session = service.signed(project.store, service.Signer(name="ada", session_id="4f2a"))
        service.send(session, "task-01", "stop it", urgent=True)
        by_ada = service.messages_of(project.store, "task-01")
        claim = service.task_view(project.store, "task-01").sessions[-1]
        path = project.root.transcript("task-01", claim.claim_epoch, claim.session_id)
    with Transcript(path, Redactor({})) as transcript:
        for row in by_ada[-3:]:
            urgent = row.message_type == "emergency"
            transcript.write(
                Kind.MESSAGE, what="MessageArrived", text=row.message, urgent=urgent, message_id=row.id
            )
        for number in (2**70, 999, -1, "1", None):
            transcript.write(Kind.MESSAGE, what="MessageArrived", text="of none", message_id=number)
    told = [
        line.strip() for line in call("log", "1").out.splitlines() if line.strip().startswith("conductor")
    ]
    assert told == [
        f"conductor ({login_name()}): use tabs",
        "conductor: of the program",
        "conductor (session 4f2a for ada, urgent): stop it",
        *["conductor: of none"] * 5,
    ]


def test_following_ends_by_an_interrupt(claimed: Path, command: tuple[str, ...]) -> None:
    with subprocess.Popen([*command, "log", "1", "-f"], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stdout.readline().startswith("== musician-task-01")
        following.send_signal(signal.SIGINT)
        assert following.wait(HANG_S) == 130


def test_whatever_stands_in_a_file_the_log_goes_on(talk: Path, call: Call, program: Call) -> None:
    assert program("run", "PLAN.md").code == 0
    folder = talk / ".musician" / "logs" / "task-01"
    path = next(iter(sorted(folder.glob("[0-9]*.jsonl"))))
    odd = [b"\xff\xfe", b"[]", b"{", b'{"seq":1}', b"[" * 100_000, b"null"]
    odd += [
        b'{"seq":7,"at":"","kind":"text","text":{"a":["\\u001b[31m"]}}',
        b'{"seq":8,"at":"","kind":"newer"}',
    ]
    path.write_bytes(b"\n".join([*odd, b'{"seq":9,"at":"","kind":"text","text":"half']))
    out = call("log", "1").out
    assert "half" not in out
    assert "\x1b" not in out
    os.unlink(path)
    assert "its file is gone" in call("log", "1").out
    path.mkdir()
    call("log", "1")


ASKED = r"""---
plan: asked
test: "true"
review: agent
answers: agent
---
# Asked

## Phase 1: All

### task-01: Ask
```yaml task
answerer: |
  printf '::reply \033]0;the key of C\n'
reviewer: |
  test -s one || exit 1
  echo looked at it
  echo ::verdict approve well done
```
#### Step 1: Ask
```bash run
echo "::question which key?"
echo one > one
```
#### Step 2: Go on
```bash run
echo on it goes
echo two > two
```
"""


@pytest.mark.deep
def test_agents_that_answered_and_reviewed_are_told_where_it_happened(
    repository: Path, call: Call, program: Call, command: tuple[str, ...]
) -> None:
    """What decided is as visible as the work, in its place in time, live and afterwards alike."""
    (repository / "PLAN.md").write_text(ASKED)
    git(repository, "commit", "-qam", "the plan")
    call("init")
    call("plan", "lock", "PLAN.md")
    with subprocess.Popen([*command, "log", "1", "-f"], stdout=subprocess.PIPE, text=True) as following:
        done = program("run", "PLAN.md")
        assert done.code == 0, done.out
        out, _ = following.communicate(timeout=HANG_S)
    afterwards = call("log", "1").out
    assert sorted(out.splitlines()) == sorted(afterwards.splitlines())
    told = [line.strip() for line in afterwards.splitlines()]
    wanted = [
        *("asks: which key?", "replies: ␛]0;the key of C", "on it goes"),
        *("looked at it", "verdict: approve well done"),
        (
            "conductor (the reviewing agent): review_approved: Approved; merged and verified with the others' work."
            " well done"
        ),
    ]
    assert [line for line in told if line in wanted] == wanted
    headings = [
        line.split()[1] for line in told if line.startswith("== ") and "task-01" not in line.split()[-1]
    ]
    assert headings[:3] == ["musician-task-01", "answer", "musician-task-01"]
    assert "review" in headings[3:]
    assert "\x1b" not in afterwards
    found = [json.loads(line) for line in call("log", "1", "--json").out.splitlines()]
    asked = {each["asked"].partition(" ")[0] for each in found if each["session_id"] is None}
    assert asked == {"answer", "review"}
    session = next(each["session_id"] for each in found if each["session_id"])
    assert "looked at it" not in call("log", "1", "--session", session).out
