"""The command in pipes, locales and on full disks (B36), and in places where nothing is as it should be."""

import errno
import os
import re
import signal
import sqlite3
import subprocess
from pathlib import Path

import click
import pytest

from musician.cli import faults
from musician.cli.faults import explain
from musician.protocol.errors import UnknownTask
from musician.testing import until
from musician.testing.waiting import HANG_S
from tests.surroundings import Call

C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def is_one_line(text: str) -> bool:
    return text.startswith("musician: ") and text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.parametrize("arguments", ["status", "plan check PLAN.md", "plan lock PLAN.md", "timeline"])
def test_non_ascii_text_and_paths_survive_the_c_locale(ready: Path, shell: Call, arguments: str) -> None:
    """B36."""
    names = " ".join(f"{name}={value}" for name, value in C_LOCALE.items())
    done = shell(f'env -i PATH="$PATH" HOME="$HOME" {names} $MUSICIAN {arguments}')
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_what_is_printed_in_the_c_locale_is_utf8(ready: Path, shell: Call) -> None:
    """B36."""
    assert "Add the greeting ✓" in shell("$MUSICIAN status", **C_LOCALE).out


def test_arguments_are_stored_as_utf8_in_the_c_locale(ready: Path, shell: Call, call: Call) -> None:
    """B36, B18."""
    assert shell("$MUSICIAN send 1 'Grüße ☂'", **C_LOCALE).code == 0
    assert call("messages", "1", "--json").json["messages"][-1]["message"] == "Grüße ☂"


def test_a_reader_that_goes_away_ends_the_command_quietly(ready: Path, command: tuple[str, ...]) -> None:
    """B36: 0 or 141, no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*command, "status"], stdout=writing, stderr=subprocess.PIPE, timeout=HANG_S, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_pipe_gets_no_escape_and_nothing_is_cut(ready: Path, shell: Call) -> None:
    """B36: whole at twenty columns, no colour though the environment asks for it."""
    text = shell("$MUSICIAN status | cat", COLUMNS="20", FORCE_COLOR="1", TERM="xterm-256color").out
    assert not re.search("\x1b|…|\\.\\.\\.", text)
    assert "task-01" in text
    assert "Add the greeting ✓" in text


def test_a_full_disk_is_told_in_one_line(ready: Path, shell: Call) -> None:
    """B36."""
    done = shell("$MUSICIAN status > /dev/full")
    assert done.code == 1
    assert is_one_line(done.err)
    assert "No space left" in done.err


def test_no_output_and_no_error_output_at_all_are_no_problem(ready: Path, shell: Call) -> None:
    assert shell("$MUSICIAN status >&- 2>&-").code == 0
    assert shell("$MUSICIAN status 9 >&- 2>&-").code == 3


def on_terminal(command: tuple[str, ...], *arguments: str, **env: str) -> str:
    """What a command writes to a terminal two hundred columns wide."""
    ours, theirs = os.openpty()
    surroundings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **env}
    done = subprocess.run([*command, *arguments], stdout=theirs, env=surroundings, timeout=HANG_S, check=True)
    os.close(theirs)
    assert done.returncode == 0
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal says that nobody writes to it any more
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    return b"".join(parts).decode()


def test_a_terminal_gets_a_table(ready: Path, command: tuple[str, ...]) -> None:
    text = on_terminal(command, "status")
    assert "\x1b[1m" in text
    assert "Add the greeting ✓" in text


def test_a_terminal_gets_ids_whole_however_narrow_it_is(ready: Path, command: tuple[str, ...]) -> None:
    text = on_terminal(command, "status", COLUMNS="20")
    assert "task-01" in text
    assert "task-02" in text


def test_no_color_is_honoured(ready: Path, command: tuple[str, ...]) -> None:
    text = on_terminal(command, "status", NO_COLOR="1")
    assert "task-01" in text
    assert not re.search(r"\x1b\[[0-9;]*[34][0-7]", text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_wait_with_130_and_without_a_word(
    claimed: Path, command: tuple[str, ...], bells: Path, number: signal.Signals
) -> None:
    """B32: and takes its bell down."""
    waiting = subprocess.Popen(
        [*command, "wait", "task-01"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(bells)},
    )
    until(lambda: any(bells.glob("*/*/*")))
    waiting.send_signal(number)
    out, err = waiting.communicate(timeout=HANG_S)
    assert (waiting.returncode, out, err) == (130, "", "")
    assert not list(bells.glob("*/*/*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("arguments", ["status --watch", "log -f task-01"])
def test_a_signal_ends_what_looks_on_with_130_and_without_a_complaint(
    claimed: Path, command: tuple[str, ...], bells: Path, arguments: str, number: signal.Signals
) -> None:
    """B32: and takes its bell down."""
    looking = subprocess.Popen(
        [*command, *arguments.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until(lambda: any(bells.glob("*/*/*")))
    looking.send_signal(number)
    _, err = looking.communicate(timeout=HANG_S)
    assert (looking.returncode, err) == (130, "")
    assert not list(bells.glob("*/*/*"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nonsense"], 2),
        (["status", "--nonsense"], 2),
        (["send", "task-01"], 2),
        (["step", "task-01", "begin", "1"], 2),
        (["step", "task-01", "start", "0", "--session", "s"], 2),
        (["status", "--watch", "--json"], 2),
        (["status", "task-99"], 3),
        (["history", "task-99"], 3),
        (["messages", "task-99"], 3),
        (["send", "task-99", "hello"], 3),
        (["stop", "task-99"], 3),
        (["handoff", "task-99"], 3),
        (["review", "show", "task-99"], 3),
        (["review", "approve", "task-99"], 3),
        (["claim", "task-99", "--session", "s"], 3),
        (["inbox", "task-99", "--session", "s"], 3),
        (["plan", "amend", "OTHER.md"], 3),
        (["review", "approve", "task-01"], 4),
        (["stop", "task-01"], 4),
        (["heartbeat", "task-01", "--session", "s"], 4),
        (["claim", "task-01"], 2),
        (["claim", "task-01", "--session", "null"], 2),
        (["deviation", "task-01", "Grave", "text", "--session", "s"], 2),
    ],
)
def test_a_refusal_is_one_line_and_the_right_exit_code(
    ready: Path, call: Call, arguments: list[str], code: int
) -> None:
    (ready / "OTHER.md").write_text((ready / "PLAN.md").read_text().replace("greeter", "other"))
    done = call(*arguments, expect=code)
    assert is_one_line(done.err)
    assert done.out == ""


def test_help_is_help(call: Call) -> None:
    assert "claim" in call().out
    assert "claim" in call("--help").out
    assert "--urgent" in call("send", "-h").out
    assert call("--version").out.startswith("musician, version ")


def test_outside_of_a_repository_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("status", expect=2)
    assert is_one_line(done.err)
    assert "git" in done.err


def test_without_a_database_nothing_is_made(repository: Path, call: Call) -> None:
    """D25, B35."""
    assert "musician init" in call("status", expect=2).err
    assert not (repository / ".musician").exists()


@pytest.mark.parametrize("how", ["option", "variable", "before"])
def test_a_wrong_database_path_is_an_error_and_never_a_new_file(
    ready: Path, call: Call, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """D25, B35."""
    if how == "variable":
        monkeypatch.setenv("MUSICIAN_DB", "wrong.db")
    arguments = {"option": ["status", "--db", "wrong.db"], "before": ["--db", "wrong.db", "status"]}
    done = call(*arguments.get(how, ["status"]), expect=2)
    assert "wrong.db" in done.err
    assert not (ready / "wrong.db").exists()


def test_a_command_s_own_database_wins_over_the_one_before_it(ready: Path, call: Call) -> None:
    path = str(ready / ".musician" / "comms.db")
    assert call("--db", "wrong.db", "status", "--db", path, "--json").json["database"] == path


def test_a_database_url_is_refused_without_repeating_its_password(ready: Path, call: Call) -> None:
    done = call("status", "--db", "postgresql://ada:secret@host/x", expect=2)
    assert is_one_line(done.err)
    assert "secret" not in done.err


def test_a_named_database_can_be_read_from_anywhere(
    ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    """DATA-10."""
    monkeypatch.chdir(tmp_path)
    path = ready / ".musician" / "comms.db"
    for name in (str(path), f"sqlite:///{path}"):
        assert len(call("status", "--db", name, "--json").json["tasks"]) == 2


def test_one_database_from_every_place_in_the_repository(
    ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    """B35: the main tree, a subfolder, a symlink, a linked worktree; its path is shown."""
    (ready / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(ready)
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "linked")], cwd=ready, check=True)
    seen = set()
    for place in (ready, ready / "sub" / "deep", tmp_path / "link", tmp_path / "linked"):
        monkeypatch.chdir(place)
        seen.add(call("status").out.splitlines()[0])
    assert seen == {f"database: {ready / '.musician' / 'comms.db'}"}


def test_a_file_that_is_no_database_is_told_in_one_line(ready: Path, call: Call) -> None:
    (ready / "noise.db").write_bytes(os.urandom(8192))
    assert is_one_line(call("status", "--db", "noise.db", expect=2).err)


def test_somebody_else_s_database_is_left_alone(ready: Path, call: Call) -> None:
    other = ready / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    before = other.read_bytes()
    assert "not Musician's" in call("status", "--db", "other.db", expect=2).err
    assert "not Musician's" in call("init", "--db", "other.db", expect=2).err
    assert other.read_bytes() == before


def test_wrong_settings_are_told_with_their_name(ready: Path, call: Call) -> None:
    (ready / ".musician" / "config.toml").write_text("[heartbeat]\nstale_after_s = 1\n")
    done = call("status", expect=2)
    assert is_one_line(done.err)
    assert "heartbeat" in done.err


def test_an_unexpected_error_is_one_line_and_the_traceback_is_for_who_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert explain(RuntimeError("two\nlines")) == 70
    said = capsys.readouterr().err
    assert is_one_line(said)
    assert "RuntimeError: two lines" in said
    monkeypatch.setenv("MUSICIAN_DEBUG", "1")
    assert explain(RuntimeError("again")) == 70
    assert "RuntimeError: again\nmusician: internal error" in capsys.readouterr().err


def test_a_path_that_cannot_be_used_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(PermissionError(errno.EACCES, "Permission denied", "/there")) == 1
    assert (
        capsys.readouterr().err == "musician: /there: Permission denied: check the path and its permissions\n"
    )


def test_one_error_out_of_a_task_group_is_told_as_itself(capsys: pytest.CaptureFixture[str]) -> None:
    inner = ExceptionGroup("tasks", [ValueError("other"), UnknownTask(task_id="task-9")])
    assert explain(ExceptionGroup("tasks", [inner])) == 3
    assert is_one_line(capsys.readouterr().err)


def test_click_s_own_ways_out_keep_their_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(click.exceptions.Exit(7)) == 7
    assert explain(click.Abort()) == 130
    assert explain(click.FileError("x", "gone")) == 1
    assert is_one_line(capsys.readouterr().err)


def test_a_ctrl_c_while_a_class_is_made_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """While commands are imported; Python 3.11 wraps what comes out of ``__set_name__``."""

    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    with pytest.raises(BaseException) as caught:  # noqa: PT011  # a RuntimeError, or from 3.12 on the Ctrl-C itself
        type("Made", (), {"it": Interrupted()})
    assert explain(caught.value) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.EIO, "the output cannot be written"), (errno.EINVAL, "the system refused something")],
)
def test_only_what_a_write_fails_with_is_laid_on_the_output(
    number: int, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_forget_output", lambda: None)  # the test's own output goes on
    assert faults.explain(OSError(number, "so it is")) == faults.FAILED
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"musician: {told} (so it is): ")
