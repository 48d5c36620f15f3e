"""The whole verification of a checkpoint: real git, real pytest, every stage."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from musician.processes.identity import ProcessIdentity
from musician.protocol.rules.readiness import Decision
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.verification.checkpoint import outcome_of, verify_checkpoint
from musician.verification.earlier import Earlier
from musician.verification.findings import Category, FailureKind, Stages
from musician.verification.result import VerificationResult

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop

PYTEST = f"'{sys.executable}' -m pytest -q -p no:cacheprovider"

CALC = "def add(a, b):\n    return a + b\n"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"
TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
TEST_SUB = "from calc import sub\n\n\ndef test_sub():\n    assert sub(3, 2) == 1\n"

Verify = Callable[..., VerificationResult]


@pytest.fixture
def verify(workshop: "Workshop") -> Verify:
    """Verify the workshop's tree against HEAD, or whatever ``earlier`` says."""
    workshop.before(
        {
            "calc.py": CALC,
            "app.py": "import calc\n",
            "test_add.py": TEST_ADD,
            ".gitignore": "coverage.xml\nlcov.info\n.coverage\n__pycache__\n",
        }
    )

    async def nobody(_: ProcessIdentity) -> None:
        pass

    def run(*commands: str, **options: Any) -> VerificationResult:
        given: dict[str, Any] = {
            "tree": workshop.tree,
            "tree_id": workshop.tree_id,
            "log": workshop.tree.parent / "verify.log",
            "env": {},
            "settings": Settings(),
            "checkpoint": 1,
            "final": False,
            "on_process": nobody,
            "earlier": Earlier(base=workshop.git.text("rev-parse", "HEAD")),
            **options,
        }
        result = anyio.run(partial(verify_checkpoint, commands, **given))
        assert VerificationResult.from_json(result.to_json()) == result
        return result

    return run


def stages(result: VerificationResult) -> Stages:
    assert result.stages is not None
    return result.stages


def test_good_work_is_ready_and_says_what_was_not_measured(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + SUB, "test_sub.py": TEST_SUB})
    result = verify(PYTEST)
    assert result.ready
    assert outcome_of(result) is Verification.GREEN
    assert result.to_mend() == ""
    assert result.tests_line() == (
        "All passing (2 tests); 1 new or changed test can fail; coverage of changed lines not measured"
        " (the tests leave no coverage report)"
    )
    found = stages(result)
    assert found.decision is Decision.REPORT_AND_SAY
    assert [(run.category, run.passed) for run in found.selection] == [(Category.OWN, True)]
    assert found.base == workshop.git.text("rev-parse", "HEAD")
    assert found.overhead_s > 0


@pytest.mark.parametrize(
    ("ini", "options", "runs"),
    [
        ("testpaths = tests", "", False),
        ("addopts = --ignore=apart", "", False),
        ("norecursedirs = apart", "", False),
        ("testpaths = tests", "apart tests", True),
        ("", "", True),
        ("", "tests", True),
    ],
)
def test_a_test_that_no_command_runs_is_named_and_is_no_new_test(
    workshop: "Workshop", verify: Verify, ini: str, options: str, *, runs: bool
) -> None:
    """It was counted as a new one that can fail, and never ran; the last is run beside the checkpoint's own."""
    workshop.before(
        {
            "calc.py": CALC,
            "test_add.py": "",
            "tests/test_add_too.py": TEST_ADD,
            "conftest.py": "",
            "pytest.ini": f"[pytest]\npythonpath = .\n{ini}\n",
        }
    )
    workshop.now(
        {
            "calc.py": CALC + SUB,
            "apart/test_sub.py": TEST_SUB,
            "tests/test_more.py": TEST_SUB.replace("test_sub", "test_more"),
        }
    )
    result = verify(f"{PYTEST} {options}", earlier=Earlier(base=workshop.git.text("rev-parse", "HEAD")))
    assert result.ready
    validity = stages(result).validity
    assert validity is not None
    assert (validity.examined, validity.left_out) == ((2, 0) if runs else (1, 1))
    said = "new or changed tests that no command runs: apart/test_sub.py"
    assert (said in result.tests_line()) is not runs


def test_with_enough_coverage_nothing_is_left_to_say(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + SUB, "test_sub.py": TEST_SUB})
    result = verify(
        f"'{sys.executable}' -m pytest -q -p pytest_cov --cov=. --cov-report=xml -p no:cacheprovider"
    )
    assert stages(result).decision is Decision.REPORT, result.tests_line()
    assert "coverage of changed lines 100 % (2 of 2)" in result.tests_line()


@pytest.mark.parametrize(
    ("hits", "decision", "ready"),
    [
        ([1, 1, 1, 1, 0, 0], Decision.IMPROVE_COVERAGE, False),
        ([1, 1, 1, 1, 1, 0], Decision.REPORT_AND_SAY, True),
        ([1, 1, 1, 1, 1, 1], Decision.REPORT, True),
    ],
)
def test_coverage_of_changed_lines_decides(
    workshop: "Workshop", verify: Verify, hits: list[int], decision: Decision, ready: bool
) -> None:
    added = "".join(f"x{n} = {n}\n" for n in range(len(hits)))
    workshop.now(
        {"calc.py": CALC + added, "test_sub.py": "from calc import x1\n\n\ndef test_x():\n    assert x1\n"}
    )
    lines = "".join(f"DA:{number},{hit}\\n" for number, hit in enumerate(hits, 3))
    report = f"printf 'SF:calc.py\\n{lines}end_of_record\\n' > lcov.info"
    result = verify(PYTEST, report)
    assert (stages(result).decision, result.ready) == (decision, ready), result.tests_line()
    if not ready:
        assert "not run: calc.py:7, calc.py:8" in result.to_mend()
        assert outcome_of(result) is Verification.RED


def test_a_fallen_coverage_is_explained(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + "x = 1\n"})
    report = "printf 'SF:calc.py\\nDA:1,1\\nDA:2,0\\nDA:3,1\\nend_of_record\\n' > lcov.info"
    base = workshop.git.text("rev-parse", "HEAD")
    fell = verify(PYTEST, report, earlier=Earlier(base=base, coverage_pct=72.0))
    assert stages(fell).decision is Decision.REPORT_AND_SAY
    assert "the project's coverage fell by 5.3 points" in fell.tests_line()
    held = verify(PYTEST, report, earlier=Earlier(base=base, coverage_pct=71.0))
    assert stages(held).decision is Decision.REPORT


def test_tests_that_prove_nothing_hold_the_checkpoint_back(workshop: "Workshop", verify: Verify) -> None:
    test = "from calc import add\n\n\ndef test_more():\n    assert add(0, 0) == 0\n"
    workshop.now({"calc.py": CALC + SUB, "test_more.py": test})
    result = verify(PYTEST)
    assert result.passed
    assert not result.ready
    assert stages(result).decision is Decision.IMPROVE_TESTS
    assert outcome_of(result) is Verification.RED
    assert not result.escalate
    assert "also pass on the code as it was: test_more.py::test_more" in result.to_mend()


def test_what_was_left_behind_is_to_be_cleaned_up(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + "\n\nbreakpoint_ = 1\n# TODO: sub\n", "old.js": "debugger\n"})
    result = verify(PYTEST)
    assert stages(result).decision is Decision.CLEAN_UP
    assert "calc.py:6 TODO # TODO: sub" in result.to_mend()
    assert "old.js:1 debugger" in result.tests_line()


def test_code_that_no_test_imports_must_still_compile(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"new.py": "def (\n", "calc.py": "import app\n" + CALC})
    result = verify(PYTEST)
    found = stages(result)
    assert found.decision is Decision.FIX
    assert found.integration is not None
    assert [each.split(":")[0] for each in found.integration.broken] == ["new.py"]
    assert found.integration.cycles == ("calc.py -> app.py -> calc.py",)
    assert "new import cycle: calc.py -> app.py -> calc.py" in result.to_mend()


def test_the_projects_own_interpreter_has_the_last_word(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"new.py": "def (\n"})
    newer = workshop.tree.parent / "newer-python"
    newer.write_text(f"#!/bin/sh\ncase $1 in -c) exit 0;; *) exec '{sys.executable}' \"$@\";; esac\n")
    newer.chmod(0o755)
    found = stages(verify(f"'{newer}' -m pytest -q -p no:cacheprovider"))
    assert found.integration is not None
    assert found.integration.broken == ()


def test_a_failure_ends_it_and_says_where_it_comes_from(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC.replace("a + b", "a - b")})
    result = verify(f"{PYTEST} test_add.py", "touch ../never")
    found = stages(result)
    assert (found.decision, outcome_of(result)) == (Decision.FIX, Verification.RED)
    assert (found.validity, found.coverage, found.scan, found.integration) == (None, None, None, None)
    assert found.failure is not None
    assert found.failure.kind is FailureKind.IMPLEMENTATION
    assert result.tests_line() == "1 of 1 failing: test_add::test_add"
    assert "likely cause: implementation (the code changed, its tests did not)" in result.to_mend()
    assert not (workshop.tree.parent / "never").exists()


def test_the_first_failing_category_ends_it(workshop: "Workshop", verify: Verify) -> None:
    workshop.now(
        {"calc.py": CALC + SUB, "test_sub.py": TEST_SUB.replace("== 1", "== 2"), "test_own.py": TEST_ADD}
    )
    result = verify(f"{PYTEST} test_own.py")
    assert [(run.category, run.passed) for run in stages(result).selection] == [(Category.CHANGED, False)]
    assert outcome_of(result) is Verification.RED


def test_what_others_left_unfinished_is_excused_and_named(workshop: "Workshop", verify: Verify) -> None:
    workshop.before({"test_app.py": "from app import calc\n\n\ndef test_later():\n    assert calc.later()\n"})
    workshop.now({"calc.py": CALC + SUB, "test_own.py": TEST_SUB})
    result = verify(f"{PYTEST} test_own.py", earlier=Earlier(base=workshop.git.text("rev-parse", "HEAD")))
    assert [(run.category, run.passed, run.excused) for run in stages(result).selection] == [
        (Category.CHANGED, True, False),
        (Category.AFFECTED, False, True),
        (Category.OWN, True, False),
    ]
    assert result.ready
    assert "failing as before: test_app.py" in result.tests_line()
    assert result.tests_line().startswith("Passing (2 tests);")


def test_what_failed_before_is_excused_beside_a_test_that_is_new(
    workshop: "Workshop", verify: Verify
) -> None:
    """AUDIT-V11: the old tree has no such file, and must not be asked for it."""
    workshop.before({"test_late.py": "import calc\n\n\ndef test_later():\n    assert calc.later()\n"})
    workshop.now({"calc.py": CALC + SUB, "test_own.py": TEST_SUB, "test_more.py": TEST_SUB})
    base = workshop.git.text("rev-parse", "HEAD")
    result = verify(f"{PYTEST} test_own.py", earlier=Earlier(base=base))
    excused = [run for run in stages(result).selection if run.excused]
    assert [run.category for run in excused] == [Category.CHANGED]
    assert "test_more.py" in excused[0].command
    assert result.ready
    workshop.now({"test_more.py": TEST_SUB.replace("== 1", "== 2")})
    assert not verify(f"{PYTEST} test_own.py", earlier=Earlier(base=base)).ready, "a new test has no before"


def test_what_worked_before_is_not_excused(workshop: "Workshop", verify: Verify) -> None:
    workshop.before(
        {"test_app.py": "from app import calc\n\n\ndef test_it():\n    assert calc.add(1, 1) == 2\n"}
    )
    workshop.now(
        {"calc.py": CALC.replace("a + b", "a * b"), "test_add.py": None, "test_own.py": "def test(): pass\n"}
    )
    result = verify(f"{PYTEST} test_own.py", earlier=Earlier(base=workshop.git.text("rev-parse", "HEAD")))
    assert [(run.category, run.passed, run.excused) for run in stages(result).selection] == [
        (Category.AFFECTED, False, False)
    ]
    assert not result.passed


def test_tests_that_failed_earlier_are_run_again(workshop: "Workshop", verify: Verify) -> None:
    workshop.now(
        {"other.py": "x = 1\n", "test_other.py": "import other\n\n\ndef test_x():\n    assert other.x\n"}
    )
    base = workshop.git.text("rev-parse", "HEAD")
    result = verify(
        f"{PYTEST} test_other.py", earlier=Earlier(base=base, failed_tests=("test_add::test_add",))
    )
    assert [run.category for run in stages(result).selection] == [Category.OWN, Category.FAILED]
    assert "All passing (2 tests)" in result.tests_line()


@pytest.mark.parametrize("base", [None, "0" * 39 + "1"])
def test_without_a_past_only_the_commands_are_run_and_that_is_said(
    workshop: "Workshop", verify: Verify, base: str | None
) -> None:
    workshop.now({"calc.py": CALC + "# TODO\n"})
    result = verify(PYTEST, earlier=Earlier(base=base))
    assert result.ready
    assert stages(result).decision is Decision.REPORT_AND_SAY
    assert "the change was not looked at" in result.tests_line()


def test_another_runner_is_judged_by_what_it_leaves(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + SUB, "test_sub.py": TEST_SUB})
    result = verify("true")
    assert result.ready
    assert stages(result).validity is not None
    assert "new tests not tested: not possible with this test runner" in result.tests_line()
    assert "tests of changed files cannot be told" in result.tests_line()


def test_what_cannot_be_run_goes_to_a_human(workshop: "Workshop", verify: Verify) -> None:
    for result in (verify(), verify("no-such-program-at-all")):
        assert outcome_of(result) is Verification.CANNOT_RUN
        assert stages(result).decision is Decision.ESCALATE
        assert result.tests_line().startswith("not run")


def test_a_log_that_cannot_be_written_cannot_run(workshop: "Workshop", verify: Verify) -> None:
    result = verify(PYTEST, log=workshop.tree / "calc.py" / "log")
    assert outcome_of(result) is Verification.CANNOT_RUN
    assert not result.ready


def test_a_flaky_test_that_settles_does_not_hide_what_is_to_be_cleaned_up(
    workshop: "Workshop", verify: Verify
) -> None:
    flaky = """\
        import pathlib

        def test_flaky():
            seen = pathlib.Path("../seen")
            known = seen.exists()
            seen.touch()
            assert known
    """
    workshop.now({"test_flaky.py": flaky, "calc.py": CALC + "# FIXME\n"})
    result = verify(PYTEST)
    assert result.flaky
    assert not result.escalate
    assert outcome_of(result) is Verification.RED
    assert "flaky: passed 3 of 3 re-runs" in result.tests_line()


def test_a_subagents_claim_is_held_against_what_ran(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + SUB, "test_sub.py": TEST_SUB})
    false = "All 5 tests passing\nFiles created: test_sub.py, sub.py"
    result = verify(PYTEST, claims={"agent 1": false, "agent 2": "test_sub passes, 2 passed"})
    mismatches = ("sub.py was claimed and is not there", "5 passing claimed, 2 found")
    assert [claim.mismatches for claim in stages(result).claims] == [mismatches, ()]
    assert "claimed otherwise: agent 1: 5 passing claimed, 2 found" in result.tests_line()


def test_a_test_that_only_a_subagent_told_of_is_run_again(workshop: "Workshop", verify: Verify) -> None:
    """The checkpoint names another file, and nothing that changed concerns it (D19)."""
    workshop.before({"test_far.py": "def test_far():\n    assert False\n"})
    workshop.now({"notes.txt": "far\n"})
    result = verify(f"{PYTEST} test_add.py", claims={"agent 1": "test_far passes"})
    last = stages(result).selection[-1]
    assert (last.category, last.passed, last.excused) == (Category.CLAIMED, False, True)
    assert "claimed otherwise: agent 1: test_far was claimed and fails" in result.tests_line()


def test_the_task_tree_is_left_as_it_was(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + SUB, "test_sub.py": TEST_SUB})
    before = {
        path: path.read_bytes()
        for path in workshop.tree.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    index = (workshop.tree / ".git" / "index").read_bytes()
    assert verify(PYTEST).ready
    after = {
        path: path.read_bytes()
        for path in workshop.tree.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    assert after == before
    assert (workshop.tree / ".git" / "index").read_bytes() == index


def test_a_project_in_a_folder_is_verified_as_one_at_the_top(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": None, "app.py": None, "test_add.py": None})
    workshop.before(
        {
            "sub/src/calc.py": CALC,
            "sub/tests/test_add.py": TEST_ADD,
            "sub/conftest.py": "",
            "test_of_others.py": "import calc\n",
        }
    )
    workshop.now({"sub/src/calc.py": CALC + SUB, "sub/tests/test_sub.py": TEST_SUB})
    command = (
        f"cd sub && PYTHONPATH=src {PYTEST} -p pytest_cov --cov=src --cov-config=/dev/null"
        " --cov-report xml tests/test_sub.py"
    )
    result = verify(command)
    assert result.ready
    assert result.tests_line() == (
        "All passing (2 tests); 1 new or changed test can fail; coverage of changed lines 100 % (2 of 2);"
        " tests of changed files: 1 file outside sub not run"
    )
    assert [(run.category, run.command) for run in stages(result).selection] == [
        (Category.CHANGED, command.replace("test_sub", "test_add")),
        (Category.OWN, command),
    ]


def test_what_tests_of_several_commands_covered_adds_up(workshop: "Workshop", verify: Verify) -> None:
    workshop.now({"calc.py": CALC + SUB, "test_sub.py": TEST_SUB})
    result = verify(f"{PYTEST} -p pytest_cov --cov=. --cov-report=xml test_add.py")
    assert [run.category for run in stages(result).selection] == [Category.CHANGED, Category.OWN]
    assert result.ready
    assert "coverage of changed lines 100 % (2 of 2)" in result.tests_line()


def test_lines_that_say_they_are_not_to_be_measured_are_named(workshop: "Workshop", verify: Verify) -> None:
    """AUDIT-V3: `# pragma: no cover` on what no test runs."""
    workshop.now({"calc.py": CALC + SUB.replace("b):", "b):  # pragma: no cover"), "test_sub.py": TEST_SUB})
    assert "left out of coverage by the change: calc.py:5" in verify(PYTEST).tests_line()
