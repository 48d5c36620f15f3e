"""What waits for a person is one line, and names the place of its log (AUDIT-N2)."""

import pytest

from musician.reporting.asks import worded

LOG = "; see .musician/logs/task-01.agent.log"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("enough\nfor today", "enough for today"),
        ("e" * 400 + LOG, "e" * 400 + LOG),
        ("a conflict" + LOG + "\n" + "+one\n" * 100, "a conflict" + LOG + " …"),
        ("it ended with …", "it ended with …"),
    ],
)
def test_what_waits_is_one_line_with_the_place_of_its_log(text: str, shown: str) -> None:
    assert worded(("error", text)) == f"error: {shown}"
