"""Coverage reports as tools leave them."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from musician.verification import reports
from musician.verification.reports import CoverageReport, fresh_report, report_stamps

COBERTURA = """\
<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage version="7.5" line-rate="0.5">
  <sources><source>{source}</source></sources>
  <packages><package name="pkg"><classes>
    <class name="a.py" filename="{name}"><methods/><lines>
      <line number="1" hits="3"/><line number="4" hits="0"/>
    </lines></class>
    <class name="gone.py" filename="gone.py"><lines><line number="1" hits="1"/></lines></class>
    <class name="out.py" filename="../out.py"><lines><line number="1" hits="1"/></lines></class>
  </classes></package></packages>
</coverage>
"""
LCOV = "TN:\nSF:{name}\nFN:1,main\nDA:1,3\nDA:4,0,abc\nend_of_record\nSF:{name}\nDA:4,2\nend_of_record\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree (é)"
    (made / "src" / "pkg").mkdir(parents=True)
    (made / "src" / "pkg" / "a.py").write_text("x = 1\n\n\ny = 2\n")
    (tmp_path / "out.py").write_text("")
    return made


def read(tree: Path) -> CoverageReport:
    found = anyio.run(fresh_report, tree, {})
    assert isinstance(found, CoverageReport), found
    return found


@pytest.mark.parametrize(
    ("source", "name"), [("{tree}/src", "pkg/a.py"), ("src", "pkg/a.py"), (".", "src/pkg/a.py")]
)
def test_cobertura_names_files_by_their_sources(tree: Path, source: str, name: str) -> None:
    (tree / "coverage.xml").write_text(COBERTURA.format(source=source.format(tree=tree), name=name))
    report = read(tree)
    assert report.source == "coverage.xml"
    assert report.hits == {"src/pkg/a.py": {1: 3, 4: 0}}
    assert report.total_pct == 50


@pytest.mark.parametrize("name", ["src/pkg/a.py", "{tree}/src/pkg/a.py"])
def test_lcov_adds_up_what_it_says_twice(tree: Path, name: str) -> None:
    (tree / "coverage").mkdir()
    (tree / "coverage" / "lcov.info").write_text(LCOV.format(name=name.format(tree=tree)))
    assert read(tree).hits == {"src/pkg/a.py": {1: 3, 4: 2}}
    assert read(tree).total_pct == 100


def test_data_of_coverage_py_is_read_by_a_process_of_its_own(tree: Path) -> None:
    (tree / "run.py").write_text("import sys\nif len(sys.argv) > 5:\n    print('never')\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    argv = [sys.executable, "-m", "coverage", "run", "--rcfile=/dev/null", "--data-file=.coverage", "run.py"]
    subprocess.run(argv, cwd=tree, env=env, check=True)
    before = (tree / ".coverage").read_bytes()
    report = read(tree)
    assert report.source == ".coverage"
    assert report.hits["run.py"] == {1: 1, 2: 1, 3: 0}
    assert (tree / ".coverage").read_bytes() == before
    assert not (tree / "coverage.xml").exists()


def test_without_the_extra_the_data_is_not_read_and_the_remedy_is_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / ".coverage").write_bytes(b"SQLite format 3")
    monkeypatch.setattr(reports, "find_spec", lambda name: None)
    found = anyio.run(fresh_report, tree, {})
    assert isinstance(found, str)
    assert "musician[checks]" in found


def test_an_old_report_is_no_report(tree: Path) -> None:
    assert anyio.run(fresh_report, tree, report_stamps(tree)) == "the tests leave no coverage report"
    file = tree / "coverage.xml"
    file.write_text(COBERTURA.format(source="src", name="pkg/a.py"))
    before = report_stamps(tree)
    assert anyio.run(fresh_report, tree, before) == "coverage.xml is older than this run"
    (tree / "new.xml").write_text(file.read_text())
    os.replace(tree / "new.xml", file)
    assert isinstance(anyio.run(fresh_report, tree, before), CoverageReport)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("coverage.xml", "<coverage><torn"),
        ("coverage.xml", "<c><class filename='a'><lines><line number='x'/></lines></class></c>"),
        ("lcov.info", "SF:a\nDA:x,y\n"),
        ("lcov.info", "SF:a\nDA:1\n"),
        (".coverage", "no database"),
    ],
)
def test_a_torn_report_says_that_it_cannot_be_read(tree: Path, name: str, text: str) -> None:
    (tree / name).write_text(text)
    found = anyio.run(fresh_report, tree, {})
    assert isinstance(found, str)
    assert found.startswith(f"{name} cannot be read")


def test_a_huge_report_is_not_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MAX_REPORT_BYTES", 10)
    (tree / "lcov.info").write_text(LCOV)
    assert anyio.run(fresh_report, tree, {}) == "lcov.info is too large"


def test_an_empty_report_has_no_total(tree: Path) -> None:
    (tree / "lcov.info").write_text("")
    assert read(tree).total_pct is None


def test_a_report_is_looked_for_where_the_command_ran_too(tree: Path) -> None:
    (tree / "src" / "coverage").mkdir()
    (tree / "src" / "coverage" / "lcov.info").write_text(LCOV.format(name="pkg/a.py"))
    assert anyio.run(fresh_report, tree, {}) == "the tests leave no coverage report"
    found = anyio.run(fresh_report, tree, report_stamps(tree), ("src",))
    assert isinstance(found, CoverageReport)
    assert (found.source, found.hits) == ("src/coverage/lcov.info", {"src/pkg/a.py": {1: 3, 4: 2}})
    before = report_stamps(tree, ("src",))
    assert anyio.run(fresh_report, tree, before, ("src",)) == "src/coverage/lcov.info is older than this run"


def test_reports_of_several_folders_are_put_together(tree: Path) -> None:
    (tree / "web").mkdir()
    (tree / "web" / "b.js").write_text("")
    (tree / "web" / "lcov.info").write_text(LCOV.format(name="b.js"))
    (tree / "coverage.xml").write_text(COBERTURA.format(source="src", name="pkg/a.py"))
    found = anyio.run(fresh_report, tree, {}, ("web",))
    assert isinstance(found, CoverageReport)
    assert found.source == "coverage.xml, web/lcov.info"
    assert found.hits == {"src/pkg/a.py": {1: 3, 4: 0}, "web/b.js": {1: 3, 4: 2}}
    (tree / "web" / "lcov.info").write_text("SF:b.js\nDA:x\n")
    torn = anyio.run(fresh_report, tree, {}, ("web",))
    assert isinstance(torn, str)
    assert torn.startswith("web/lcov.info cannot be read: ")


def test_data_that_was_written_in_parallel_is_combined(tmp_path: Path) -> None:
    """AUDIT-G9: ``parallel = true`` leaves .coverage.HOST.PID…, and the project's files stay."""
    (tmp_path / ".coveragerc").write_text("[run]\nparallel = true\nsource = .\n")
    (tmp_path / "one.py").write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    before = report_stamps(tmp_path)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    for value in (0, 1):
        code = f"import one\none.f({value})\n"
        (tmp_path / f"main{value}.py").write_text(code)
        subprocess.run(
            [sys.executable, "-m", "coverage", "run", f"main{value}.py"], cwd=tmp_path, check=True, env=clean
        )
    found = anyio.run(fresh_report, tmp_path, before)
    assert isinstance(found, CoverageReport), found
    assert set(found.hits["one.py"].values()) == {1}
    assert len(list(tmp_path.glob(".coverage.*"))) == 2
