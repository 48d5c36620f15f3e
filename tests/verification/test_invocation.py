"""How commands start pytest and unittest."""

import pytest

from musician.verification.invocation import Invocation, Runner, folder_of, module_name, read_invocation


def read(command: str) -> Invocation:
    found = read_invocation(command)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("command", "runner", "head", "python"),
    [
        ("python -m pytest -q", Runner.PYTEST, "python -m pytest", "python"),
        ("pytest", Runner.PYTEST, "pytest", "python"),
        (".venv/bin/pytest -x tests", Runner.PYTEST, ".venv/bin/pytest", ".venv/bin/python"),
        ("uv run pytest tests", Runner.PYTEST, "uv run pytest", "uv run python"),
        ("poetry run py.test", Runner.PYTEST, "poetry run py.test", "poetry run python"),
        (
            'PYTHONPATH=src "$MUSICIAN_PYTHON" -m pytest a.py',
            Runner.PYTEST,
            'PYTHONPATH=src "$MUSICIAN_PYTHON" -m pytest',
            'PYTHONPATH=src "$MUSICIAN_PYTHON"',
        ),
        ("CI=1 pytest", Runner.PYTEST, "CI=1 pytest", "CI=1 python"),
        (
            "python -m coverage run -m pytest -q",
            Runner.PYTEST,
            "python -m coverage run -m pytest",
            "python",
        ),
        ("  python3 -m unittest -q  ", Runner.UNITTEST, "python3 -m unittest", "python3"),
    ],
)
def test_a_plain_command_is_understood(command: str, runner: Runner, head: str, python: str) -> None:
    found = read(command)
    assert (found.runner, found.head, found.python) == (runner, head, python)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "make test",
        "cargo test",
        "npm test && pytest",
        "pytest | tee log",
        "cd sub; pytest",
        "pytest $EXTRA",
        "pytest tests/test_*.py",
        "pytest 'unclosed",
        "pip install pytest",
        "echo pytest",
        "unittest",
        "pytest-3 tests",
        "python -m mypytest",
        "pytest > out",
        "bash -c 'pytest'",
        "pytest\nrm -rf x",
        "cd /sub && pytest",
        "cd ../sub && pytest",
        "cd a/../b && pytest",
        "cd - && pytest",
        "cd $DIR && pytest",
        'cd "$DIR" && pytest',
        "cd ~ && pytest",
        "cd sub && make && pytest",
        "cd sub && pytest && make",
        "cd a && cd b && pytest",
        "cd && pytest",
        "X=1 cd sub && pytest",
    ],
)
def test_anything_else_is_run_as_it_is(command: str) -> None:
    assert read_invocation(command) is None


@pytest.mark.parametrize(
    ("command", "path", "runs"),
    [
        ("pytest", "tests/test_a.py", True),
        ("pytest -q --tb short -p no:cacheprovider -n 2", "tests/test_a.py", True),
        ("pytest tests", "tests/deep/test_a.py", True),
        ("pytest ./tests/", "tests/test_a.py", True),
        ("pytest tests/test_a.py", "tests/test_a.py", True),
        ("pytest tests/test_a.py", "tests/test_b.py", False),
        ("pytest tests/test_a.py::test_one", "tests/test_a.py", False),
        ("pytest -k one", "tests/test_a.py", False),
        ("pytest --deselect=x tests", "tests/test_a.py", False),
        ("python -m unittest", "tests/test_a.py", True),
        ("python -m unittest discover", "tests/test_a.py", True),
        ("python -m unittest discover -s tests -t .", "tests/test_a.py", True),
        ("python -m unittest discover tests", "other/test_a.py", False),
        ("python -m unittest discover -p x.py", "tests/test_a.py", False),
        ("python -m unittest -q tests.test_a", "tests/test_a.py", True),
        ("python -m unittest tests/test_a.py", "tests/test_a.py", True),
        ("python -m unittest tests.test_a.Class", "tests/test_a.py", False),
        ("python -m unittest -k one", "tests/test_a.py", False),
    ],
)
def test_what_a_command_runs_of_a_file(command: str, path: str, runs: bool) -> None:
    assert read(command).runs_all_of(path) is runs


def test_the_same_command_for_other_files() -> None:
    pytest_command = read('CI=1 "$PY" -m pytest -q -o "a b=c" tests/old.py')
    assert pytest_command.of_files(["tests/my test_a.py", "-t.py"], to_the_end=True) == (
        "CI=1 \"$PY\" -m pytest -q -o 'a b=c' --continue-on-collection-errors --maxfail=0"
        " 'tests/my test_a.py' ./-t.py"
    )
    assert read("python -m unittest -q tests.test_x").of_files(["tests/test_a.py"], to_the_end=True) == (
        "python -m unittest -v tests.test_a"
    )
    assert read("python -m unittest discover -s tests").of_files(["tests/test_a.py"], to_the_end=True) == (
        "python -m unittest discover -s tests -v"
    )


def test_a_module_is_named_from_the_top() -> None:
    assert module_name("tests/deep/test_a.py") == "tests.deep.test_a"


@pytest.mark.parametrize(
    "option",
    [
        "--timeout 60",
        "--ignore tests/slow",
        "--deselect tests/test_b.py::test_b",
        "--cov-report xml",
        "-qn 2",
        "--cov src",
        "-m 'not slow'",
    ],
)
def test_what_follows_an_option_that_takes_a_value_is_no_target(option: str) -> None:
    found = read(f"pytest {option}")
    assert found.targets == ()
    assert found.of_files(["tests/test_a.py"]) == f"pytest {option} tests/test_a.py"


@pytest.mark.parametrize("options", ["--cov", "-q --own-option", "--cov-report=xml --debug"])
def test_a_file_is_not_taken_for_the_value_of_an_option_before_it(options: str) -> None:
    assert read(f"pytest {options}").of_files(["tests/test_a.py"]) == f"pytest {options} -- tests/test_a.py"
    assert read(f"pytest tests {options}").targets == ("tests",)


@pytest.mark.parametrize("options", ["--cov -q", "--own-option -x", "-xvn2", "-n2 -q", "--own=1 -q"])
def test_an_option_is_no_value(options: str) -> None:
    found = read(f"pytest {options} tests")
    assert (found.options, found.targets) == (tuple(options.split()), ("tests",))


@pytest.mark.parametrize(
    "command",
    [
        "pytest --own-option tests",
        "pytest -xZ tests",
        "pytest tests --timeout",
        "python -m unittest --own-option tests.test_a",
    ],
)
def test_where_a_word_may_be_a_value_nothing_is_read(command: str) -> None:
    assert read_invocation(command) is None


def test_after_two_dashes_all_is_to_be_run() -> None:
    assert read("pytest -q -- -k").targets == ("-k",)


@pytest.mark.parametrize(("command", "runs"), [("pytest -xk one", False), ("pytest -o k=-k", True)])
def test_options_that_share_a_word_are_told_apart(command: str, runs: bool) -> None:
    assert read(command).runs_all_of("tests/test_a.py") is runs


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd sub && pytest -q", "sub"),
        ("  cd ./a/b/&&pytest -q", "a/b"),
        ("cd 'my sub' && pytest -q", "my sub"),
        ('cd "my sub" && pytest -q', "my sub"),
        ("cd . && pytest -q", ""),
    ],
)
def test_a_command_may_begin_by_going_into_a_folder(command: str, folder: str) -> None:
    found = read(command)
    assert (found.folder, found.targets, found.options) == (folder, (), ("-q",))
    assert found.of_files([f"{folder}/tests/test_a.py".lstrip("/")]) == f"{command.strip()} tests/test_a.py"


def test_what_lies_outside_the_folder_is_not_run_from_it() -> None:
    found = read("cd sub && .venv/bin/python -m pytest tests")
    assert found.runs_all_of("sub/tests/test_a.py")
    assert not found.runs_all_of("tests/test_a.py")
    assert (found.reaches("sub/test_a.py"), found.reaches("subway/test_a.py")) == (True, False)
    assert found.python == "cd sub && .venv/bin/python"
    assert (found.named("sub/src/a.py"), found.named("a.py")) == ("src/a.py", "../a.py")


def test_modules_are_named_from_the_folder() -> None:
    found = read("cd sub && python -m unittest tests.test_a")
    assert found.runs_all_of("sub/tests/test_a.py")
    assert not found.runs_all_of("tests/test_a.py")
    assert found.of_files(["sub/tests/test_b.py"]) == "cd sub && python -m unittest tests.test_b"
    discovering = read("cd sub && python -m unittest discover -s tests")
    assert discovering.runs_all_of("sub/tests/test_a.py")


def test_any_command_may_go_into_a_folder() -> None:
    assert folder_of("cd web && npm test | tee log") == "web"
    assert folder_of("npm test") == ""
    assert folder_of("cd ../web && npm test") == ""
