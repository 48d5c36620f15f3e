"""Correction steps: what a musician must put right before anything else (D17, sources "correction task").

They are part of the conductor's answer, after its text, so that the message is the whole answer::

    CORRECTIONS, before anything else:
    1. revert step 2
    2. skip step 3
    3. printf 'hello' > greeting.txt

Each is one of four: *revert* undoes a finished step, which is then played again (``and skip it``: which then counts as
done), *skip* leaves an item out, and anything else is a step of its own, which the shell agent runs and a model reads.
A step is named after the message it came in, so that it is known wherever it is met; a later answer with corrections
takes the place of those of an earlier one that are not played yet.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from musician.protocol.errors import BadField
from musician.protocol.messages.numbered import as_list, heading, read_list
from musician.protocol.values import dataclass

MOST_CORRECTIONS = 50
"""In one answer."""

BEGIN = heading("CORRECTIONS")
"""What finds the line above them."""
_HEADING = "CORRECTIONS, before anything else:"
_TARGET = r"(?P<target>step \d{1,6}(?: agent \d{1,6})?|correction \d{1,19}\.\d{1,3})"
_ITEM = re.compile(r"correction (\d{1,19})\.", re.ASCII)
_REVERT = re.compile(rf"revert {_TARGET}(?P<skip> and skip it)?\s*", re.ASCII | re.IGNORECASE)
_SKIP = re.compile(rf"skip {_TARGET}\s*", re.ASCII | re.IGNORECASE)


class Way(StrEnum):
    """How a correction is carried out."""

    PLAY = "play"
    REVERT = "revert"
    REVERT_AND_SKIP = "revert and skip"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """``item`` is ``correction <message>.<number>``; ``target`` the item it undoes or skips, "" if it is played."""

    item: str
    text: str
    way: Way = Way.PLAY
    target: str = ""

    @classmethod
    def of(cls, item: str, text: str) -> "Correction":
        """Parse the text of a correction step."""
        if found := _REVERT.fullmatch(text):
            way = Way.REVERT_AND_SKIP if found["skip"] else Way.REVERT
            return cls(item=item, text=text, way=way, target=found["target"].lower())
        if found := _SKIP.fullmatch(text):
            return cls(item=item, text=text, way=Way.SKIP, target=found["target"].lower())
        return cls(item=item, text=text)

    @property
    def title(self) -> str:
        return self.text.split("\n", 1)[0]


def with_corrections(text: str, corrections: Iterable[str]) -> str:
    """Append correction steps to an answer. Raises :class:`BadField` for an empty step."""
    steps = [step.strip("\n") for step in corrections]
    if not steps:
        return text
    if len(steps) > MOST_CORRECTIONS or not all(step.strip() for step in steps):
        raise BadField(
            field="corrections",
            value=f"{len(steps)} steps",
            reason=f"1 to {MOST_CORRECTIONS} steps, each says what to do",
        )
    return "\n".join([text, "", _HEADING, as_list(steps)])


def corrections_in(text: str, message_id: int) -> tuple[Correction, ...]:
    """Return the correction steps of a message, in order."""
    begin = BEGIN.search(text)
    texts = read_list(text[begin.end() :])[:MOST_CORRECTIONS] if begin else ()
    return tuple(
        Correction.of(f"correction {message_id}.{number}", step)
        for number, step in enumerate(texts, start=1)
        if step
    )


def is_correction(item: str) -> bool:
    return item.startswith("correction ")


def order_id(item: str) -> int:
    """Return the id of the message that a correction came in; 0 if the item is no correction."""
    found = _ITEM.match(item)
    return int(found[1]) if found else 0
