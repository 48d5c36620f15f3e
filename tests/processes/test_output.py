"""The bounded log, and quoting output in one line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.processes.output import JOINER, OutputLog, json_text, one_line, printable, visible


def test_a_log_is_appended_to_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "task.log"
    for data in (b"one\r\n", b"\xff\x00"):
        with OutputLog(path) as log:
            log.write(data)
    assert path.read_bytes() == b"one\r\n\xff\x00"


def test_a_remark_starts_on_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "task.log"
    with OutputLog(path) as log:
        log.remark("first")
        log.write(b"half")
        log.remark("second")
        log.write(b"whole\n")
        log.remark("third")
    assert path.read_text() == "first\nhalf\nsecond\nwhole\nthird\n"


def test_output_over_the_limit_is_cut_once_with_a_note_and_remarks_go_on(tmp_path: Path) -> None:
    path = tmp_path / "task.log"
    with OutputLog(path, limit=4) as log:
        for _ in range(3):
            log.write(b"abc")
        log.remark("end")
    text = path.read_text()
    assert text.startswith("abca\n")
    assert text.count("not kept") == 1
    assert text.endswith("\nend\n")


def test_output_of_exactly_the_limit_is_not_called_cut(tmp_path: Path) -> None:
    path = tmp_path / "task.log"
    with OutputLog(path, limit=4) as log:
        log.write(b"abcd")
        log.write(b"")
    assert path.read_bytes() == b"abcd"


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        OutputLog(tmp_path / "file" / "task.log")


@given(text=st.text(), limit=st.integers(1, 30))
def test_a_quotation_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert JOINER.sub("", line).isprintable()
    assert line == line.strip() or line.endswith("…")


@given(text=st.text())
def test_what_a_reviewer_sees_hides_nothing_and_acts_on_nothing(text: str) -> None:
    shown = visible(text)
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    assert len(shown) >= len(text)
    assert visible("a\x1b[1m\N{RIGHT-TO-LEFT OVERRIDE}b\r\n\xa0") == "a␛[1m\\u202eb␍\n\\xa0"


ATTACKS = {
    "a colour": ("\x1b[31mred", "␛[31mred"),
    "the title, and its end": ("\x1b]0;x\x07", "␛]0;x␇"),
    "a link": ("\x1b]8;;http://evil\x1b\\\\here", "␛]8;;http://evil␛\\\\here"),
    "the clipboard": ("\x1b]52;c;cm0=\x9c", "␛]52;c;cm0=\\x9c"),
    "what begins in one byte": ("\x9b2J\x90q", "\\x9b2J\\x90q"),
    "directions": ("\u202a\u202b\u202c\u202d\u202e", r"\u202a\u202b\u202c\u202d\u202e"),
    "isolates": ("\u2066\u2067\u2068\u2069\u200e\u061c", r"\u2066\u2067\u2068\u2069\u200e\u061c"),
    "no width": ("a\u200b\u200c\u200d\u2060\ufeff\u00adb", r"a\u200b\u200c\u200d\u2060\ufeff\xadb"),
    "joiners where nothing is joined": (
        "é\u200dé日\u200c本ب\u200d\u200dب",
        r"é\u200dé日\u200c本ب\u200d\u200dب",
    ),
    "blanks that are letters": (
        "a\u3164\u115f\u034f\ufe01\U000e0101b",
        r"a\u3164\u115f\u034f\ufe01\U000e0101b",
    ),
    "back and over": ("ok\rno\b\x7f\x0b\x0c\0", "ok␍no␈␡␋␌␀"),
    "half a byte's worth": ("\udc9b", r"\udc9b"),
}


@pytest.mark.parametrize(("text", "shown"), ATTACKS.values(), ids=list(ATTACKS))
def test_what_does_not_print_is_shown_and_does_nothing(text: str, shown: str) -> None:
    assert printable(text) == shown == printable(shown)
    assert one_line(text, 100) == shown
    assert visible(text) == shown


@given(text=st.text())
def test_json_is_complete_and_acts_on_no_terminal(text: str) -> None:
    said = json_text({"text": text})
    assert json.loads(said) == {"text": text}
    assert printable(said).split() == said.split()


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Größe ✔\ufe0f 日本\n\té می\u200cخواهم क्\u200dष 👩🏽\u200d🚀🏳\ufe0f\u200d🌈"
    assert printable(text + "\r\n 5\u202f000\xa0€") == text + "\n 5 000 €"
    assert json.loads(json_text(text)) == text
    assert json_text("Größe ✔\ufe0f 日本\n\té") == r'"Größe ✔\ufe0f 日本\n\té"'.replace(r"\ufe0f", "\ufe0f")


def test_only_a_cut_quotation_has_an_ellipsis() -> None:
    assert one_line(" a\n\tb\x1b[0m ", 6) == "a b␛[…"
    assert one_line("abc", 3) == "abc"
