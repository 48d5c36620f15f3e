"""What can stand broken, the doctor finds, and says the command that mends it; and the command does."""

# ruff: noqa: S608 - raw SQL is the point
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician.store.sqlite.faults import gate_fault
from musician.store.sqlite.gate import Gate, GateTimeout
from tests.surroundings import Call

LAST = 2**63 - 1
TOOTHLESS = "CREATE TRIGGER tasks_stay BEFORE DELETE ON orchestration_tasks WHEN 0 BEGIN SELECT 1; END"
WORDS = "(id, task_id, from_session, message_type, message)"
WITHOUT_GUARDS = {
    "a dropped guard": ("contents", "trigger tasks_claim is missing", "DROP TRIGGER tasks_claim"),
    "an altered guard": (
        "contents",
        "trigger tasks_stay is altered",
        f"DROP TRIGGER tasks_stay; {TOOTHLESS}",
    ),
    "a foreign trigger": (
        "contents",
        "trigger mine is foreign",
        "CREATE TRIGGER mine AFTER INSERT ON journal BEGIN SELECT 1; END",
    ),
    "spent ids": (
        "contents",
        "ids of orchestration_messages are spent",
        f"INSERT INTO orchestration_messages {WORDS} VALUES ({LAST}, 'task-01', 'raw', 'note', 'the last word')",
    ),
    "a spent sequence": (
        "contents",
        "ids of journal are spent",
        f"UPDATE sqlite_sequence SET seq = {LAST} WHERE name = 'journal'",
    ),
    "the last place in the order": (
        "contents",
        f"the ids of changes are spent: somebody wrote one of {LAST}",
        f"INSERT INTO changes (seq, task_id, source, id) VALUES ({LAST}, 'task-01', 'message', 1)",
    ),
    "an epoch without end": (
        "contents",
        f"task-01 has an epoch of {LAST}",
        f"UPDATE orchestration_tasks SET claim_epoch = {LAST} WHERE task_id = 'task-01'",
    ),
    "another's name on a claim": (
        "contents",
        "task-01 stands under 'thief', and its claim belongs to 's1'",
        "UPDATE orchestration_tasks SET session_id = 'thief' WHERE task_id = 'task-01'",
    ),
    "nobody's name on a claim": (
        "contents",
        "task-01 stands under None",
        "UPDATE orchestration_tasks SET session_id = NULL WHERE task_id = 'task-01'",
    ),
    "text that is none": (
        "contents",
        "orchestration_messages.message holds text that is no UTF-8",
        "UPDATE orchestration_messages SET message = CAST(x'61ff' AS TEXT) WHERE id = 1",
    ),
    "a setting of its own": (
        "contents",
        "the database uses heartbeat.stale_after_s = 1",
        "UPDATE settings SET value = 1 WHERE name = 'heartbeat.stale_after_s'",
    ),
}


@pytest.fixture
def raw(claimed: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(claimed / ".musician" / "comms.db"))) as connection:
        yield connection


def findings(call: Call, check: str) -> list[dict[str, str]]:
    found = call("doctor", "--json", expect=None).json["findings"]
    return [each for each in found if each["check"] == check]


def guards(connection: apsw.Connection) -> list[tuple[str, str]]:
    return [
        (str(name), str(sql))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    ]


@pytest.mark.parametrize("name", WITHOUT_GUARDS)
def test_what_is_broken_in_the_database_is_found_and_mended(
    raw: apsw.Connection, claimed: Path, call: Call, name: str
) -> None:
    """AUDIT-P15, AUDIT-P3: `musician init` mends it, and afterwards the owner plays on."""
    check, said, sql = WITHOUT_GUARDS[name]
    assert [each["level"] for each in findings(call, check)] == ["ok"]
    kept = guards(raw)
    changes_guards = "TRIGGER" in sql
    for trigger, _ in () if changes_guards else kept:
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute(sql)
    for _, text in () if changes_guards else kept:
        raw.execute(text)
    found = findings(call, check)
    assert [each for each in found if said in each["found"]], found
    assert all("musician init" in each["remedy"] for each in found)
    call("init")
    assert [each["level"] for each in findings(call, check)] == ["ok"]
    call("heartbeat", "task-01")
    call("send", "task-01", "go on")
    call("step", "task-01", "start", "1")


def test_that_ids_are_spent_is_not_called_a_full_disk(
    raw: apsw.Connection, claimed: Path, call: Call
) -> None:
    """AUDIT-P3: and the words beside the last id are still there once it is mended."""
    raw.execute("DROP TRIGGER orchestration_messages_counts")
    raw.execute(
        f"INSERT INTO orchestration_messages {WORDS} VALUES ({LAST}, 'task-01', 'task-00', 'note', 'the last word')"
    )
    said = call("send", "task-01", "hello", expect=None).err
    assert "disk" not in said
    assert "musician init" in said
    call("init")
    call("send", "task-01", "hello")
    last = call("messages", "task-01", "--json").json["messages"][-2:]
    assert [each["message"] for each in last] == ["the last word", "hello"]
    assert last[1]["id"] == last[0]["id"] + 1 < 100


def test_a_gate_that_somebody_holds_is_told_and_not_waited_for(claimed: Path, call: Call) -> None:
    """AUDIT-S5."""
    with Gate(claimed / ".musician" / "comms.db-gate").hold(1):
        (found,) = findings(call, "gate")
    assert found["level"] == "warn"
    assert f"pid {os.getpid()} holds the database" in found["found"]
    assert f"kill {os.getpid()}" in found["remedy"]


def test_a_stopped_process_that_holds_the_gate_is_told_with_a_command_that_it_hears(
    claimed: Path, call: Call
) -> None:
    """AUDIT-S5: `kill` alone does nothing to it."""
    hold = (
        "import os, signal, sys; from pathlib import Path; from musician.store.sqlite.gate import Gate\n"
        "with Gate(Path(sys.argv[1])).hold(1): os.kill(os.getpid(), signal.SIGSTOP)"
    )
    gate = claimed / ".musician" / "comms.db-gate"
    with subprocess.Popen([sys.executable, "-c", hold, str(gate)]) as holder:
        os.waitpid(holder.pid, os.WUNTRACED)
        (found,) = findings(call, "gate")
        refused = gate_fault(GateTimeout(path="x", timeout_s=1, holder=holder.pid), gate)
        holder.kill()
    assert f"`kill -KILL {holder.pid}`" in found["remedy"]
    assert refused.remedy == found["remedy"]


@pytest.mark.parametrize("name", ["comms.db", ".", "logs"])
def test_what_a_run_could_not_write_is_found(claimed: Path, call: Call, name: str) -> None:
    """AUDIT-S5: for the superuser, who writes it nevertheless, it is a warning."""
    (claimed / ".musician" / "logs").mkdir(exist_ok=True)
    path = (claimed / ".musician" / name).resolve()
    mode = path.stat().st_mode
    path.chmod(mode & ~0o222)
    try:
        (found,) = findings(call, "permissions")
    finally:
        path.chmod(mode)
    assert found["level"] == ("warn" if os.geteuid() == 0 else "fail")
    assert str(path) in found["found"]
    assert found["remedy"].startswith("chmod ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder away")
def test_a_folder_of_another_user_is_found(claimed: Path, call: Call) -> None:
    """AUDIT-S5."""
    os.chown(claimed / ".musician", 65534, -1)
    (found,) = findings(call, "permissions")
    assert found["level"] == "warn"
    assert "belongs to user 65534" in found["found"]


def test_a_folder_that_others_come_into_is_found(claimed: Path, call: Call) -> None:
    """AUDIT-S6."""
    (claimed / ".musician").chmod(0o755)
    (found,) = findings(call, "permissions")
    assert "hold its locks" in found["found"]
    call("init")
    (found,) = findings(call, "permissions")
    assert found["level"] == "ok"


@pytest.mark.parametrize(
    ("version", "level"),
    [("2.17.1", "fail"), ("2.25.0", "warn"), ("2.38.0", "ok"), ("3.0", "ok"), ("odd", "warn")],
)
def test_a_git_that_is_too_old_is_found(
    claimed: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch, version: str, level: str
) -> None:
    """AUDIT-S5."""
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text(
        f'#!/bin/sh\nfor word; do [ "$word" = --version ] && {{ echo "git version {version}"; exit; }}; done\n'
        f'exec {real} "$@"\n'
    )
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    (found,) = findings(call, "git")
    assert found["level"] == level


def test_the_readme_says_of_raw_sql_what_the_doctor_says(
    claimed: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-N10: with which SQLite one may write, and what the others may do."""
    old = tmp_path / "bin" / "sqlite3"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho '3.40.1 2022-12-28'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    (found,) = findings(call, "sqlite3")
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## With raw SQL")[2].partition("\n## ")[0]
    for words in ("3.51.3", "sqlite3 -readonly"):
        assert words in found["remedy"]
        assert words in section
