"""What waits for a person is one line, and names the place of its log (AUDIT-N2)."""

import pytest

from musician.reporting.asks import ANSWERS, JUDGED, answers_to, asked
from musician.store.rows import HumanRow

LOG = "; see musician log task-01"


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
    ask = HumanRow(
        id=1,
        task_id="task-01",
        kind="error",
        subject_id=1,
        text=text,
        at="",
        resolved_at=None,
        resolution=None,
    )
    assert asked(ask) == f"error: {shown}"


@pytest.mark.parametrize("kind", sorted(ANSWERS.keys() - JUDGED))
def test_what_waits_has_one_step_that_needs_no_shell(kind: str) -> None:
    """DASHBOARD-ORDERS: on the page and in `top`; what is judged has its review."""
    ask = HumanRow(
        id=1, task_id="task-01", kind=kind, subject_id=1, text="x", at="", resolved_at=None, resolution=None
    )
    assert any(each.order for each in answers_to(ask, plan_id="greeter"))
