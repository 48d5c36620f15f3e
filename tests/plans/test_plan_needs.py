"""A draft of a plan says how a project is tested and what its trees lack, for the odd projects, too."""

import json
from collections.abc import Mapping

import pytest

from musician.plans.draft import draft_plan, plan_id_for
from musician.plans.needs import Needs, Project, needs_of
from musician.plans.plan import parse_plan

PYTEST = "def test_it():\n    assert True\n"
UNITTEST = "import unittest\n\nclass It(unittest.TestCase):\n    def test_it(self): ...\n"
NPM = json.dumps({"scripts": {"test": "node --test"}, "devDependencies": {"c8": "1"}})
NO_TEST = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})


def needs(
    files: Mapping[str, str], untracked: tuple[str, ...] = (), ignored: tuple[str, ...] | None = None
) -> Needs:
    known = untracked if ignored is None else ignored
    project = Project(
        tracked=tuple(files),
        untracked=untracked,
        is_ignored=known.__contains__,
        read=lambda path: files.get(path, ""),
    )
    return needs_of(project)


def test_submodules_are_checked_out_before_all_else() -> None:
    modules = {".gitmodules": '[submodule "lib"]\n\tpath = lib\n', "lib": ""}
    assert needs(modules).setup == "git submodule update --init"
    both = needs({**modules, "package.json": NPM, "package-lock.json": ""})
    assert both.setup == "git submodule update --init && npm ci"
    assert needs({".gitmodules": ""}).setup == ""


@pytest.mark.parametrize(
    ("files", "test"),
    [
        pytest.param({"tests/test_a.py": PYTEST}, "python3 -m pytest -q", id="pytest by its functions"),
        pytest.param(
            {"tests/test_a.py": UNITTEST, "tests/conftest.py": ""},
            "python3 -m pytest -q",
            id="pytest by its conftest",
        ),
        pytest.param(
            {"test_a.py": UNITTEST, "requirements-dev.txt": "black\npytest>=8\n"},
            "python3 -m pytest -q",
            id="pytest by what is required",
        ),
        pytest.param({"test_a.py": UNITTEST}, "python3 -m unittest -q", id="unittest"),
        pytest.param(
            {"my tests/test_a.py": UNITTEST},
            "python3 -m unittest discover -q -s 'my tests'",
            id="unittest in a folder that is no package",
        ),
        pytest.param(
            {"tests/test_a.py": UNITTEST, "tests/__init__.py": ""},
            "python3 -m unittest -q",
            id="unittest in a package",
        ),
        pytest.param({"package.json": NPM}, "npm test", id="npm"),
        pytest.param({"package.json": NPM, "pnpm-lock.yaml": ""}, "pnpm test", id="pnpm"),
        pytest.param({"package.json": NPM, "bun.lock": ""}, "bun run test", id="bun"),
        pytest.param({"package.json": "\ufeff{"}, "", id="a package.json that is torn"),
        pytest.param({"package.json": NO_TEST}, "", id="npm's placeholder is no test"),
        pytest.param({"Cargo.toml": "", "src/lib.rs": ""}, "cargo test", id="cargo"),
        pytest.param({"go.mod": "", "a_test.go": ""}, "go test ./...", id="go"),
        pytest.param({"go.mod": "", "a.go": ""}, "", id="go without tests"),
        pytest.param({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n"}, "make test", id="make"),
        pytest.param({"Makefile": "check:\n\ttrue\n"}, "make check", id="make check"),
        pytest.param(
            {"Makefile": "tests:\n\ntest := 1\n\techo test:\n"}, "", id="a Makefile without the target"
        ),
        pytest.param({"README.md": "", "a.py": ""}, "", id="no tests at all"),
        pytest.param({"node_modules/x/package.json": NPM}, "", id="somebody else's tests"),
        pytest.param({"Räder 2/package.json": NPM}, "cd 'Räder 2' && npm test", id="in a folder"),
        pytest.param(
            {"web/package.json": NPM, "app/package.json": NPM},
            "(cd app && npm test) && (cd web && npm test)",
            id="two packages",
        ),
        pytest.param(
            {"package.json": NPM, "web/package.json": NPM}, "npm test", id="a package that has another inside"
        ),
        pytest.param(
            {"backend/pyproject.toml": "", "backend/tests/test_a.py": PYTEST, "README.md": ""},
            "cd backend && python3 -m pytest -q",
            id="tests of a part are not the whole's",
        ),
        pytest.param(
            {"package.json": json.dumps({"workspaces": ["a"]}), "a/package.json": NPM},
            "npm test --workspaces --if-present",
            id="a workspace",
        ),
    ],
)
def test_the_test_command_is_found(files: dict[str, str], test: str) -> None:
    assert needs(files).test == test


def test_further_ways_to_test_are_named() -> None:
    files = {"test_a.py": PYTEST, "Makefile": "test:\n", "web/package.json": NPM}
    assert needs(files).besides == ("make test", "cd web && npm test")


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        pytest.param(
            {"requirements.txt": "", "requirements-dev.txt": "pytest\n"},
            "python3 -m venv .venv && .venv/bin/python -m pip install -q -r requirements-dev.txt -r requirements.txt",
            id="requirements",
        ),
        pytest.param(
            {
                "pyproject.toml": "[project]\nname = 'x'\n"
                "[project.optional-dependencies]\ndocs = []\ntest = ['pytest']\n"
            },
            "python3 -m venv .venv && .venv/bin/python -m pip install -q -e '.[test]'",
            id="a project that is installed",
        ),
        pytest.param(
            {"setup.py": "", "dev.requirements.txt": "flake8\n"},
            "python3 -m venv .venv && .venv/bin/python -m pip install -q -r dev.requirements.txt -e . pytest",
            id="a project that nowhere names what runs its tests",
        ),
        pytest.param({"uv.lock": ""}, "uv sync --frozen", id="uv"),
        pytest.param({"poetry.lock": ""}, "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install", id="poetry"),
    ],
)
def test_a_virtual_environment_is_made_anew_and_its_python_runs_the_tests(
    files: dict[str, str], setup: str
) -> None:
    """D33.2: what is installed in the user's own environment may be the user's own tree; a link would test that."""
    found = needs({"tests/test_a.py": PYTEST, **files}, (".venv/",))
    assert (found.setup, found.share) == (setup, ())
    assert found.test == ".venv/bin/python -m pytest -q"
    assert found.notes == ()


def test_an_environment_that_git_would_commit_is_told() -> None:
    found = needs({"tests/test_a.py": PYTEST, "requirements.txt": ""}, (".venv/",), ignored=())
    assert found.notes == (
        "add `.venv/` to .gitignore: what `setup` makes is committed with the first step otherwise",
    )


def test_an_environment_that_nothing_describes_is_told() -> None:
    (note,) = needs({"test_a.py": PYTEST}, ("venv/",)).notes
    assert "written down nowhere" in note


def test_node_modules_are_shared_but_those_of_a_workspace_which_lead_back() -> None:
    """D33.2."""
    assert needs({"package.json": NPM}, ("node_modules/",)).share == ("node_modules",)
    assert needs({"web/package.json": NPM}, ("web/node_modules/",)).share == ("web/node_modules",)
    whole = {
        "package.json": json.dumps({"workspaces": ["a"], "scripts": {"test": "x"}}),
        "package-lock.json": "{}",
    }
    found = needs(whole, ("node_modules/",))
    assert (found.share, found.setup) == ((), "npm ci")


def test_files_of_the_environment_are_copied() -> None:
    assert needs({}, (".env", "web/.env.local", ".envrc", "notes.txt", "a.env/")).copy == (
        ".env",
        "web/.env.local",
        ".envrc",
    )


@pytest.mark.parametrize(
    "found",
    [
        Needs(),
        Needs(
            test="cd 'Räder: 2 # x' && \"$PY\" -m pytest -k 'a or b'",
            besides=("make test",),
            setup="a && b",
            copy=("a b/.env", "ü, x/.env"),
            share=("web/node_modules",),
        ),
    ],
    ids=["nothing", "odd characters"],
)
def test_a_draft_is_a_plan_that_says_it(found: Needs) -> None:
    text = draft_plan(found, plan_id="p", title="Räder", agent="shell")
    plan = parse_plan(text, path="PLAN.md", read_file=lambda _: None)
    for task in plan.tasks:
        assert (task.test or "", task.setup or "") == (found.test, found.setup)
        assert (task.copy, task.share) == (found.copy, found.share)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("My Proj (é) $x", "my-proj-x"),
        ("日本", "plan"),
        ("con", "plan"),
        ("a" * 90, "a" * 40),
        ("x.lock", "x-lock"),
    ],
)
def test_an_id_is_made_of_any_name(name: str, made: str) -> None:
    assert plan_id_for(name) == made
