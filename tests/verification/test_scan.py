"""The scan of added lines."""

from typing import TYPE_CHECKING

import pytest

from musician.verification import scan
from musician.verification.findings import Scan
from musician.verification.scan import scan_change

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop


def look(workshop: "Workshop") -> Scan:
    return scan_change(workshop.git, workshop.change())


def seen(found: Scan) -> list[tuple[str, int, str, bool]]:
    return [(each.path, each.line, each.kind, each.is_note) for each in found.remarks]


def test_what_was_left_in_python_is_found_in_added_lines_only(workshop: "Workshop") -> None:
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
    assert str(found.faults[0]).startswith("a.py:3 TODO")


def test_words_in_strings_and_sentences_are_left_alone(workshop: "Workshop") -> None:
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


def test_a_remark_can_be_waved_through_in_the_change_itself(workshop: "Workshop") -> None:
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
    workshop: "Workshop", name: str, before: str, now: str
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


def test_a_file_that_cannot_be_read_as_python_keeps_its_remarks(
    workshop: "Workshop",
) -> None:
    workshop.before({})
    workshop.now({"a.py": "print(1)\n'''\n"})
    assert seen(look(workshop)) == [("a.py", 1, "debug print", False)]


@pytest.mark.parametrize(
    "line", ["# def old(x):", "# for x in range(3):", "# if x.y:", "# from pdb import set_trace"]
)
def test_code_of_several_lines_is_known_by_its_first(workshop: "Workshop", line: str) -> None:
    workshop.before({})
    workshop.now({"a.py": f"{line}\n"})
    assert seen(look(workshop)) == [("a.py", 1, "commented-out code", False)]


@pytest.mark.parametrize(
    "line", ["# if so:", "# for each in turn:", "# with care:", "# for example:", "# note:"]
)
def test_a_sentence_that_ends_in_a_colon_is_none(workshop: "Workshop", line: str) -> None:
    workshop.before({})
    workshop.now({"a.py": f"{line}\n"})
    assert seen(look(workshop)) == []
