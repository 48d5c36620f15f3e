"""Test selection in four categories (D16)."""

from typing import TYPE_CHECKING

from musician.verification import categories
from musician.verification.categories import Selection, select_tests
from musician.verification.findings import Category

if TYPE_CHECKING:
    import pytest

    from tests.verification.conftest import Workshop

FILES = {
    "pkg/__init__.py": "",
    "pkg/low.py": "x = 1\n",
    "pkg/high.py": "from pkg import low\n",
    "pkg/other.py": "",
    "tests/test_low.py": "import unrelated\n",
    "tests/test_by_import.py": "from pkg.low import x\n",
    "tests/test_high.py": "from pkg import high\n",
    "tests/test_other.py": "from pkg import other\n",
    "tests/test_narrow.py": "",
}


def select(workshop: "Workshop", *own: str, failed: tuple[str, ...] = ()) -> Selection:
    return select_tests(own, workshop.change(), workshop.project(), previously_failed=failed)


def planned(selection: Selection) -> list[tuple[Category, str]]:
    return [(each.category, each.command) for each in selection.planned]


def test_the_four_categories_come_in_order_and_each_file_once(workshop: "Workshop") -> None:
    workshop.before(FILES)
    workshop.now({"pkg/low.py": "x = 2\n", "tests/test_new.py": "def test(): pass\n"})
    selection = select(
        workshop,
        "python -m pytest -q tests/test_narrow.py",
        failed=(
            "tests.test_other.Class::test_it[a.b]",
            "tests.test_low::test_x",
            "gone::test",
            "tests.test_high.T.test",
        ),
    )
    assert planned(selection) == [
        (
            Category.CHANGED,
            "python -m pytest -q tests/test_by_import.py tests/test_low.py tests/test_new.py",
        ),
        (Category.AFFECTED, "python -m pytest -q tests/test_high.py"),
        (Category.OWN, "python -m pytest -q tests/test_narrow.py"),
        (Category.FAILED, "python -m pytest -q tests/test_other.py"),
    ]
    assert selection.notes == ()


def test_a_command_that_runs_everything_is_all_there_is(workshop: "Workshop") -> None:
    workshop.before(FILES)
    workshop.now({"pkg/low.py": "x = 2\n", "tests/test_new.py": ""})
    own = ("python -m pytest -q tests/test_narrow.py", "python -m pytest -q")
    selection = select(workshop, *own, failed=("tests.test_other::test",))
    assert planned(selection) == [(Category.OWN, command) for command in own]
    assert selection.notes == ()


def test_unittest_is_given_modules(workshop: "Workshop") -> None:
    workshop.before(FILES)
    workshop.now({"pkg/other.py": "y = 1\n"})
    assert planned(select(workshop, "python -m unittest -q tests.test_low")) == [
        (Category.CHANGED, "python -m unittest tests.test_other"),
        (Category.OWN, "python -m unittest -q tests.test_low"),
    ]


def test_another_runner_is_run_as_it_is_and_that_is_said(workshop: "Workshop") -> None:
    workshop.before(FILES)
    workshop.now({"pkg/low.py": "x = 2\n"})
    selection = select(workshop, "make test", failed=("tests.test_low::test",))
    assert planned(selection) == [(Category.OWN, "make test")]
    assert selection.notes == ("tests of changed files cannot be told from this runner's others",)
    assert select(workshop) == Selection(planned=())
    assert select(workshop, "python -m unittest discover -s tests").notes == ()


def test_a_deleted_test_is_not_run(workshop: "Workshop") -> None:
    workshop.before(FILES)
    workshop.now({"tests/test_low.py": None, "README.md": "x"})
    assert planned(select(workshop, "pytest tests/test_narrow.py")) == [
        (Category.OWN, "pytest tests/test_narrow.py")
    ]


def test_too_many_files_are_cut_and_counted(workshop: "Workshop", monkeypatch: "pytest.MonkeyPatch") -> None:
    monkeypatch.setattr(categories, "MAX_FILES_A_CATEGORY", 2)
    workshop.before({})
    workshop.now({f"tests/test_{letter}.py": "" for letter in "abcd"} | {"tests/test_z.py": ""})
    selection = select(workshop, "pytest tests/test_z.py")
    assert selection.planned[0].files == ("tests/test_a.py", "tests/test_b.py")
    assert selection.notes == ("tests of changed files: 2 files not run",)


def test_importers_in_a_huge_tree_are_not_looked_for(
    workshop: "Workshop", monkeypatch: "pytest.MonkeyPatch"
) -> None:
    monkeypatch.setattr("musician.verification.imports.MAX_MODULES", 3)
    workshop.before(FILES)
    workshop.now({"pkg/low.py": "x = 2\n"})
    selection = select(workshop, "pytest tests/test_narrow.py")
    assert planned(selection)[0] == (Category.CHANGED, "pytest tests/test_low.py")
    assert selection.notes == ("importers not looked for among 9 Python files",)


def test_each_folder_s_tests_are_run_from_it(workshop: "Workshop") -> None:
    folders = {f"{top}/{name}": text for top in ("one", "two", "three") for name, text in FILES.items()}
    workshop.before(folders)
    workshop.now({f"{top}/tests/test_new.py": "" for top in ("one", "two", "three")})
    own = ("cd one && pytest tests/test_low.py", "cd two && pytest -x tests/test_low.py")
    selection = select(workshop, *own, failed=("tests.test_other::test",))
    assert planned(selection) == [
        (Category.CHANGED, "cd one && pytest tests/test_new.py"),
        (Category.CHANGED, "cd two && pytest -x tests/test_new.py"),
        (Category.OWN, own[0]),
        (Category.OWN, own[1]),
        (Category.FAILED, "cd one && pytest tests/test_other.py"),
        (Category.FAILED, "cd two && pytest -x tests/test_other.py"),
    ]
    assert [each.folder for each in selection.planned] == ["one", "two", "", "", "one", "two"]
    assert selection.notes == ("tests of changed files: 1 file outside one, two not run",)


def test_a_command_that_runs_all_of_a_folder_leaves_what_is_outside(workshop: "Workshop") -> None:
    workshop.before({f"sub/{name}": text for name, text in FILES.items()} | {"tests/test_low.py": ""})
    workshop.now({"sub/pkg/low.py": "x = 2\n"})
    assert select(workshop, "cd sub && pytest").notes == (
        "tests of changed files: 1 file outside sub not run",
    )
    assert select(workshop, "cd sub && pytest", "pytest").notes == ()
