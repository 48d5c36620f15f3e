"""What a person says to one line of a task's change. A rejection carries it as one of its points."""

from typing import Literal, get_args

from musician.protocol.errors import BadField
from musician.protocol.messages.checks import check_said
from musician.protocol.values import dataclass

Side = Literal["old", "new"]
"""A line that the task's work has removed stands on the old side only."""

MOST_QUOTED_CHARS = 200
"""Of a line that a point quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """``commit_id`` is one that has the line, on its side, and ``quoted`` is the line as it is there."""

    path: str
    line: int
    commit_id: str
    text: str
    side: Side = "new"
    quoted: str = ""

    def __post_init__(self) -> None:
        if self.side not in get_args(Side):
            raise BadField(field="side", value=self.side, reason="use old or new")
        if self.line < 1 or not self.path:
            raise BadField(field="line", value=f"{self.path}:{self.line}", reason="name a line as FILE:LINE")
        check_said("text", self.text)

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" + (" (removed)" if self.side == "old" else "")

    @property
    def point(self) -> str:
        """The line's own words go with its number: whoever answers may have moved it by then."""
        quoted = " ".join(self.quoted.split())[:MOST_QUOTED_CHARS]
        return f"{self.place}: {self.text.strip()}" + (f"\n| {quoted}" if quoted else "")
