"""What a query answers: whole within its bounds, else cut in valid UTF-8 and said so (B16)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from musician.mcp_server.table import as_text, cut
from musician.store.port import Answer

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


_LINE = re.compile(r"((?:[^\\|]|\\.)*)\|((?:[^\\|]|\\.)*)", re.DOTALL)
_UNDONE = {"\\\\": "\\", "\\|": "|", "\\n": "\n", "\\r": "\r", "\\0": "\0"}


def answer(*rows: tuple[str, ...], more: bool = False) -> Answer:
    return Answer(columns=("a", "b")[: len(rows[0])], rows=rows, more=more)


def test_b16_an_answer_that_is_exactly_full_is_whole() -> None:
    assert as_text(answer(("xy",), ("zw",)), most_bytes=5) == "a\nxy\nzw"


def test_b16_an_answer_that_is_one_byte_too_long_is_cut_after_a_row() -> None:
    said = as_text(answer(("xy",), ("zwv",)), most_bytes=5)
    assert said.startswith("a\nxy\ntruncated: true; 1 row shown; ")


def test_b16_more_rows_than_were_fetched_are_said() -> None:
    assert "truncated: true; 2 rows shown" in as_text(answer(("x",), ("y",), more=True))


@given(text=TEXTS.filter(bool), most=st.integers(0, 40))
def test_b16_a_row_too_long_is_cut_between_characters(text: str, most: int) -> None:
    said = as_text(answer((text * 50,)), most_bytes=most).encode()
    assert said.decode()  # valid
    shown = said.removeprefix(b"a\n").partition(b"\ntruncated: true")[0]
    assert len(shown) <= most


@given(text=TEXTS, most=st.integers(0, 100))
def test_what_is_cut_is_a_beginning_and_as_long_as_fits(text: str, most: int) -> None:
    beginning = cut(text, most)
    assert text.startswith(beginning)
    size = len(beginning.encode())
    assert size <= most
    assert beginning == text or size + len(text[len(beginning)].encode()) > most


@given(row=st.tuples(TEXTS, TEXTS))
def test_b18_a_value_is_read_back_from_its_line_exactly(row: tuple[str, str]) -> None:
    line = as_text(answer(row), most_bytes=100_000).removeprefix("a|b\n")
    assert "\n" not in line
    found = _LINE.fullmatch(line)
    assert found is not None
    assert tuple(re.sub(r"\\.", lambda each: _UNDONE[each[0]], part) for part in found.groups()) == row
