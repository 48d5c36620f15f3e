"""Every message survives its text form, whatever its texts contain (D14)."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from musician.protocol.errors import UnreadableMessage
from musician.protocol.messages.checks import ABSENT, MOST_COUNTED
from musician.protocol.messages.forms import Message
from musician.protocol.messages.particulars import (
    AgentsRemaining,
    Counted,
    Deviations,
    KeyOutput,
    Nth,
    OutputKind,
    SelfCorrection,
)
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import (
    ClaimBlockedNotice,
    ContextWarning,
    ErrorReport,
    HandoffNotice,
    Resumption,
)
from musician.protocol.rules.deviations import Severity

TYPES: tuple[type[Any], ...] = (
    ReviewRequest,
    Completion,
    ErrorReport,
    ContextWarning,
    ClaimBlockedNotice,
    HandoffNotice,
    Resumption,
)

# Pieces that could pass for something else: labels, headings, brackets, separators, line ends, blanks.
_PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            " ",
            "    ",
            "  \n",
            "\t",
            "\x00",
            "\x85",
            "\u2028",
            ": ",
            " — ",
            "(",
            ")",
            ").",
            " (",
            "unknown",
            "none",
            "N/A",
            "YES (",
            "NO",
            "~8% each",
            "3 (~8% each, ~24% total)",
            "1 (Medium — x)",
            "unrated",
            "Summary: not the summary",
            "  Tests: red",
            "\n  Checkpoint: 5 of 5",
            "\n    Context Usage: 99%",
            "\nHANDOFF: x",
            "\n- Deviations: 7",
            "\n  Awaiting conductor instructions",
            "\n  Created fallback row to exit cleanly. Conductor intervention needed.",
            " Conductor intervention needed.",
            " taking over",
            "REVIEW REQUEST (Smoothness: 4/9):",
            "Key Outputs:\n  - a (created)",
            "é🎻",
        ]
    ),
)
texts = st.lists(_PIECES, max_size=6).map("".join)
_LINE_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"])
lines = (
    st.one_of(
        st.text(_LINE_CHARACTERS, min_size=1, max_size=20),
        st.sampled_from(["a: b", "x taking over", "HANDOFF: y", "(z)", "- q"]),
    )
    .map(str.strip)
    .filter(lambda line: bool(line) and line.lower() not in ABSENT)
)
paths = st.one_of(
    lines,
    st.sampled_from(["a b.md", "a (created)", "docs/é.md", "..a/b..", "a/...", "C:x", "k.md (modified) (x)"]),
).filter(
    lambda path: path[0] not in "/\\~" and ".." not in path.replace("\\", "/").split("/") and path[1:2] != ":"
)
usages = st.none() | st.floats(0, 100) | st.integers(0, 100)
estimates = st.none() | st.floats(0, 10_000)
counts = st.none() | st.integers(0, MOST_COUNTED)
nths = st.none() | st.integers(1, 1000).flatmap(
    lambda of: st.builds(Nth, number=st.integers(1, of), of=st.just(of))
)
corrections = st.builds(SelfCorrection, happened=st.none() | st.booleans(), details=texts)
deviations = st.one_of(
    st.builds(Deviations, count=st.none() | st.just(0), description=texts),
    st.builds(
        Deviations,
        count=st.none() | st.integers(1, MOST_COUNTED),
        worst=st.none() | st.sampled_from(Severity),
        description=texts,
    ),
)
remaining = st.builds(
    AgentsRemaining, count=counts, each_pct=estimates, total_pct=estimates, description=texts
)
counted = st.builds(Counted, count=counts, remark=texts)
outputs = st.lists(st.builds(KeyOutput, path=paths, kind=st.sampled_from(OutputKind)), max_size=4).map(tuple)

_submitted: dict[str, st.SearchStrategy[Any]] = {
    "context_usage_pct": usages,
    "self_correction": corrections,
    "deviations": deviations,
    "agents_remaining": remaining,
    "proposal": st.none() | paths,
    "summary": texts,
    "files_modified": counts,
    "tests": texts,
    "smoothness": st.none() | st.integers(0, 9),
    "key_outputs": outputs,
}
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(ReviewRequest, checkpoint=nths, reason=texts, **_submitted),
    st.builds(
        Completion,
        checkpoint=st.none() | st.integers(1, 50).map(lambda of: Nth(number=of, of=of)),
        report=st.none() | paths,
        **_submitted,
    ),
    st.builds(
        ErrorReport,
        retry=nths,
        context_usage_pct=usages,
        self_correction=corrections,
        error=texts,
        report=st.none() | paths,
        suggested_investigation=texts,
        key_outputs=outputs,
    ),
    st.builds(
        ContextWarning,
        context_usage_pct=usages,
        self_correction=corrections,
        agents_remaining=remaining,
        agents_that_fit=counted,
        deviations=deviations,
        to_checkpoint_pct=estimates,
        recommendation=texts,
        budget_pct=st.floats(0, 100),
    ),
    st.builds(
        ClaimBlockedNotice,
        task_id=st.sampled_from(["task-03", "a.b", "x", "task-1.2.3"]),
        reason=texts,
        context_usage_pct=usages,
    ),
    st.builds(
        HandoffNotice,
        reason=texts.filter(lambda text: bool(text.strip())),
        handoff_path=st.none() | paths,
        context_usage_pct=usages,
        self_correction=corrections,
        last_completed_step=texts,
        remaining_steps=texts,
        proposals_pending=counted,
        key_outputs=outputs,
    ),
    st.builds(
        Resumption,
        worked_by=lines,
        previous_session=st.none() | lines,
        handoff=texts,
        context_usage_pct=usages,
        deviations_found=deviations,
        mismatches=counted,
        pending_messages=counted,
        previous_self_correction=corrections,
        assessment=texts,
        verification=texts,
        resuming_from=texts,
        estimate=texts,
    ),
)


@given(messages)
@example(
    HandoffNotice(
        reason="a\r",
        handoff_path=None,
        context_usage_pct=None,
        self_correction=SelfCorrection(happened=None),
        last_completed_step="\r",
        remaining_steps="\n\r",
    )
)
@example(ClaimBlockedNotice(task_id="a.b", reason="x). Conductor intervention needed."))
def test_every_message_comes_back_from_its_text_as_it_was(message: Message) -> None:
    assert type(message).parse(message.render()) == message


@given(messages)
def test_every_message_comes_back_after_blank_lines_were_put_around_it(message: Message) -> None:
    assert type(message).parse("\n" + message.render() + "\n\n") == message


@pytest.mark.parametrize("kind", TYPES)
@given(text=texts)
def test_any_text_is_a_message_or_refused_with_its_field_and_line(kind: type[Message], text: str) -> None:
    refused = None
    try:
        message = kind.parse(text)
    except UnreadableMessage as error:
        refused = error
    if refused is None:
        assert kind.parse(message.render()) == message
    else:
        assert refused.field
        assert 1 <= refused.line <= text.count("\n") + 1
