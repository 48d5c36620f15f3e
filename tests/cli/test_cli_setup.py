"""``init`` and ``doctor``."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from musician.cli.doctor.machine import is_affected_sqlite
from musician.cli.init import network_warnings
from musician.config import load_settings
from musician.protocol.settings import Settings
from musician.store.sqlite.gate import Gate
from tests.surroundings import Call


def test_init_makes_everything_and_says_what_is_next(repository: Path, call: Call) -> None:
    done = call("init")
    assert str(repository / ".musician" / "comms.db") in done.out
    assert "musician run" in done.out
    for folder in (".musician", "temp", "docs/implementation/reports", "docs/implementation/proposals"):
        assert (repository / folder).is_dir()
    assert (repository / "docs/implementation/reports/README.md").is_file()
    assert load_settings(repository / ".musician" / "config.toml") == Settings()
    status = subprocess.run(
        ["git", "status", "--short"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert status.stdout == "?? docs/\n"


def test_init_asks_git_each_thing_once(
    repository: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two questions about where we are, one who else may write, one whether the project has a `temp`."""
    log, counting = tmp_path / "git.log", tmp_path / "bin" / "git"
    counting.parent.mkdir()
    counting.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    counting.chmod(0o755)
    monkeypatch.setenv("PATH", f"{counting.parent}{os.pathsep}{os.environ['PATH']}")
    call("init")
    assert len(log.read_text().splitlines()) == 4


def test_init_names_what_it_made(repository: Path, call: Call) -> None:
    """A number of things says nothing; what lies in a new folder needs no word of its own."""
    folders = ".musician/, temp/, docs/implementation/reports/, docs/implementation/proposals/"
    assert f"new:      {folders}\n" in call("init").out
    (repository / ".musician" / "comms.db").unlink()
    assert "new:      .musician/comms.db\n" in call("init").out
    assert "new:      nothing, everything existed\n" in call("init").out


def test_init_again_changes_nothing(repository: Path, call: Call) -> None:
    first = call("init", "--json").json
    config = repository / ".musician" / "config.toml"
    config.write_text("[heartbeat]\nstale_after_s = 600\n")
    again = call("init", "--json").json
    assert len(first.pop("created")) == 9
    assert again.pop("created") == []
    assert again == first
    assert config.read_text() == "[heartbeat]\nstale_after_s = 600\n"
    exclude = (repository / ".git" / "info" / "exclude").read_text()
    assert exclude.count("/.musician/") == 1


def test_init_works_through_a_temp_that_is_a_link(repository: Path, tmp_path: Path, call: Call) -> None:
    """B43."""
    (tmp_path / "elsewhere").mkdir()
    (repository / "temp").symlink_to(tmp_path / "elsewhere")
    call("init")
    assert (repository / "temp").is_symlink()


@pytest.mark.parametrize("make", ["file", "dangling"])
def test_init_takes_nothing_that_stands_in_its_place(repository: Path, call: Call, make: str) -> None:
    if make == "file":
        (repository / "temp").write_text("mine")
    else:
        (repository / "temp").symlink_to("nowhere")
    done = call("init", expect=2)
    assert "temp" in done.err
    assert "move it away" in done.err


def test_init_makes_a_named_database(repository: Path, call: Call, tmp_path: Path) -> None:
    path = tmp_path / "named.db"
    assert call("init", "--db", str(path), "--json").json["database"] == str(path)
    assert call("status", "--db", str(path), "--json").json["tasks"] == []


def test_a_network_file_system_is_warned_about(tmp_path: Path) -> None:
    """B35."""
    path = tmp_path / "comms.db"
    assert network_warnings(path, mounts=[("/", "ext4"), (str(tmp_path), "nfs4")])
    assert not network_warnings(path, mounts=[("/", "nfs4"), (str(tmp_path), "ext4")])


def levels(found: Any) -> dict[str, str]:
    return {finding["check"]: finding["level"] for finding in found["findings"]}


def test_doctor_finds_everything_well(ready: Path, call: Call) -> None:
    found = call("doctor", "--json").json
    assert found["ok"]
    good = levels(found)
    good.pop("sqlite3")
    assert set(good.values()) == {"ok"}
    assert set(good) == {
        "git",
        "sandbox",
        "repository",
        "settings",
        "tree",
        "preconditions",
        "trees",
        "permissions",
        "database",
        "gate",
        "contents",
        "disk",
        "clock",
        "agents",
        "plugin",
    }


def test_doctor_says_how_to_mend_a_missing_database(repository: Path, call: Call) -> None:
    done = call("doctor", expect=1)
    line = next(line for line in done.out.splitlines() if "database" in line and line.startswith("fail"))
    assert "musician init" in line


def test_doctor_outside_of_a_repository_says_so_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    assert levels(call("doctor", "--json", expect=1).json) == {"git": "ok", "repository": "fail"}


def test_doctor_looks_into_a_named_database_from_anywhere(
    ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    found = levels(call("doctor", "--db", str(ready / ".musician" / "comms.db"), "--json", expect=1).json)
    assert (found["repository"], found["database"]) == ("fail", "ok")


def test_doctor_finds_damage_inside_the_database(ready: Path, call: Call) -> None:
    path = ready / ".musician" / "comms.db"
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for page in range(2, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 512)
    found = call("doctor", "--json", expect=1).json
    assert levels(found)["database"] == "fail"


def test_doctor_warns_of_a_dirty_tree(ready: Path, call: Call) -> None:
    (ready / "PLAN.md").write_text("changed")
    found = call("doctor", "--json").json
    assert levels(found)["tree"] == "warn"


def test_doctor_fails_on_times_in_the_future(ready: Path, call: Call) -> None:
    import sqlite3

    with sqlite3.connect(ready / ".musician" / "comms.db") as connection:
        connection.execute(
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message, timestamp)"
            " VALUES ('task-01', 'x', 'note', 'x', datetime('now', '+1 day'))"
        )
    connection.close()
    found = call("doctor", "--json", expect=1).json
    assert levels(found)["clock"] == "fail"


@pytest.mark.parametrize(
    ("answer", "level"),
    [("3.51.3 2026-01-01", "ok"), ("3.40.1 2022-12-28", "warn"), ("", "warn"), (None, "ok")],
)
def test_doctor_knows_the_shells_that_can_corrupt_the_database(
    ready: Path,
    tmp_path: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    answer: str | None,
    level: str,
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "bash"):
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        (programs / name).symlink_to(found)
    if answer is not None:
        (programs / "sqlite3").write_text(f"#!/bin/sh\necho '{answer}'\n")
        (programs / "sqlite3").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert levels(call("doctor", "--json").json)["sqlite3"] == level


def test_doctor_misses_bash(ready: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    found = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    (programs / "git").symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    assert levels(call("doctor", "--json", expect=1).json)["agents"] == "fail"


@pytest.mark.parametrize(
    ("version", "affected"),
    [("3.6.23", False), ("3.7.0", True), ("3.51.2", True), ("3.51.3", False), ("4.0", False), ("odd", True)],
)
def test_the_affected_versions_are_those_with_the_wal_reset_bug(version: str, affected: bool) -> None:
    assert is_affected_sqlite(version) is affected


@pytest.mark.parametrize(
    ("shared", "others"), [(None, 0), ("false", 0), ("group", 0o2070), ("0660", 0o2070), ("all", 0o2070)]
)
def test_nobody_else_comes_into_our_folder_unless_git_shares_the_repository(
    repository: Path, call: Call, shared: str | None, others: int
) -> None:
    """AUDIT-S6: who can read a lock file can hold it."""
    if shared is not None:
        subprocess.run(["git", "config", "core.sharedRepository", shared], check=True)
    (repository / ".musician").mkdir(mode=0o755)
    call("init")
    mode = (repository / ".musician").stat().st_mode
    assert mode & 0o2070 == others
    assert mode & 0o002 == 0


def test_what_holds_the_database_is_told(ready: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """AUDIT-S6: on standard error; `status` does not even wait."""
    monkeypatch.setattr("musician.store.sqlite.gate.TOLD_AFTER_S", 0.05)
    (ready / ".musician" / "config.toml").write_text("[time]\nbusy_timeout_s = 0.5\n")
    with Gate(ready / ".musician" / "comms.db-gate").hold(1):
        assert call("status").err == ""
        said = call("send", "task-01", "hello", expect=None)
    assert f"waiting for the database, held by pid {os.getpid()}" in said.err
    assert said.code != 0
