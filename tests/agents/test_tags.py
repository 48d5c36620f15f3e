"""Reading tags from output, whatever the output looks like."""

import itertools
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.agents.port import (
    AgentEvent,
    DeviationRuled,
    GaveUp,
    LeftToPerson,
    ProposalMade,
    Replied,
    VerdictGiven,
)
from musician.agents.tags import MAX_LINE_BYTES, MAX_TEXT_CHARS, Line, LineReader
from musician.processes.output import printable
from musician.protocol.messages.feedback import MOST_POINTS
from musician.protocol.musician.inputs import (
    AnswerTold,
    ContextTold,
    DeviationTold,
    PartialTold,
    QuestionTold,
    SelfCorrectionTold,
)
from musician.protocol.rules.deviations import Severity

NO_WHAT = "it does not say what deviates"


def read(*chunks: bytes) -> list[Line]:
    reader = LineReader()
    lines = [line for chunk in chunks for line in reader.feed(chunk)]
    return lines + reader.close()


def only_event(text: str) -> AgentEvent | None:
    (line,) = read(text.encode() + b"\n")
    assert line.complaint is None
    return line.event


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("::context 58%", ContextTold(used_pct=58.0)),
        ("::context 58.5%", ContextTold(used_pct=58.5)),
        ("::context 0%", ContextTold(used_pct=0.0)),
        ("::context 100 %", ContextTold(used_pct=100.0)),
        ("::context 120000/200000", ContextTold(used_pct=60.0)),
        ("::context 360236 / 1000000", ContextTold(used_pct=36.0236)),
        (" \t::context 58%  ", ContextTold(used_pct=58.0)),
        ("::deviation Medium took sqlite", DeviationTold(severity=Severity.MEDIUM, text="took sqlite")),
        ("::deviation low: a  b", DeviationTold(severity=Severity.LOW, text="a b")),
        ("::deviation HIGH rm", DeviationTold(severity=Severity.HIGH, text="rm")),
        ("::self-correction wrote it again", SelfCorrectionTold(text="wrote it again")),
        ("::question which port?", QuestionTold(text="which port?")),
        ("::question: which port?", QuestionTold(text="which port?")),
        ("::answer 2 asks for the value", AnswerTold(number=2, text="asks for the value")),
        ("::answer 20: so", AnswerTold(number=20, text="so")),
        ("::verdict approve", VerdictGiven(judgement="approve")),
        ("::verdict Reject: say why", VerdictGiven(judgement="reject", text="say why")),
        ("::verdict fix a  b", VerdictGiven(judgement="fix", text="a b")),
        ("::rule 2", DeviationRuled(number=2)),
        ("::reply  use  a", Replied(text="use a")),
        ("::ask-person it costs", LeftToPerson(text="it costs")),
        ("::partial no docs yet", PartialTold(text="no docs yet")),
        ("::failed no such library", GaveUp(text="no such library")),
        ("::partial café \x1b[31mred", PartialTold(text="café ␛[31mred")),
    ],
)
def test_a_tag_line_is_an_event(text: str, event: AgentEvent) -> None:
    assert only_event(text) == event


@pytest.mark.parametrize("used", [49, 50, 64, 65, 74, 75, 79, 80])
@pytest.mark.parametrize("window", [200_000, 1_000_000])
def test_b28_a_reading_is_exact_at_the_thresholds(used: int, window: int) -> None:
    assert only_event(f"::context {used}%") == ContextTold(used_pct=used)
    assert only_event(f"::context {used * window // 100}/{window}") == ContextTold(used_pct=used)


@pytest.mark.parametrize(
    "reading",
    [
        "360236/200000",
        "101%",
        "100.01%",
        "5/0",
        "0/0",
        "-1%",
        "-5/200000",
        "5/-1",
        "9" * 400 + "%",
    ],
)
def test_b28_a_reading_that_cannot_be_is_unknown(reading: str) -> None:
    assert only_event(f"::context {reading}") == ContextTold(used_pct=None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("::context", "says nothing"),
        ("::context lots", "120000/200000"),
        ("::context 58", "58%"),
        ("::context nan%", "58%"),
        ("::context ٥٨%", "58%"),
        ("::verdict fine", "approve, reject, fix"),
        ("::rule all", "number of a deviation"),
        ("::rule 0", "number of a deviation"),
        ("::question:", "says nothing"),
        ("::answer the link", "number of a point"),
        ("::answer 0 x", "number of a point"),
        (f"::answer {MOST_POINTS + 1} x", "number of a point"),
        ("::answer ² x", "number of a point"),
        ("::answer 1", "does not say what was done"),
    ],
)
def test_a_malformed_tag_is_a_complaint_and_no_event(text: str, why: str) -> None:
    (line,) = read(text.encode() + b"\n")
    assert line.event is None
    assert line.complaint is not None
    assert why in line.complaint
    assert line.is_tag


@pytest.mark.parametrize(
    ("text", "event", "why"),
    [
        ("::deviation Huge x", DeviationTold(severity=Severity.HIGH, text="Huge x"), "Low, Medium or High"),
        ("::deviation", DeviationTold(severity=Severity.HIGH, text=NO_WHAT), "says nothing"),
        ("::deviation Medium", DeviationTold(severity=Severity.MEDIUM, text=NO_WHAT), "what deviates"),
        ("::self-correction", SelfCorrectionTold(text="it does not say what was wrong"), "says nothing"),
        ("::failed", GaveUp(text="it does not say why"), "says nothing"),
    ],
)
def test_what_an_agent_owns_up_to_is_heard_however_it_is_put(text: str, event: AgentEvent, why: str) -> None:
    """D17.1: nobody is approved for having misspelled a deviation."""
    (line,) = read(text.encode() + b"\n")
    assert line.event == event
    assert line.complaint is not None
    assert why in line.complaint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "x ::context 58%",
        "::group::build",
        "::contextual 5%",
        "::partial-ly",
        ":: context 5%",
        "::Context 5%",
        ">::context 5%",
    ],
)
def test_any_other_line_is_output(text: str) -> None:
    assert read(text.encode() + b"\n") == [Line(text=text)]


def test_line_ends_of_both_kinds_and_a_last_line_without_one() -> None:
    lines = read(b"one\r\n\r\n::context 5%\r\nlone\rreturn\n::partial rest")
    assert [line.text for line in lines] == ["one", "", "::context 5%", "lone\rreturn", "::partial rest"]
    assert lines[2].event == ContextTold(used_pct=5.0)
    assert lines[4].event == PartialTold(text="rest")


def test_no_output_is_no_line() -> None:
    assert read() == read(b"") == []


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    (line,) = read(b"::question \xff\xfe why\n")
    assert line.event == QuestionTold(text="�� why")


def test_a_long_line_is_cut_and_the_next_one_is_read() -> None:
    first, second = read(b"x" * (MAX_LINE_BYTES * 3) + b"::context 5%\n", b"::context 6%\n")
    assert first == Line(text="x" * MAX_LINE_BYTES)
    assert second.event == ContextTold(used_pct=6.0)


def test_a_long_text_is_cut() -> None:
    event = only_event("::question " + "why " * 3000)
    assert isinstance(event, QuestionTold)
    assert len(event.text) == MAX_TEXT_CHARS
    assert event.text.endswith("…")


_FRAGMENTS = st.sampled_from(
    [
        b"::context 58%",
        b"::deviation Low x",
        b"::partial \xc3\xa9",
        b"\n",
        b"\r\n",
        b"\r",
        b"\xff",
        b" ",
        b"y" * MAX_LINE_BYTES,
    ]
)


@given(parts=st.lists(_FRAGMENTS | st.binary(max_size=8), max_size=12), cuts=st.lists(st.integers(0, 60_000)))
def test_any_chunking_gives_the_same_lines(parts: list[bytes], cuts: list[int]) -> None:
    output = b"".join(parts)
    edges = [0, *sorted(min(cut, len(output)) for cut in cuts), len(output)]
    chunks = [output[start:end] for start, end in itertools.pairwise(edges)]
    assert read(*chunks) == read(output)


@given(output=st.binary(max_size=200))
def test_no_output_breaks_the_reader_and_no_line_is_lost(output: bytes) -> None:
    lines = read(output)
    assert len(lines) == output.count(b"\n") + (not output.endswith(b"\n") and bool(output))


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("::proposal PATTERN Use fixtures", ProposalMade(type="PATTERN", title="Use fixtures")),
        ("::proposal: anti-pattern: a | b", ProposalMade(type="ANTI_PATTERN", title="a", path="b")),
        (
            "::proposal RAG a | b | docs/my notes.md",
            ProposalMade(type="RAG", title="a | b", path="docs/my notes.md"),
        ),
        ("::proposal MEMORY a |b", ProposalMade(type="MEMORY", title="a |b")),
    ],
)
def test_a_proposal_has_a_type_a_title_and_perhaps_a_file(text: str, event: AgentEvent) -> None:
    assert only_event(text) == event


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("::proposal", "it says nothing"),
        ("::proposal IDEA x", "the type is one of PATTERN, ANTI_PATTERN"),
        ("::proposal RAG", "it has no title"),
        ("::proposal RAG | docs/x.md", "it has no title"),
        ("::proposal RAG " + "x" * 201, "more than 200 characters"),
    ],
)
def test_a_proposal_that_is_none_is_a_complaint(text: str, reason: str) -> None:
    (line,) = read(text.encode() + b"\n")
    assert line.event is None
    assert reason in (line.complaint or "")


def python_calls(act: Callable[[], object]) -> int:
    """How many functions of Python's are entered: a measure of work that no busy machine changes."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def test_plain_output_is_read_with_little_work_a_line_and_none_a_character() -> None:
    """AUDIT-N13: megabytes of short lines took many seconds."""
    lines = 1000
    plain = b"a short line\n" * lines
    assert python_calls(lambda: LineReader().feed(plain)) <= 2 * lines + 10
    assert python_calls(lambda: printable(plain.decode())) < 10
