"""Evidence speaks of one tree, and of the branch as it stood."""

import pytest

from musician.protocol.rules.evidence import Grounds, why_stale


@pytest.mark.parametrize(
    ("now", "worked_since", "expected"),
    [
        (Grounds(tree_id="a"), False, ""),
        (Grounds(), False, ""),
        (Grounds(tree_id="b"), False, "the work has gone on since"),
        (Grounds(tree_id="a", behind=2), True, "the work has gone on since"),
        (Grounds(tree_id="a", behind=1), False, "by 1 commit that"),
        (Grounds(behind=2), False, "by 2 commits that"),
    ],
)
def test_evidence_is_stale_when_the_work_or_its_base_has_gone_on(
    now: Grounds, worked_since: bool, expected: str
) -> None:
    found = why_stale("a", now, worked_since=worked_since)
    assert expected in found
    assert bool(found) == bool(expected)
