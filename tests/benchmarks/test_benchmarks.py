"""Every benchmark runs, in tiny sizes, and says what it measured. No time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from musician.testing.waiting import HANG_S
from tests.nightly import at_night

REPOSITORY = Path(__file__).parents[2]

EXPECTED = {
    "service": {"P1"},
    "wakeup": {"P3"},
    "scale": {"P5"},
    "gate": {"P7"},
    "task": {"P6"},
    "verification": {"aim"},
    "hooks": {"P4"},
    "startup": {"start"},
    "launch": set(),
    "foresight": set(),
    "fleet": set(),
    "urgent": {"D35"},
    "dashboard": {"page"},
    "mcp": set(),
}
"""The goals each benchmark says something about."""
QUICK = ("service", "gate")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


@pytest.mark.parametrize(
    "name",
    at_night(
        EXPECTED,
        but=[*QUICK, "task", "verification", "hooks", "urgent"],
        marks=lambda name: () if name in QUICK else (pytest.mark.deep,),
    ),
)
def test_a_benchmark_prints_a_table_and_writes_the_same_figures_as_json(name: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    ran = _run("--tiny", "--json", str(file), name)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(file.read_text(encoding="utf-8"))
    heading, *lines = ran.stdout.splitlines()
    assert heading.split() == ["what", "median", "ratio", "to", "goal", "met"]
    assert [line.split("  ")[0] for line in lines] == [figure["what"] for figure in figures]
    assert {figure["goal"] for figure in figures} - {""} == EXPECTED[name]
    for figure in figures:
        assert 0 <= figure["median"] < 1e9, figure  # a tiny run may cost too little CPU to be counted
        assert (figure["ratio"] is None) == (figure["against"] == ""), figure
        assert (figure["met"] is None) == (figure["goal"] == ""), figure


def test_an_unknown_benchmark_is_refused_with_the_names_of_those_there_are() -> None:
    ran = _run("nonsense")
    assert ran.returncode == 2
    assert all(name in ran.stderr for name in EXPECTED)
