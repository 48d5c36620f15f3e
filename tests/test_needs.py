"""A machine with Python and git alone: the tests say what they left out, or fail where nothing may be (AUDIT-N17)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from musician.testing.waiting import HANG_S
from tests.needs import left_out

PROJECT = Path(__file__).parents[1]
AT_HAND = ("bash", "env", "git", "sh")
SOME = "tests/store/sqlite/test_guarded_claims.py::test_without_an_instruction_nobody_claims"


def run_some_tests(programs: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Tests of raw writers, in a process of their own whose only programs are in this folder."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", SOME],
        cwd=PROJECT,
        env={"PATH": str(programs), "HOME": str(programs), **env},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name in AT_HAND:
        found = shutil.which(name)
        assert found is not None
        os.symlink(found, tmp_path / name)
    return tmp_path


def test_a_run_says_what_it_left_out_and_what_to_install(programs: Path) -> None:
    """AUDIT-N17"""
    ran = run_some_tests(programs)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 left out without sqlite3 (apt-get install sqlite3)" in ran.stdout
    assert "1 passed, 1 skipped" in ran.stdout


def test_where_nothing_may_be_left_out_it_fails(programs: Path) -> None:
    """AUDIT-N17"""
    ran = run_some_tests(programs, MUSICIAN_TESTS="all")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "left out: needs sqlite3" in ran.stdout


def test_what_was_left_out_is_counted_by_what_is_missing() -> None:
    reasons = ["('a.py', 3, 'Skipped: left out: needs tmux')"] * 2 + [
        "('a.py', 3, 'Skipped: left out: needs the official inspector')",
        "('a.py', 3, 'Skipped: no such clock')",
    ]
    assert left_out(reasons) == [
        "1 left out without the official inspector (bash .ci/run installs it)",
        "2 left out without tmux (apt-get install tmux)",
    ]
