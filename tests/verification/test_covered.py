"""Coverage of changed lines, from real changes."""

from typing import TYPE_CHECKING

import anyio

from musician.verification.covered import changed_coverage
from musician.verification.findings import ChangedCoverage
from musician.verification.reports import fresh_report

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop


def lcov(**files: str) -> str:
    """``a="1:3 2:0"`` is a.py whose line 1 was hit three times and line 2 never."""
    records = (
        f"SF:{name}.py\n"
        + "".join(f"DA:{hit.replace(':', ',')}\n" for hit in hits.split())
        + "end_of_record\n"
        for name, hits in files.items()
    )
    return "".join(records)


def measure(workshop: "Workshop", baseline_pct: float | None = None) -> ChangedCoverage:
    report = anyio.run(fresh_report, workshop.tree, {})
    return changed_coverage(workshop.change(), report, baseline_pct=baseline_pct)


def test_only_changed_lines_count_and_the_missed_are_named(workshop: "Workshop") -> None:
    workshop.before({"a.py": "1\n2\n3\n4\n", ".gitignore": "lcov.info\n"})
    workshop.now({"a.py": "1\nTWO\nTHREE\n# said\n4\nFIVE\n", "lcov.info": lcov(a="1:0 2:1 3:0 5:0 6:2")})
    found = measure(workshop, 50.0)
    assert found == ChangedCoverage(
        lines=3,
        covered=2,
        source="lcov.info",
        total_pct=40.0,
        baseline_pct=50.0,
        missed=("a.py:3",),
    )
    assert found.pct is not None
    assert round(found.pct, 1) == 66.7
    assert found.drop_pct == 10
    assert found.line() == "coverage of changed lines 67 % (2 of 3)"


def test_tests_do_not_cover_themselves_and_unknown_code_is_named(workshop: "Workshop") -> None:
    workshop.before({".gitignore": "lcov.info\n"})
    workshop.now(
        {
            "a.py": "1\n",
            "b.py": "1\n",
            "c.rs": "1\n",
            "empty.py": "",
            "tests/test_a.py": "1\n",
            "lcov.info": lcov(a="1:1") + "SF:tests/test_a.py\nDA:1,0\nend_of_record\n",
        }
    )
    found = measure(workshop)
    assert (found.lines, found.covered, found.absent) == (1, 1, ("b.py",))
    assert found.drop_pct == 0
    assert found.line() == "coverage of changed lines 100 % (1 of 1); not in the report: b.py"


def test_what_is_not_measured_is_said(workshop: "Workshop") -> None:
    workshop.before({".gitignore": "lcov.info\n"})
    workshop.now({"a.py": "# 1\n"})
    found = measure(workshop)
    assert found.pct is None
    assert found.line() == "coverage of changed lines not measured (the tests leave no coverage report)"
    workshop.now({"lcov.info": lcov(a="2:1")})
    assert measure(workshop).why_not == "no changed line is in the report"
    assert measure(workshop).pct is None
