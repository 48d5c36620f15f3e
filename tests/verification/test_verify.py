"""Verification with real commands, real pytest and real unittest."""

import os
import sys
from functools import partial
from pathlib import Path

import anyio
import pytest

from musician.processes.identity import ProcessIdentity
from musician.testing.waiting import HANG_S
from musician.verification.commands import MAX_TAIL_BYTES
from musician.verification.result import TestCounts, VerificationResult
from musician.verification.run import verify

PYTEST = f"'{sys.executable}' -m pytest -q -p no:cacheprovider"
UNITTEST = f"'{sys.executable}' -m unittest"
RUN_NOTE = "echo run >> ../runs"

GREEN = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"
RED = "def test_one():\n    pass\n\n\ndef test_two():\n    assert False\n"


class Bench:
    """A tree, a log beside it, and the processes that were announced."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "my tree (é) $x"
        self.tree.mkdir()
        self.log = folder / "logs" / "verify.log"
        self.runs_path = folder / "runs"
        self.announced: list[ProcessIdentity] = []

    @property
    def runs(self) -> int:
        """How often RUN_NOTE was executed."""
        return len(self.runs_path.read_text().split()) if self.runs_path.exists() else 0

    def verify(
        self, *commands: str, time_limit_s: float = HANG_S, env: dict[str, str] | None = None
    ) -> VerificationResult:
        async def announce(identity: ProcessIdentity) -> None:
            self.announced.append(identity)

        return anyio.run(
            partial(
                verify,
                commands,
                tree=self.tree,
                tree_id="tree-1",
                log=self.log,
                env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})},
                time_limit_s=time_limit_s,
                checkpoint=2,
                full=True,
                on_process=announce,
            )
        )


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return Bench(tmp_path)


def test_green_pytest_is_counted_and_leaves_the_tree_as_it_was(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(GREEN)
    result = bench.verify(PYTEST)
    assert result.passed
    assert result.tests_line() == "All passing (2 tests)"
    assert (result.tree_id, result.checkpoint, result.full, result.note) == ("tree-1", 2, True, "")
    assert [path.name for path in bench.tree.iterdir()] == ["test_it.py"]
    assert "2 passed" in bench.log.read_text()
    assert "2 passed" in result.commands[0].tail
    assert len(bench.announced) == 1


def test_red_pytest_names_what_fails_and_is_run_again_three_times(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(RED)
    result = bench.verify(f"{RUN_NOTE}; {PYTEST}", "touch never")
    assert not result.passed
    assert result.tests_line() == "1 of 2 failing: test_it::test_two"
    assert "3 of 3 re-runs" in result.note
    assert not result.flaky
    assert bench.runs == 4
    assert len(bench.announced) == 4
    assert len(result.commands) == 1
    assert not (bench.tree / "never").exists()


def test_a_collection_error_is_red(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text("import nothing_of_that_name\n")
    result = bench.verify(PYTEST)
    assert not result.passed
    assert result.tests_line() == "1 of 1 failing: test_it"


def test_a_failure_that_the_exit_code_hides_is_red(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(RED)
    result = bench.verify(f"{PYTEST} || true")
    assert not result.passed
    assert result.tests_line() == "1 of 2 failing: test_it::test_two, but the exit code is 0"


@pytest.mark.parametrize("command", [PYTEST, f"{PYTEST} || true", f"{UNITTEST} discover"])
def test_no_tests_ran_is_not_green(bench: Bench, command: str) -> None:
    result = bench.verify(f"{RUN_NOTE}; {command}")
    assert not result.passed
    assert result.tests_line().startswith("no tests ran")
    assert result.note == result.tests_line()
    assert bench.runs == 1


def test_the_users_own_pytest_options_stay(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(GREEN)
    result = bench.verify(PYTEST, env={"PYTEST_ADDOPTS": "-k 'test_one or nothing'"})
    assert result.tests_line() == "All passing (1 test)"


@pytest.mark.parametrize("where", ["pytest.ini", "command"])
def test_the_projects_own_report_stays_as_configured_and_ours_is_written_too(
    bench: Bench, where: str
) -> None:
    """AUDIT-G2"""
    (bench.tree / "test_it.py").write_text(GREEN)
    if where == "pytest.ini":
        (bench.tree / "pytest.ini").write_text("[pytest]\naddopts = --junitxml=own.xml\n")
    result = bench.verify(PYTEST if where == "pytest.ini" else f"{PYTEST} --junitxml=own.xml")
    assert result.tests_line() == "All passing (2 tests)"
    assert "test_two" in (bench.tree / "own.xml").read_text()


@pytest.mark.parametrize("command", [PYTEST, UNITTEST, f"{PYTEST} || true; true", f'sh -c "{UNITTEST}"'])
def test_a_runner_that_ends_without_its_report_is_not_green(bench: Bench, command: str) -> None:
    """AUDIT-V3: exit code 0 by ``os._exit`` at import, whatever was printed before."""
    (bench.tree / "test_it.py").write_text(
        "import os, sys\nprint('Ran 5 tests in 0.001s\\n\\nOK', file=sys.stderr, flush=True)\n"
        "print('5 passed in 0.01s', flush=True)\nos._exit(0)\n"
    )
    result = bench.verify(command)
    assert not result.passed
    assert "ended without its report" in result.tests_line()


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_what_only_has_the_runners_name_is_not_green(bench: Bench, runner: str) -> None:
    """AUDIT-V3: a folder that shadows the runner prints what it likes."""
    (bench.tree / runner).mkdir()
    (bench.tree / runner / "__init__.py").touch()
    (bench.tree / runner / "__main__.py").write_text(
        "print('2 passed in 0.01s')\nprint('Ran 2 tests in 1s\\n\\nOK')\n"
    )
    result = bench.verify(f"'{sys.executable}' -m {runner}")
    assert not result.passed
    assert "ended without its report" in result.tests_line()


def test_a_runner_that_cannot_be_followed_is_read_from_what_it_prints(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(GREEN)
    followed = bench.verify(f"PYTHONPATH=lib {PYTEST}")
    assert followed.tests_line() == "All passing (2 tests)"
    alone = bench.verify(PYTEST.replace(" -m ", " -I -m "))
    assert alone.tests_line() == "All passing (2 tests)"


def test_runs_within_tests_and_their_children_are_no_runs_of_the_project(bench: Bench) -> None:
    (bench.tree / "inner.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): self.fail()\n"
    )
    (bench.tree / "test_it.py").write_text(
        "import inner, subprocess, sys, unittest, pytest\n"
        "def test_in_process(tmp_path):\n"
        "    tests = unittest.defaultTestLoader.loadTestsFromModule(inner)\n"
        "    assert not unittest.TextTestRunner().run(tests).wasSuccessful()\n"
        "    (tmp_path / 'test_bad.py').write_text('def test_bad(): assert 0')\n"
        "    assert pytest.main([str(tmp_path)]) == 1\n"
        "def test_in_a_child(tmp_path):\n"
        "    assert subprocess.run([sys.executable, '-m', 'unittest', 'inner']).returncode == 1\n"
    )
    assert bench.verify(PYTEST).tests_line() == "All passing (2 tests)"


def test_a_sitecustomize_of_the_projects_own_is_run_as_well(bench: Bench) -> None:
    (bench.tree / "lib").mkdir()
    (bench.tree / "lib" / "sitecustomize.py").write_text("import builtins\nbuiltins.OWN = 1\n")
    (bench.tree / "test_it.py").write_text("def test_it():\n    assert OWN\n")
    result = bench.verify(f"PYTHONPATH=lib {PYTEST}", PYTEST, env={"PYTHONPATH": str(bench.tree / "lib")})
    assert result.tests_line() == "All passing (2 tests)"


def test_real_unittest_is_counted(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(
        "import unittest\n\n\nclass T(unittest.TestCase):\n"
        "    def test_good(self):\n        pass\n\n"
        "    @unittest.expectedFailure\n    def test_expected(self):\n        self.fail()\n\n"
        "    @unittest.skip('later')\n    def test_later(self):\n        pass\n"
    )
    result = bench.verify(UNITTEST)
    assert result.passed
    assert result.commands[0].counts == TestCounts(total=3, failed=0, skipped=1)


def test_real_unittest_names_what_fails(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text(
        "import unittest\n\n\nclass T(unittest.TestCase):\n"
        "    def test_bad(self):\n        self.fail()\n\n    def test_good(self):\n        pass\n"
    )
    result = bench.verify(UNITTEST)
    assert not result.passed
    assert result.tests_line().startswith("1 of 2 failing: ")
    assert "test_bad" in result.tests_line()


def test_commands_run_in_order_until_the_first_that_is_not_green(bench: Bench) -> None:
    result = bench.verify("echo one >> order", "echo two >> order; false", "echo three >> order")
    assert [item.exit_code for item in result.commands] == [0, 1]
    assert (bench.tree / "order").read_text().split() == ["one", "two", "two", "two", "two"]
    assert result.tests_line() == "exit code 1 from `echo two >> order; false`"


def test_no_command_is_never_green(bench: Bench) -> None:
    result = bench.verify()
    assert not result.passed
    assert result.note == "cannot run: no test command"
    assert result.tests_line() == "not run: no test command"


@pytest.mark.parametrize(
    ("command", "what"), [("no-such-program-here", "not found"), ("./plain.txt", "not executable")]
)
def test_a_command_that_cannot_be_run_is_never_green_and_not_tried_again(
    bench: Bench, command: str, what: str
) -> None:
    (bench.tree / "plain.txt").write_text("no program")
    result = bench.verify(command)
    assert not result.passed
    assert result.note == f"cannot run: command {what} in `{command}`"
    assert result.tests_line() == f"not run: command {what} in `{command}`"
    assert len(bench.announced) == 1


def test_a_log_that_cannot_be_written_is_never_green(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bench.log = tmp_path / "file" / "verify.log"
    result = bench.verify("true")
    assert not result.passed
    assert result.note.startswith("cannot run: ")


def test_a_tree_that_is_gone_is_never_green(bench: Bench) -> None:
    bench.tree.rmdir()
    result = bench.verify("true")
    assert not result.passed
    assert "cannot run" in result.note


def test_out_of_time_is_red_and_not_tried_again(bench: Bench) -> None:
    for time_limit_s in (
        1,
        5,
        25,
        HANG_S / 2,
    ):  # the shortest within which it begins on this machine as it is now
        runs = bench.runs
        result = bench.verify(f"{RUN_NOTE}; echo begun; sleep 300", time_limit_s=time_limit_s)
        assert bench.runs - runs <= 1
        if "begun" in result.commands[0].tail:
            break
    assert not result.passed
    assert result.commands[0].timed_out
    assert result.tests_line().startswith("timed out after ")
    assert "begun" in result.commands[0].tail


def test_a_failure_that_does_not_repeat_is_flaky_reported_and_the_rest_is_run(bench: Bench) -> None:
    once = "test -e ../seen || { touch ../seen; exit 9; }"
    result = bench.verify(f"{RUN_NOTE}; {once}", "touch after")
    assert result.passed
    assert result.flaky
    assert not result.escalate
    assert "flaky: passed 3 of 3 re-runs after exit code 9" in result.note
    assert result.tests_line().startswith("All passing (exit code 0 from 2 commands); flaky: ")
    assert bench.runs == 4
    assert (bench.tree / "after").exists()


def test_a_failure_that_repeats_now_and_then_is_escalated(bench: Bench) -> None:
    every_other = "test $(( $(wc -l < ../runs) % 2 )) = 0"
    result = bench.verify(f"{RUN_NOTE}; {every_other}", "touch never")
    assert not result.passed
    assert result.escalate
    assert "flaky: passed 1 of 2 re-runs, escalate" in result.tests_line()
    assert bench.runs == 3
    assert not (bench.tree / "never").exists()


def test_output_is_bounded_printable_and_whole_in_the_log(bench: Bench) -> None:
    result = bench.verify("yes line | head -n 20000; printf 'end\\x1b[31m\\xff\\x00'")
    (only,) = result.commands
    assert result.passed
    assert len(only.tail) <= MAX_TAIL_BYTES
    assert only.tail.endswith("end␛[31m�␀")
    assert bench.log.read_bytes().count(b"line\n") == 20000


def test_an_edit_within_the_same_second_is_not_hidden_by_byte_code(bench: Bench) -> None:
    (bench.tree / "test_it.py").write_text("import it\n\n\ndef test_it():\n    assert it.value == 2\n")
    (bench.tree / "it.py").write_text("value = 1\n")
    assert not bench.verify(PYTEST).passed
    stamp = (bench.tree / "it.py").stat()
    (bench.tree / "it.py").write_text("value = 2\n")
    os.utime(bench.tree / "it.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert bench.verify(PYTEST).passed
