"""The status line: one line of what is known, and nothing for everybody else."""

import json
import subprocess
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.plugin.installation import status_line_command
from musician.plugin.rendering import render, this_program
from musician.plugin.scopes import for_user
from musician.plugin.statusline import line_for
from musician.protocol.claim import Claim
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S

WINDOW = {
    "context_window_size": 200_000,
    "current_usage": {"input_tokens": 60_000, "cache_read_input_tokens": 24_000},
}


Show = Callable[..., str]


@pytest.fixture
def show(repository: Path) -> Show:
    def shown(session_id: object = "s1", **keys: Any) -> str:
        said = {"session_id": session_id, "cwd": str(repository), **keys}
        return line_for(BytesIO(json.dumps(said).encode()))

    return shown


def test_a_musician_is_told_in_one_line(show: Show, store: SqliteStore, claim: Claim) -> None:
    """CLI-22: task, state, unread messages and context."""
    assert show() == "task-03 working\n"
    assert show(context_window=WINDOW) == "task-03 working · context 42 %\n"
    service.send(store, "task-03", "mind the accents")
    service.send(store, "task-03", "and the umlauts", urgent=True)
    assert show(context_window=WINDOW) == "task-03 working · 2 unread · context 42 %\n"


def test_a_session_that_lost_its_task_is_told_so(show: Show, store: SqliteStore, claim: Claim) -> None:
    service.fence(store, "task-03", epoch=claim.epoch)
    assert show() == "task-03 working, no longer this session's\n"


@pytest.mark.parametrize("session_id", ["s2", "", None, "null", 7])
def test_nobody_else_is_told_anything(show: Show, claim: Claim, session_id: object) -> None:
    assert show(session_id) == ""


def test_what_the_client_cannot_mean_is_left_out(show: Show, claim: Claim, repository: Path) -> None:
    """B28: more tokens than the window holds are unknown, and a window that was set wins."""
    pegged = {"context_window_size": 200_000, "current_usage": {"input_tokens": 360_236}}
    without: list[object] = [{"context_window_size": None, "current_usage": {}}, {"current_usage": None}]
    for window in [pegged, {}, None, 7, *without]:
        assert show(context_window=window) == "task-03 working\n"
    (repository / ".musician" / "config.toml").write_text(
        "[context]\nwindow_tokens = 1000000\n", encoding="utf-8"
    )
    assert show(context_window=pegged) == "task-03 working · context 36 %\n"


def test_where_nothing_is_set_up_nothing_is_said_and_nothing_made(
    show: Show, repository: Path, tmp_path: Path
) -> None:
    before = sorted(repository.rglob("*"))
    assert show() == ""
    assert show(cwd=str(tmp_path)) == ""
    assert line_for(BytesIO(b"not json")) == ""
    assert sorted(repository.rglob("*")) == before


def test_the_line_as_the_client_runs_it_survives_a_broken_database(
    claim: Claim, home: Path, repository: Path
) -> None:
    """B09: through a shell, from paths that no shell would let pass."""
    place, program = for_user({"HOME": str(home)}), this_program()
    render(place, program)

    def run() -> tuple[str, str]:
        said = json.dumps({"session_id": "s1", "cwd": str(repository)})
        done = subprocess.run(
            ["sh", "-c", status_line_command(place, program)],
            input=said,
            capture_output=True,
            text=True,
            check=True,
            timeout=HANG_S,
        )
        return done.stdout, done.stderr

    assert run() == ("task-03 working\n", "")
    database = repository / ".musician" / "comms.db"
    for each in database.parent.glob("comms.db-*"):
        each.unlink()
    database.write_bytes(b"not a database, whatever its name says" * 200)
    out, err = run()
    assert out == ""
    assert err.startswith("musician statusline: ")
    assert "Traceback" not in err
