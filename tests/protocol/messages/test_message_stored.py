"""A stored message is read by its fields; by its text where a raw writer stored nothing else."""

import json

import pytest
from hypothesis import given

from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.stored import (
    FieldedMessage,
    fields_of,
    read_message,
    read_report,
    read_resumption,
    read_submission,
)
from musician.protocol.messages.submissions import ReviewRequest
from musician.protocol.messages.types import ErrorReport
from tests.protocol.messages.test_message_round_trip import messages, texts
from tests.protocol.messages.test_messages import TYPES, review
from tests.said import resumption

RAW_TEXTS = [
    "",
    "it's done",
    "'); UPDATE orchestration_tasks SET state='complete' WHERE ('1'='1",
    "$(touch PWNED) `touch PWNED`",
    "-- trailing comment",
    "ends with a backslash \\",
    "%s %d {0} {task_id} :name ?1 @p",
    "<img src=x onerror=\"fetch('/api/x')\">",
    "<script>document.title='xss'</script>",
    "[click](javascript:alert(1))",
    '"><svg onload=alert(1)>',
    "</script><script>alert(1)</script>",
    "{{7*7}} ${7*7}",
]
"""B18, B40."""


@given(messages)
def test_every_message_comes_back_from_its_fields_alone(message: FieldedMessage) -> None:
    assert read_message(message.type, "another text", fields_of(message)) == message


@given(messages)
def test_without_fields_the_text_is_read(message: FieldedMessage) -> None:
    assert read_message(message.type, message.render(), None) == message


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("text", RAW_TEXTS)
def test_a_raw_writers_text_says_such_a_message_or_none(kind: type[FieldedMessage], text: str) -> None:
    """B18, B40."""
    found = read_message(kind.type, f"Summary: {text}\nTests: none", None)
    assert (getattr(found, "summary", None) == text) is (kind is ReviewRequest)
    assert read_message(kind.type, text, None) is None


def test_what_has_no_fields_is_its_text() -> None:
    assert read_message(MessageType.NOTE, "Summary: x", None) is None
    assert read_message(None, "Summary: x", None) is None


@given(texts)
def test_fields_that_cannot_be_are_as_good_as_none(fields: str) -> None:
    whole = review()
    assert read_submission(whole.type, whole.render(), fields) == whole


@pytest.mark.parametrize(
    "change",
    [
        {"smoothness": 10},
        {"smoothness": 1.5},
        {"smoothness": True},
        {"context_usage_pct": 10**400},
        {"context_usage_pct": float("nan")},
        {"context_usage_pct": "35"},
        {"deviations": []},
        {"deviations": {"count": 1, "worst": "Grave"}},
        {"deviations": {"count": 1, "worst": []}},
        {"deviations": {}},
        {"key_outputs": "src/a.py"},
        {"key_outputs": [{"path": "../a.py", "kind": "created"}]},
        {"summary": "\ud83d"},
        {"ruled": True},
    ],
)
def test_a_field_that_cannot_be_spoils_all(change: dict[str, object]) -> None:
    """Whoever has the file can write them."""
    whole = review()
    said = json.dumps(json.loads(fields_of(whole)) | change)
    assert read_submission(whole.type, whole.render(), said) == whole
    assert read_submission(whole.type, "", said) is None


def test_fields_nested_beyond_reading_are_none() -> None:
    assert read_submission("review_request", "", "[" * 100_000 + "]" * 100_000) is None


@given(texts)
def test_a_journals_announcement_is_a_resumption_or_none(text: str) -> None:
    """A raw writer can write into a journal, too."""
    told = resumption()
    assert read_resumption(told.render()) == told
    assert read_resumption(f"left: {text}") is None


def test_a_report_is_no_submission_and_the_reverse() -> None:
    text = "ERROR (Retry 1/5):\n  Error: it broke"
    assert read_submission(MessageType.ERROR, text, None) is None
    assert read_report(MessageType.ERROR, text, None) == ErrorReport.parse(text)
    assert read_report(MessageType.REVIEW_REQUEST, review().render(), None) is None
