"""The change between two trees, line by line."""

from typing import TYPE_CHECKING

import pytest

from musician.protocol.errors import GitFailed
from musician.verification.change import (
    MAX_FILE_BYTES,
    AddedLine,
    CodeChange,
    is_documentation,
    is_test_file,
    is_test_side,
    read_blobs,
    read_change,
)

if TYPE_CHECKING:
    from tests.verification.conftest import Workshop


def lines(change: CodeChange) -> dict[str, list[tuple[int, str]]]:
    return {file.path: [(line.number, line.text) for line in file.added] for file in change.files}


def test_added_lines_have_the_numbers_they_have_now(workshop: "Workshop") -> None:
    workshop.before({"a.py": "one\ntwo\nthree\nfour\n", "gone.py": "x\n", "same.py": "y\n"})
    workshop.now({"a.py": "zero\none\nTWO\nfour\nfive", "gone.py": None, "new.py": "n\n\nm\n"})
    change = workshop.change()
    assert lines(change) == {
        "a.py": [(1, "zero"), (3, "TWO"), (5, "five")],
        "gone.py": [],
        "new.py": [(1, "n"), (2, ""), (3, "m")],
    }
    assert {file.path: file.kind for file in change.files} == {
        "a.py": "modified",
        "gone.py": "deleted",
        "new.py": "created",
    }
    assert [file.path for file in change.present] == ["a.py", "new.py"]
    assert change.unread == 0


def test_lines_that_look_like_a_patch_are_only_lines(workshop: "Workshop") -> None:
    workshop.before({"a.txt": "x\n"})
    tricky = "++ b/other.py\n-- a/other.py\n@@ -1 +7 @@\ndiff --git a/x b/x\nx\n"
    workshop.now({"a.txt": tricky})
    assert lines(workshop.change()) == {
        "a.txt": [(1, "++ b/other.py"), (2, "-- a/other.py"), (3, "@@ -1 +7 @@"), (4, "diff --git a/x b/x")]
    }


def test_odd_names_are_read_and_unprintable_ones_are_counted(workshop: "Workshop") -> None:
    workshop.before({})
    workshop.now(
        {"ü ö.py": "1\n", 'qu"o\\te.py': "2\n", "sp ace.py": "3\n", "be\x07ll.py": "4\n", "-dash.py": "5\n"}
    )
    change = workshop.change()
    assert lines(change) == {
        "ü ö.py": [(1, "1")],
        'qu"o\\te.py': [(1, "2")],
        "sp ace.py": [(1, "3")],
        "-dash.py": [(1, "5")],
    }
    assert change.unread == 1


def test_what_is_too_large_or_no_file_is_counted_and_not_read(workshop: "Workshop") -> None:
    workshop.before({"a.py": "a\n"})
    workshop.now({"big.txt": "x" * (MAX_FILE_BYTES + 1), "a.py": "b\n", "data.bin": b"\0\1\2"})
    (workshop.tree / "link").symlink_to("a.py")
    change = workshop.change()
    assert lines(change) == {"a.py": [(1, "b")], "data.bin": []}
    assert change.unread == 2


def test_a_rename_is_all_new_and_an_endless_line_is_cut(workshop: "Workshop") -> None:
    workshop.before({"old.py": "same\n"})
    workshop.now({"old.py": None, "new.py": "same\n", "long.js": "z" * 9_000})
    change = workshop.change()
    assert lines(change)["new.py"] == [(1, "same")]
    assert change.files[0].added == (AddedLine(number=1, text="z" * 1_000),)


def test_nothing_changed_is_an_empty_change(workshop: "Workshop") -> None:
    base = workshop.before({"a.py": "a\n"})
    assert workshop.change(base).files == ()


def test_a_base_that_is_not_there_is_gits_failure(workshop: "Workshop") -> None:
    workshop.before({"a.py": "a\n"})
    with pytest.raises(GitFailed):
        read_change(workshop.git, "0" * 39 + "1", workshop.tree_id)


def test_blobs_are_read_by_id_and_missing_ones_left_out(workshop: "Workshop") -> None:
    workshop.before({"a": b"1\n\n2", "empty": b""})
    workshop.now({"a": b"other\n"})
    [file] = workshop.change().files
    missing = "1" * 40
    assert read_blobs(workshop.git, [file.old_blob, missing, file.new_blob, "", file.old_blob]) == {
        file.old_blob: b"1\n\n2",
        file.new_blob: b"other\n",
    }
    assert read_blobs(workshop.git, [""]) == {}


@pytest.mark.parametrize(
    ("path", "side", "test"),
    [
        ("tests/test_a.py", True, True),
        ("tests/helpers.py", True, False),
        ("pkg/a_test.py", True, True),
        ("conftest.py", True, False),
        ("web/a.spec.ts", True, False),
        ("web/a.test.js", True, False),
        ("web/__tests__/a.js", True, False),
        ("pkg/latest.py", False, False),
        ("pkg/contest.py", False, False),
        ("src/testing/kit.py", False, False),
        ("test.py", False, False),
    ],
)
def test_whose_side_a_file_is_on_is_told_by_its_name(path: str, side: bool, test: bool) -> None:
    assert (is_test_side(path), is_test_file(path)) == (side, test)


def test_subjects_are_neither_tests_nor_documentation(workshop: "Workshop") -> None:
    workshop.before({})
    workshop.now({"a.py": "1", "data.csv": "1", "README.md": "1", "tests/test_a.py": "1"})
    assert [file.path for file in workshop.change().subjects] == ["a.py", "data.csv"]
    assert is_documentation("docs/X.RST")
