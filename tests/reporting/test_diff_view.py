"""Every line of a patch is shown, as git has it; colours and words are added where they can be."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from musician.processes.output import visible
from musician.reporting.diff_view import MOST_LINES, FileView, lines_of_patch


def view(old: str, new: str, path: str = "a.py") -> FileView:
    body = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}")
    found = lines_of_patch("".join(body), path, old, new)
    assert found is not None
    return found


def test_the_words_that_changed_are_marked() -> None:
    (hunk,) = view("total = price + tax\n", "total = price * tax\n").hunks
    marked = [(line.sign, [span.text for span in line.spans if "word" in span.names]) for line in hunk.lines]
    assert marked == [("-", ["+"]), ("+", ["*"])]


def test_lines_that_have_nothing_in_common_are_not_compared() -> None:
    (hunk,) = view("import os\n", "CONSTANT: int = 17\n").hunks
    assert not any("word" in span.names for line in hunk.lines for span in line.spans)


def test_a_line_is_known_by_its_number_on_the_side_that_has_it() -> None:
    (hunk,) = view("a\nb\nc\n", "a\nc\nd\n", "x.txt").hunks
    assert [(line.sign, line.side, line.number) for line in hunk.lines] == [
        (" ", "new", 1),
        ("-", "old", 2),
        (" ", "new", 2),
        ("+", "new", 3),
    ]


def test_the_end_of_a_line_is_shown_only_where_lines_end_in_different_ways() -> None:
    (hunk,) = view("a\r\nb\r\n", "a\r\nc\r\n", "x.txt").hunks
    assert [line.text for line in hunk.lines] == ["a", "b", "c"]
    (hunk,) = view("a\r\nb\r\n", "a\nb\r\n", "x.txt").hunks
    assert [line.text for line in hunk.lines] == [visible("a\r"), "a", visible("b\r")]


def test_a_long_file_has_a_bound() -> None:
    found = view("", "x\n" * (MOST_LINES + 3), "x.txt")
    assert (sum(len(hunk.lines) for hunk in found.hunks), found.left_out) == (MOST_LINES, 3)


def test_what_is_no_patch_has_no_lines() -> None:
    assert lines_of_patch("", "a.py", "", "") is None
    assert lines_of_patch("Binary files differ\n", "a.png", None, None) is None
    assert lines_of_patch("@@ -1 +1 @@ torn", "a.py", "", "") is None


_LINES = st.lists(
    st.text(st.characters(exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=20),
    max_size=8,
)


@given(_LINES, _LINES, st.sampled_from(["a.py", "a.js", "a.unknown", "Makefile", "a.md"]))
def test_nothing_is_lost_on_the_way(old: list[str], new: list[str], path: str) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    if before == after:
        return
    lines = [line for hunk in view(before, after, path).hunks for line in hunk.lines]
    for sign, text in (("-", before), ("+", after)):
        own = [line.text for line in lines if line.sign in (sign, " ")]
        kept = iter(visible(text).split("\n"))
        assert all(line in kept for line in own)


def test_a_file_that_became_a_link_shows_both() -> None:
    """Git tells it as two files in one patch."""
    patch = (
        "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n"
        "diff --git a/x b/x\nnew file mode 120000\nindex 0..2\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+target\n"
    )
    found = lines_of_patch(patch, "x", None, None)
    assert found is not None
    assert [(line.sign, line.text) for hunk in found.hunks for line in hunk.lines] == [
        ("-", "text"),
        ("+", "target"),
    ]


def test_words_are_compared_only_as_long_as_it_is_quick() -> None:
    """Two lines of 2000 signs cost half a second: a file of them must not hold the server up."""
    found = view("+" * 1500 + "\n" + "a = 1\n" * 3, "+" * 1499 + "-\n" + "b = 1\n" * 3, "x.txt")
    marked = [line.number for hunk in found.hunks for line in hunk.lines if any(s.names for s in line.spans)]
    assert marked == [2, 3, 4, 2, 3, 4]


def test_what_does_not_print_is_not_hidden_from_a_reviewer() -> None:
    """Nor can it turn the rest of the line around, or act on a terminal."""
    (hunk,) = view("x\n", "is_admin = False  # \u202e eurT = \x1b[2K\u200b\n").hunks
    assert hunk.lines[-1].text == "is_admin = False  # \\u202e eurT = ␛[2K\\u200b"
