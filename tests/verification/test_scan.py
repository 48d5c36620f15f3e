"""The scan of added lines, by ruff and by patterns."""

from typing import TYPE_CHECKING

import anyio
import pytest

from musician.verification import scan
from musician.verification.findings import Scan
from musician.verification.scan import find_ruff, scan_change

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop

BY = ["ruff", "patterns"]


@pytest.fixture(params=BY)
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who reads Python."""
    if request.param == "patterns":
        monkeypatch.setattr(scan, "find_ruff", lambda: None)
    else:
        assert find_ruff() is not None
    return str(request.param)


def look(workshop: "Workshop") -> Scan:
    return anyio.run(scan_change, workshop.git, workshop.tree, workshop.change())


def seen(found: Scan) -> list[tuple[str, int, str, bool]]:
    return [(each.path, each.line, each.kind, each.is_note) for each in found.remarks]


def test_what_was_left_in_python_is_found_in_added_lines_only(workshop: "Workshop", by: str) -> None:
    workshop.before({"a.py": "# TODO old\nx = 1\n\n\n\n# y = old()\n"})
    workshop.now(
        {
            "a.py": """\
            # TODO old
            x = 1
            # FIXME: new
            print(x)
            # y = x + 1
            breakpoint()
            # y = old()
            """
        }
    )
    found = look(workshop)
    assert sorted(seen(found)) == [
        ("a.py", 3, "TODO", False),
        ("a.py", 4, "debug print", False),
        ("a.py", 5, "commented-out code", False),
        ("a.py", 6, "debugger", False),
    ]
    assert found.by == by
    assert str(found.faults[0]).startswith("a.py:3 TODO") or by == "ruff"


def test_words_in_strings_and_sentences_are_left_alone(workshop: "Workshop", by: str) -> None:
    workshop.before({})
    workshop.now(
        {
            "a.py": '''\
            """How to print(x).

            # TODO in a docstring is text
            """
            MARK = "# TODO"
            CODE = "print(1)"
            # The list of things to do, see print and import.
            # note: this is a sentence
            page.print(1)
            total = blueprint(2)  # done
            '''
        }
    )
    assert seen(look(workshop)) == []


def test_a_remark_can_be_waved_through_in_the_change_itself(workshop: "Workshop", by: str) -> None:
    workshop.before({})
    workshop.now({"a.py": "print(1)  # noqa: T201\n# x = 1  # noqa: ERA001\n"})
    assert seen(look(workshop)) == []


@pytest.mark.parametrize(
    ("name", "before", "now"),
    [
        ("old.py", "print(1)\n", "print(1)\nprint(2)\n"),
        ("__main__.py", "", "print(2)\n"),
        ("tool.py", "", "import argparse\nprint(2)\n"),
        ("tool.py", "", "if __name__ == '__main__':\n    print(2)\n"),
        ("tests/helper.py", "", "print(2)\n"),
    ],
)
def test_a_print_where_programs_print_is_a_note(
    workshop: "Workshop", by: str, name: str, before: str, now: str
) -> None:
    workshop.before({name: before})
    workshop.now({name: now})
    found = look(workshop)
    assert [(each.kind, each.is_note) for each in found.remarks] == [("debug print", True)]
    assert found.faults == ()


@pytest.mark.parametrize(
    ("name", "line", "kind"),
    [
        ("a.js", "console.log(x);", "debug print"),
        ("a.ts", "  debugger;", "debugger"),
        ("a.tsx", "// FIXME later", "TODO"),
        ("a.js", "// return x + 1;", "commented-out code"),
        ("a.go", 'fmt.Println("x")', "debug print"),
        ("a.rs", "dbg!(x);", "debugger"),
        ("a.rb", "binding.pry", "debugger"),
        ("a.rb", "# TODO", "TODO"),
        ("a.java", 'System.out.println("x");', "debug print"),
        ("a.kt", "println(x)", "debug print"),
        ("a.cs", "Console.WriteLine(x);", "debug print"),
        ("a.php", "var_dump($x);", "debug print"),
        ("a.cpp", "/* TODO */", "TODO"),
        ("a.c", "// if (x) {", "commented-out code"),
        ("a.sh", "set -x", "debugger"),
    ],
)
def test_other_languages_are_read_by_patterns(workshop: "Workshop", name: str, line: str, kind: str) -> None:
    workshop.before({})
    workshop.now({name: f"start\n{line}\n"})
    found = look(workshop)
    assert seen(found) == [(name, 2, kind, False)]
    assert found.by == ""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.js", "const url = 'http://todo.example/TODO';"),
        ("a.js", "// the total, in cents"),
        ("a.js", "/// <reference path='x' />;"),
        ("a.js", "logger.log(x);"),
        ("a.sh", "#!/bin/bash"),
        ("a.md", "TODO"),
        ("a.json", '"TODO": 1'),
        ("a.rb", "inputs = 1"),
    ],
)
def test_what_only_looks_alike_is_left_alone(workshop: "Workshop", name: str, line: str) -> None:
    workshop.before({})
    workshop.now({name: f"{line}\n"})
    assert seen(look(workshop)) == []


def test_more_remarks_than_the_bound_are_counted(
    workshop: "Workshop", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "MAX_REMARKS", 2)
    workshop.before({})
    workshop.now({"a.js": "debugger\n" * 5})
    found = look(workshop)
    assert (len(found.remarks), found.left_out) == (2, 3)


ANSWERS = '#!/bin/sh\nwhile [ "$1" != --output-file ]; do shift; done\n{} > "$2"\n'


@pytest.mark.parametrize(
    "answer",
    [
        ANSWERS.format("echo no json"),
        ANSWERS.format("echo '[{}]'"),
        ANSWERS.format("echo 1"),
        "#!/bin/sh\n",
        ANSWERS.format("echo '[]'; sleep 60"),
        "no program",
    ],
    ids=["no json", "no fields", "no list", "no answer", "no end", "no program"],
)
def test_a_ruff_that_does_not_answer_is_replaced_by_patterns(
    workshop: "Workshop", monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    fake = workshop.tree.parent / "ruff"
    fake.write_text(answer)
    fake.chmod(0o755)
    monkeypatch.setattr(scan, "find_ruff", lambda: str(fake))
    monkeypatch.setattr(scan, "_RUFF_LIMIT_S", 1.0)
    workshop.before({})
    workshop.now({"a.py": "breakpoint()\n"})
    assert seen(look(workshop)) == [("a.py", 1, "debugger", False)]
    assert look(workshop).by == "patterns"


def test_a_file_that_cannot_be_read_as_python_keeps_its_remarks(
    workshop: "Workshop", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "find_ruff", lambda: None)
    workshop.before({})
    workshop.now({"a.py": "print(1)\n'''\n"})
    assert seen(look(workshop)) == [("a.py", 1, "debug print", False)]
