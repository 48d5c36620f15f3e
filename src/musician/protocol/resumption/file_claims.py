"""What the files of a task tell of its progress: read leniently, for agents and people write into them too (D20).

Nothing here is believed: :mod:`musician.protocol.resumption.mismatches` compares it with what git and the database
know. What a text does not say is empty or None.
"""

import re
from collections.abc import Iterable

from musician.protocol.values import dataclass

_ITEM = r"(?P<item>step \d{1,6}(?: agent \d{1,6})?|checkpoint \d{1,6})"
_STATUS = re.compile(
    _ITEM + r" (?P<word>started|launched|completed|returned|found completed|skipped|undone|approved)\b",
    re.ASCII,
)
_PASSED = re.compile(r"checkpoint \d{1,6} (?:verification:|approved\b)", re.ASCII)
_COMPLETE = re.compile(r"task complete\b")
_BEGUN = frozenset({"started", "launched"})

_SECTION = re.compile(
    r"^##[ \t]+(?P<name>.+?)[ \t]*$\n(?P<body>.*?)(?=^##[ \t]|\Z)", re.MULTILINE | re.DOTALL
)
_BULLET = re.compile(r"^[-*][ \t]+(?P<text>.*?)[ \t]*$", re.MULTILINE)
_BULLET_ITEM = re.compile(_ITEM + r"\b(?P<rest>.*)", re.ASCII | re.IGNORECASE)
_IN_PART = re.compile(r"\bpartial|\bnot started|\bnot done", re.IGNORECASE)
_COMMIT = re.compile(r"Commit:[ \t]*(?P<id>[0-9a-f]{7,64})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClaims:
    """``completed`` and ``approved`` are items' names as the journal has them; ``current`` is what was begun last and
    not ended, or what comes next. ``passed``: the last thing told is a checkpoint that passed.
    """

    completed: frozenset[str] = frozenset()
    approved: frozenset[str] = frozenset()
    current: str = ""
    commit: str | None = None
    deviations: int | None = None
    is_complete: bool = False
    passed: bool = False


def claims_of_status(lines: Iterable[str]) -> FileClaims:
    """What ``temp/<task>-status`` tells, read from the top: what is undone later is not told to be done."""
    completed: set[str] = set()
    approved: set[str] = set()
    current, is_complete, passed = "", False, False
    for line in filter(None, map(str.strip, lines)):
        passed = _PASSED.match(line) is not None
        is_complete = _COMPLETE.match(line) is not None
        found = _STATUS.match(line)
        if found is None:
            continue
        item, word = found["item"], found["word"]
        if word in _BEGUN:
            current = item
            continue
        done = approved if word == "approved" else completed
        done.discard(item) if word == "undone" else done.add(item)
        current = "" if current == item else current
    return FileClaims(
        completed=frozenset(completed),
        approved=frozenset(approved),
        current=current,
        is_complete=is_complete,
        passed=passed,
    )


def claims_of_handoff(text: str, items: Iterable[str]) -> FileClaims:
    """What a whole HANDOFF tells, in the sources' structure or near it.

    ``items`` are the task's: a step told to be done whole stands for all its pieces.
    """
    sections = {match["name"].lower(): match["body"] for match in _SECTION.finditer(text)}
    done = _items(sections.get("completed steps", ""))
    named = {item for item, rest in done if not _IN_PART.search(rest)}
    pending = [item for item, _ in _items(sections.get("pending steps", ""))]
    pieces = {item for item in items if item.partition(" agent ")[0] in named and item not in pending}
    commit = _COMMIT.search(sections.get("tree", ""))
    deviations = sections.get("deviations")
    return FileClaims(
        completed=frozenset(item for item in named | pieces if item.startswith("step")),
        approved=frozenset(item for item in named if item.startswith("checkpoint")),
        current=pending[0] if pending else "",
        commit=None if commit is None else commit["id"],
        deviations=None if deviations is None else len(_bullets(deviations)),
    )


def _items(body: str) -> list[tuple[str, str]]:
    found = [_BULLET_ITEM.match(bullet) for bullet in _bullets(body)]
    return [(match["item"].lower(), match["rest"]) for match in found if match is not None]


def _bullets(body: str) -> list[str]:
    texts = [match["text"] for match in _BULLET.finditer(body)]
    return [text for text in texts if text.strip(" .").lower() not in ("", "none")]
