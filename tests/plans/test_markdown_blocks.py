"""Cutting Markdown into top-level blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.plans.markdown import (
    Fence,
    Heading,
    ListItem,
    Prose,
    code_after,
    join_prose,
    normalise,
    read_document,
    split_at,
)

NASTY_LINES = st.lists(
    st.sampled_from(
        [
            "",
            "text",
            "# one",
            "## two ##",
            "  ### three",
            "    # code",
            "\t# code",
            "```",
            "````md",
            "~~~",
            "  ```bash run",
            "- item",
            "- test: `x`",
            "  - nested",
            "1. one",
            "   # in list",
            "> quote",
            "---",
            "===",
            "<!--",
            "-->",
            "<div>",
            "<script>",
            "[ref]: /url",
            "\x0c",
            "\u2028",
        ]
    ),
    max_size=14,
).map("\n".join)


def _headings(text: str) -> list[tuple[int, str, int]]:
    return [
        (block.level, block.text, block.line)
        for block in read_document(text).blocks
        if isinstance(block, Heading)
    ]


def test_headings_have_level_text_and_line() -> None:
    assert _headings("# One\n\ntext\n\n  ## Two `x` ##\nThree\n=====\n") == [
        (1, "One", 1),
        (2, "Two `x`", 5),
        (1, "Three", 6),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- item\n\n  # in a list\n",
        "> # in a quote\n",
        "> - # in a list in a quote\n",
        "```\n# in a fence\n```\n",
        "~~~\n```\n# in a tilde fence\n~~~\n",
        "<!--\n# in a comment\n-->\n",
        "    # indented code\n",
        "```\n# in a fence that is never closed\n",
        "---\n# in: front matter\n---\n",
        "#no space\n",
        "\\# escaped\n",
    ],
)
def test_only_top_level_headings_count(text: str) -> None:
    assert _headings(text) == []


def test_a_fence_has_its_words_its_content_and_its_line() -> None:
    fence = read_document("text\n\n~~~ bash   run\na\n\n```\n~~~\n").blocks[2]
    assert isinstance(fence, Fence)
    assert (fence.words, fence.content, fence.line, fence.closed) == (("bash", "run"), "a\n\n```\n", 3, True)


@pytest.mark.parametrize(
    "text", ["```x", "```x\n", "```x\na", "```x\na\n~~~\n", "````x\n```\n", "```x\n    ```\n"]
)
def test_an_unclosed_fence_is_known_and_gets_its_end_as_prose(text: str) -> None:
    document = read_document(text)
    fence = document.blocks[0]
    assert isinstance(fence, Fence)
    assert not fence.closed
    again = read_document(document.prose(document.blocks)).blocks[0]
    assert isinstance(again, Fence)
    assert (again.closed, again.content.rstrip("\n")) == (True, fence.content.rstrip("\n"))


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("<!-- a", False),
        ("<!-- a\n\nb -->", True),
        ("<script>\n", False),
        ("<?php\n", False),
        ("<div>\n", True),
        ("<!-->", True),
    ],
)
def test_an_unclosed_comment_is_known(text: str, closed: bool) -> None:
    block = read_document(text).blocks[0]
    assert isinstance(block, Prose)
    assert block.closed is closed


def test_list_items_at_the_top_are_blocks_with_what_is_in_them() -> None:
    blocks = read_document("- a `b`\n- c\n  - d\n- ```bash run\n  x\n  ```\n\n> - e\n").blocks
    items = [block for block in blocks if isinstance(block, ListItem)]
    assert [(item.lead, item.alone, item.line) for item in items] == [
        ("a `b`", True, 1),
        ("c", False, 2),
        ("", False, 4),
    ]
    assert [fence.words for item in items for fence in item.fences] == [("bash", "run")]


def test_front_matter_is_read_with_its_place() -> None:
    front = read_document("---\na: 1\n\nb: 2\n---\n# T\n").front_matter
    assert front is not None
    assert (front.content, front.line) == ("a: 1\n\nb: 2", 1)


def test_a_bom_and_foreign_line_ends_change_nothing() -> None:
    text = "---\na: 1\n---\n# T\n\n```x\ny\n```\n"
    assert normalise("\ufeff" + text.replace("\n", "\r\n")) == text
    assert read_document("\ufeff" + text.replace("\n", "\r")) == read_document(text)


@given(NASTY_LINES | st.text(max_size=60))
def test_blocks_cover_every_line_once_and_in_order(text: str) -> None:
    document = read_document(text)
    position = document.front_matter.end if document.front_matter else 0
    for block in document.blocks:
        assert block.start == position < block.end
        position = block.end
    assert position == len(document.lines)


@given(NASTY_LINES)
def test_prose_keeps_its_meaning_where_structure_is_taken_out(text: str) -> None:
    """No heading appears that was none before, and none that was left in goes missing."""
    document = read_document(f"# Begin\n\n{text}")
    kept = [block for block in document.blocks if not (isinstance(block, Fence) and block.words)]
    prose = document.prose(kept)
    assert [text for _, text, _ in _headings(prose)] == [
        block.text for block in kept if isinstance(block, Heading)
    ]
    again = read_document(prose)
    assert again.prose(again.blocks) == prose


def test_joined_prose_is_apart_from_a_list_before_it() -> None:
    joined = join_prose(["- a", "", "\n  ```\n# x\n  ```\n", "b"])
    assert joined == "- a\n\n<!-- -->\n\n  ```\n# x\n  ```\n\nb"
    assert _headings(joined) == []


def test_sections_begin_at_headings_of_a_level_and_above() -> None:
    blocks = read_document("a\n## B\n### C\n# D\n").blocks
    assert [(heading and heading.text, len(section)) for heading, section in split_at(blocks, 2)] == [
        (None, 1),
        ("B", 1),
        ("D", 1),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("test: `a b`", "a b"),
        ("test:`` a`b ``", "a`b"),
        ("test: a", None),
        ("test: `a` b", None),
        ("test: `a` `b`", None),
        ("note: `a`", None),
        ("", None),
    ],
)
def test_a_code_span_is_read_only_behind_its_lead(text: str, code: str | None) -> None:
    assert code_after(text, "test:") == code
