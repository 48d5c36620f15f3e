"""Testing the tests, with real runs of pytest and unittest on the code as it was."""

import os
import shutil
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from musician.processes.identity import ProcessIdentity
from musician.protocol.rules.readiness import StageOutcome
from musician.testing.waiting import HANG_S
from musician.verification import commands, validity
from musician.verification.commands import command_runner
from musician.verification.findings import Validity
from musician.verification.testcode import changed_tests
from musician.verification.validity import try_the_tests

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop

PYTEST = f"'{sys.executable}' -m pytest -q -p no:cacheprovider"
UNITTEST = f"'{sys.executable}' -m unittest -q"

CODE_BEFORE = "def greet():\n    return 'hello'\n"
CODE_NOW = "def greet():\n    return 'hello, world'\n\n\ndef part():\n    return 'bye'\n"


async def _try(
    workshop: "Workshop", commands: tuple[str, ...], env: dict[str, str], limit_s: float
) -> Validity:
    async def nobody(_: ProcessIdentity) -> None:
        pass

    with command_runner(
        tree=workshop.tree,
        log=workshop.tree.parent / "log",
        env=env,
        time_limit_s=HANG_S,
        on_process=nobody,
    ) as runner:
        return await try_the_tests(workshop.change(), commands, runner=runner, time_limit_s=limit_s)


def try_them(
    workshop: "Workshop", *commands: str, env: dict[str, str] | None = None, limit_s: float = 60
) -> Validity:
    return anyio.run(partial(_try, workshop, commands, env or {}, limit_s))


def test_a_test_that_passes_on_the_code_as_it_was_is_named(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE, "tests/test_old.py": "def test_old():\n    pass\n"})
    workshop.now(
        {
            "greet.py": CODE_NOW,
            "tests/test_greet.py": """\
                import pytest
                import greet

                def test_greets_the_world():
                    assert greet.greet() == "hello, world"

                def test_greets():
                    assert greet.greet().startswith("hello")

                def test_parts():
                    assert greet.part() == "bye"

                @pytest.mark.parametrize("text", ["hello", "world"])
                def test_says(text):
                    assert text in greet.greet()

                class TestThings:
                    def test_length(self):
                        assert len(greet.greet()) > 2
            """,
        }
    )
    before = sorted(os.listdir(workshop.tree))
    found = try_them(workshop, "make lint", f"{PYTEST} -x tests/test_old.py")
    assert found == Validity(
        examined=5,
        cannot_fail=("tests/test_greet.py::test_greets", "tests/test_greet.py::TestThings::test_length"),
    )
    assert found.check(1) is StageOutcome.GOOD
    assert found.check(100) is StageOutcome.BAD
    assert sorted(os.listdir(workshop.tree)) == before
    assert workshop.git.text("worktree", "list").count("\n") == 0


def test_a_test_that_cannot_even_be_imported_there_can_fail(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now(
        {
            "new.py": "x = 1\n",
            "test_new.py": "import new\n\n\ndef test_x():\n    assert new.x == 1\n",
            "test_too.py": "def test_y():\n    assert len('ab') == 2\n",
        }
    )
    assert try_them(workshop, PYTEST) == Validity(examined=2, cannot_fail=("test_too.py::test_y",))


def test_unittest_is_tried_by_its_verbose_lines(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE, "tests/__init__.py": ""})
    workshop.now(
        {
            "greet.py": CODE_NOW,
            "tests/test_greet.py": '''\
                import unittest
                import greet

                class Greets(unittest.TestCase):
                    def test_world(self):
                        self.assertIn("world", greet.greet())

                    def test_hello(self):
                        """What it always did."""
                        self.assertIn("hello", greet.greet())
            ''',
            "tests/test_broken.py": """\
                import unittest
                from greet import part

                class Parts(unittest.TestCase):
                    def test_part(self):
                        self.assertEqual(part(), "bye")
            """,
        }
    )
    expected = Validity(examined=3, cannot_fail=("tests/test_greet.py::Greets::test_hello",))
    assert try_them(workshop, f"{UNITTEST} tests.test_greet") == expected
    assert try_them(workshop, f"{UNITTEST} discover -s tests -t .") == expected


def test_only_tests_whose_code_differs_are_looked_at(workshop: "Workshop") -> None:
    before = textwrap.dedent("""\
        import x

        class TestA:
            def test_a(self):
                assert  x.y

            def test_b(self):
                assert x.z

        def helper():
            return 1

        def test_c():
            assert helper()
    """)
    workshop.before({"test_it.py": before})
    now = (
        before.replace("assert  x.y", "assert x.y  # same")
        .replace("x.z", "x.zz")
        .replace("return 1", "return 2")
    )
    workshop.now(
        {"test_it.py": now + "\n\nasync def test_d():\n    assert x\n", "test_torn.py": "def test_e(:"}
    )
    found = changed_tests(workshop.git, workshop.change())
    assert [str(each) for each in found] == ["test_it.py::TestA::test_b", "test_it.py::test_d"]


@pytest.mark.parametrize(
    ("body", "trivial"),
    [
        ("assert True", True),
        ("assert 1 == 1", True),
        ("pass", True),
        ('"""says"""', True),
        ("x = 1\n    assert 'a'", True),
        ("result = run()\n    assert True", True),
        ("self.assertTrue(True)", True),
        ("self.assertEqual(1, 1)", True),
        ("run()", False),
        ("assert run()", False),
        ("assert True\n    assert x", False),
        ("self.assertEqual(run(), 1)", False),
        ("with pytest.raises(ValueError):\n        run()", False),
        ("check_it(1 + x)", False),
        ("self.fail()", False),
        ("raise KeyError", False),
        ("await thing", False),
    ],
)
def test_a_trivial_test_is_told_by_its_assertions(workshop: "Workshop", body: str, trivial: bool) -> None:
    workshop.before({})
    workshop.now({"test_it.py": f"async def test_it(self):\n    {body}\n"})
    [found] = changed_tests(workshop.git, workshop.change())
    assert found.is_trivial is trivial


def test_a_trivial_test_that_passes_there_holds_the_checkpoint_back(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now(
        {
            "greet.py": CODE_NOW,
            "test_it.py": "import greet\n\ndef test_a():\n    assert greet.part()\n\ndef test_b():\n    assert True\n",
        }
    )
    found = try_them(workshop, PYTEST)
    assert found.trivial == ("test_it.py::test_b",)
    assert found.check(0) is StageOutcome.BAD
    assert found.line() == "assert nothing: test_it.py::test_b"


def test_where_only_tests_changed_nothing_can_make_them_fail(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now(
        {"test_it.py": "import greet\n\ndef test_a():\n    assert greet.greet()\n", "README.md": "x"}
    )
    found = try_them(workshop, PYTEST)
    assert found == Validity(why_not="only tests changed", left_out=1)
    assert found.check(100) is StageOutcome.UNKNOWN


@pytest.mark.parametrize("command", ["make test", f"true && {PYTEST}"])
def test_another_runner_cannot_be_asked(workshop: "Workshop", command: str) -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now({"greet.py": CODE_NOW, "test_it.py": "def test_a():\n    assert greet\n"})
    assert try_them(workshop, command) == Validity(why_not="not possible with this test runner", left_out=1)


def test_a_test_outside_the_folder_of_the_command_is_not_tried(workshop: "Workshop") -> None:
    workshop.before({"sub/greet.py": CODE_BEFORE})
    workshop.now({"sub/greet.py": CODE_NOW, "test_it.py": "def test_a():\n    print()\n"})
    why_not = "outside the folder that the tests run in"
    assert try_them(workshop, f"cd sub && {PYTEST}") == Validity(why_not=why_not, left_out=1)
    workshop.now({"sub/test_it.py": "def test_a():\n    import greet\n    assert greet.part()\n"})
    assert try_them(workshop, f"cd sub && {PYTEST}") == Validity(examined=1, left_out=1)


def test_no_new_tests_is_nothing_to_try(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now({"greet.py": CODE_NOW})
    assert try_them(workshop, PYTEST) == Validity()
    assert Validity().check(100) is StageOutcome.GOOD
    assert Validity().line() == ""


def test_a_run_that_takes_too_long_tells_nothing(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now({"greet.py": CODE_NOW, "test_it.py": "import time\n\ndef test_a():\n    time.sleep(60)\n"})
    found = try_them(workshop, PYTEST, limit_s=3)
    assert found.why_not.startswith("on the code as it was: timed out")
    assert found.check(100) is StageOutcome.UNKNOWN


def test_more_tests_than_the_bound_are_counted(workshop: "Workshop", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "MAX_TESTS", 2)
    workshop.before({"greet.py": CODE_BEFORE})
    tests = "".join(f"def test_{n}():\n    assert greet.part()\n\n" for n in range(5))
    workshop.now({"greet.py": CODE_NOW, "test_it.py": "import greet\n\n" + tests})
    found = try_them(workshop, PYTEST)
    assert found == Validity(examined=2, left_out=3)
    assert found.check(1) is StageOutcome.UNKNOWN


def test_helpers_of_tests_are_taken_along_and_deleted_ones_are_gone(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE, "tests/gone.py": "x = 1\n"})
    workshop.now(
        {
            "greet.py": CODE_NOW,
            "tests/helper.py": "word = 'hello'\n",
            "tests/gone.py": None,
            "tests/conftest.py": "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n",
            "tests/test_a.py": "import greet, helper\n\ndef test_a():\n    assert helper.word in greet.greet()\n",
            "tests/test_b.py": "def test_b():\n    import gone\n    assert gone.x\n",
        }
    )
    assert try_them(workshop, PYTEST).cannot_fail == ("tests/test_a.py::test_a",)


class TestCodeThatIsInstalled:
    """An editable install leads back to the task's tree: there is the new code, and nobody may import it."""

    @pytest.fixture
    def folder(self) -> str:
        return "."

    @pytest.fixture
    def python(self, workshop: "Workshop", folder: str) -> str:
        """A virtual environment in a folder of the tree, ignored, with its ``src`` installed as editable."""
        workshop.before({".gitignore": ".venv\n", f"{folder}/src/greet.py": CODE_BEFORE})
        venv = workshop.tree / folder / ".venv"
        os.makedirs(venv / "bin")
        (venv / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
        (venv / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
        site = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        site.mkdir(parents=True)
        ours = Path(pytest.__file__).parent.parent
        (site / "editable.pth").write_text(f"{workshop.tree / folder / 'src'}\n{ours}\n", encoding="utf-8")
        return ".venv/bin/python -m pytest -q -p no:cacheprovider"

    @pytest.mark.parametrize("folder", [".", "my sub"])
    def test_only_the_old_code_is_imported(self, workshop: "Workshop", python: str, folder: str) -> None:
        workshop.now(
            {
                f"{folder}/src/greet.py": CODE_NOW,
                f"{folder}/src/new.py": "x = 1\n",
                f"{folder}/test_it.py": "def test_a():\n    from greet import part\n    assert part\n\n"
                "def test_b():\n    import new\n    assert new\n\n"
                "def test_c():\n    import greet\n    assert greet.greet\n",
            }
        )
        test = "test_it.py::test_c" if folder == "." else f"{folder}/test_it.py::test_c"
        found = try_them(workshop, f"cd '{folder}' && {python}")
        assert found == Validity(examined=3, cannot_fail=(test,))

    @pytest.mark.parametrize("how", ["env", "absolute", "in the command"])
    def test_a_pythonpath_of_the_users_own_leads_to_the_old_code_too(
        self, workshop: "Workshop", python: str, how: str
    ) -> None:
        workshop.now(
            {
                "lib/new.py": "x = 1\n",
                "src/new_too.py": "x = 1\n",
                "test_it.py": "def test_a():\n    import new\n    assert new\n\n"
                "def test_b():\n    import new_too\n    assert new_too\n",
            }
        )
        env = {"env": {"PYTHONPATH": "lib"}, "absolute": {"PYTHONPATH": str(workshop.tree / "lib")}}.get(
            how, {}
        )
        command = f"PYTHONPATH=lib {python}" if how == "in the command" else python
        assert try_them(workshop, command, env=env) == Validity(examined=2)


def test_the_guard_is_found_wherever_the_program_is_installed(
    workshop: "Workshop", monkeypatch: "pytest.MonkeyPatch"
) -> None:
    inside = workshop.tree.parent / "it's (é) $x" / "inside"
    shutil.copytree(Path(commands.__file__).with_name("inside"), inside)
    monkeypatch.setattr(commands, "_INSIDE", str(inside))
    workshop.before({"greet.py": CODE_BEFORE})
    workshop.now({"new.py": "x = 1\n", "test_it.py": "def test_a():\n    import new\n    assert new.x\n"})
    assert try_them(workshop, f"PYTHONPATH=lib {PYTEST}") == Validity(examined=1)


def test_a_finder_of_an_editable_install_is_guarded(workshop: "Workshop") -> None:
    workshop.before({"greet.py": CODE_BEFORE})
    finder = """\
        import importlib.util, os, sys

        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "new":
                    return importlib.util.spec_from_file_location(name, os.environ["NEW"])

        sys.meta_path.append(Finder)
    """
    workshop.now(
        {
            "new.py": "x = 1\n",
            "tests/conftest.py": finder,
            "tests/test_it.py": "def test_a():\n    import new\n    assert new.x\n",
        }
    )
    found = try_them(workshop, PYTEST, env={"NEW": str(workshop.tree / "new.py")})
    assert found == Validity(examined=1)
