"""Reads the claims about progress in a task's files, leniently, because agents and people write them too (D20).

The claims are not believed: :mod:`musician.protocol.resumption.mismatches` compares them with git and the database.
What a text does not say is empty or None.
"""

import re
from collections.abc import Iterable

from musician.protocol.journal import STARTED_OVER
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
    """``completed`` and ``approved`` are names of items, as in the journal.

    ``current`` is the item that was begun last and not ended, or that comes next. ``passed`` is true if the last line
    is about a checkpoint that passed.
    """

    completed: frozenset[str] = frozenset()
    approved: frozenset[str] = frozenset()
    current: str = ""
    commit: str | None = None
    deviations: int | None = None
    is_complete: bool = False
    passed: bool = False


def claims_of_status(lines: Iterable[str]) -> FileClaims:
    """Read the claims of ``temp/<task>-status`` from the top. Later ones count: of an item that is undone, and
    of a task that is started over.
    """
    completed: set[str] = set()
    approved: set[str] = set()
    current, is_complete, passed = "", False, False
    for line in filter(None, map(str.strip, lines)):
        if line.startswith(STARTED_OVER):
            completed, approved, current = set(), set(), ""
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
    """Read the claims of a whole HANDOFF in the sources' structure, or one like it.

    ``items`` are the task's items: a step that is called done includes all its pieces.
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
