"""What a person says to one line, and the point it becomes."""

import pytest

from musician.protocol.errors import BadField
from musician.protocol.messages.remarks import MOST_QUOTED_CHARS, Remark


def test_a_remark_becomes_a_point_that_quotes_its_line() -> None:
    """LINE-COMMENTS."""
    said = Remark(
        path="a b.py",
        line=3,
        commit_id="c",
        text=" why?\nsay so ",
        side="old",
        quoted="\tx = 1  # y" + "z" * 300,
    )
    assert said.place == "a b.py:3 (removed)"
    assert (
        said.point == f"a b.py:3 (removed): why?\nsay so\n| {('x = 1 # y' + 'z' * 300)[:MOST_QUOTED_CHARS]}"
    )
    assert Remark(path="a", line=1, commit_id="c", text="no", quoted=" ").point == "a:1: no"


@pytest.mark.parametrize(
    "wrong", [{"side": "both"}, {"line": 0}, {"path": ""}, {"text": " \n"}, {"text": "\udcff"}], ids=str
)
def test_what_is_no_remark_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadField):
        Remark(**{"path": "a", "line": 1, "commit_id": "c", "text": "no", **wrong})  # type: ignore[arg-type]
