"""HANDOFF documents: their contents, and how far they can be believed (D20, sources "HANDOFF Document Structure").

Theory. A HANDOFF is the message of one session to the next. It is believed only as far as it can be checked: it must be
whole, and of this task's last session. Any other is classified as what it is and never counts as a clean exit. Git and
the database outweigh the file in any case.

:class:`Handoff` renders to the sources' structure. :func:`read` reads any text leniently, because agents and people
write HANDOFFs too. :func:`classify` says what a text is, and :func:`assess_ending` judges the session that left it.
"""

import re
from enum import StrEnum

from musician.protocol.values import dataclass

DIRTY_OVER_PCT = 80.0
"""A session that ended above this context usage is distrusted: what it claimed is verified anew."""

DIED = "died"
"""Why a session ended that is known to be gone, without a word (D23, D38)."""

FELL_SILENT = "fell silent"
"""The same, of one that only its heartbeat spoke for: nobody has seen it die."""

ENDED_WAITING = "ended while it waited"
"""Why one ended that was waiting for the conductor: nothing was under way, and what it had asked stands (D7)."""

FROM_OUTSIDE = ("interrupted", "the conductor is gone")
"""How the reasons of sessions begin whose process was asked to end."""

WITHOUT_A_WORD = (DIED, FELL_SILENT, ENDED_WAITING)

_TITLE = re.compile(r"#\s*HANDOFF:\s*(?P<task>\S+)\s*$", re.MULTILINE)
_BARE_TITLE = re.compile(r"\AHANDOFF:\s*(?P<task>\S+)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^##\s+(?P<name>.+?)\s*$", re.MULTILINE)
_FIELD = re.compile(r"^-\s*(?P<label>[^:\n]+):[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE)

_LAST_SECTION = "Next Session Instructions"


class HandoffKind(StrEnum):
    WHOLE = "whole"
    MISSING = "missing"
    EMPTY = "empty"
    FOREIGN = "foreign"
    """Of another task."""
    STALE = "stale"
    """Of a session before the one that ended last."""
    TORN = "torn"
    """It ends before its end."""


class Ending(StrEnum):
    """How the last session ended."""

    CLEAN = "clean"
    DIRTY = "dirty"
    CRASH = "crash"
    RETRY_EXHAUSTION = "retry exhaustion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """``at`` is the database's time; ``agent_notes`` what an agent adds in its own words, "" if nothing."""

    task_id: str
    session_id: str
    worked_by: str
    epoch: int
    reason: str
    context_pct: float | None
    at: str
    written_by: str
    completed: tuple[str, ...]
    pending: tuple[str, ...]
    tree: tuple[str, ...]
    deviations: tuple[str, ...]
    self_correction: str
    proposals: tuple[str, ...]
    verification: str
    instructions: tuple[str, ...]
    agent_notes: str = ""

    def render(self) -> str:
        context = "unknown" if self.context_pct is None else f"{self.context_pct:.0f}%"
        info = [
            f"Session ID: {self.session_id}",
            f"worked_by: {self.worked_by}",
            f"Claim epoch: {self.epoch}",
            f"Exit reason: {_line(self.reason)}",
            f"Context at exit: {context}",
            f"Timestamp: {self.at}",
            f"Written by: {self.written_by}",
        ]
        steps = [f"{number}. {text}" for number, text in enumerate(self.instructions, start=1)]
        corrected = f"YES ({self.self_correction})" if self.self_correction else "NO"
        parts = [
            f"# HANDOFF: {self.task_id}",
            _section("Session Info", info),
            _section("Completed Steps", [f"{item} ✅" for item in self.completed]),
            _section("Pending Steps", self.pending),
            _section("Tree", self.tree),
            _section("Verification", [self.verification] if self.verification else []),
            _section("Deviations", self.deviations),
            _section("Self-Correction", [corrected]),
            _section("Pending Proposals", self.proposals),
        ]
        if self.agent_notes:
            parts.append("## Notes\n" + "\n".join(f"> {line}" for line in self.agent_notes.splitlines()))
        parts.append("\n".join([f"## {_LAST_SECTION}", *(steps or ["1. Claim the task"])]))
        return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The facts in a HANDOFF; None for those it does not have. ``is_whole`` is true if it has its last section."""

    task_id: str | None
    session_id: str | None
    written_by: str | None
    is_whole: bool


def read(text: str) -> Read:
    """Read a HANDOFF somebody wrote, in the sources' structure or near it."""
    title = _TITLE.search(text) or _BARE_TITLE.search(text)
    fields = {match["label"].strip().lower(): match["value"] for match in _FIELD.finditer(text)}
    sections = [match["name"] for match in _SECTION.finditer(text)]
    last = text.rpartition(f"## {_LAST_SECTION}")[2].strip() if _LAST_SECTION in sections else ""
    session_id = fields.get("session id") or None
    whole = last and text.endswith("\n") and session_id and fields.get("exit reason")
    return Read(
        task_id=None if title is None else title["task"],
        session_id=session_id,
        written_by=fields.get("written by") or None,
        is_whole=bool(whole),
    )


def classify(text: str | None, *, task_id: str, last_session_id: str | None) -> HandoffKind:
    """Classify a HANDOFF of ``task_id``, whose last ended session is ``last_session_id`` (case B29).

    Foreign outweighs stale, stale outweighs torn: the first that applies says best what to do with it.
    """
    if text is None:
        return HandoffKind.MISSING
    if not text.strip():
        return HandoffKind.EMPTY
    found = read(text)
    if found.task_id is not None and found.task_id != task_id:
        return HandoffKind.FOREIGN
    if found.session_id is None or found.task_id is None:
        return HandoffKind.TORN
    if found.session_id != last_session_id:
        return HandoffKind.STALE
    return HandoffKind.WHOLE if found.is_whole else HandoffKind.TORN


def assess_ending(
    kind: HandoffKind, *, written_by: str | None, exit_reason: str | None, context_pct: float | None
) -> Ending:
    """How the last session ended. Only a whole HANDOFF that its own session left is a clean exit (D20).

    ``written_by`` is what the database says: ``program`` for one made after a crash by somebody else. The context
    is the session's last measured usage, None if unknown.
    """
    if exit_reason is not None and exit_reason.startswith(Ending.RETRY_EXHAUSTION):
        return Ending.RETRY_EXHAUSTION
    if kind is not HandoffKind.WHOLE or written_by == "program after a crash":
        return Ending.CRASH
    if context_pct is not None and context_pct > DIRTY_OVER_PCT:
        return Ending.DIRTY
    return Ending.CLEAN


def _section(title: str, lines: tuple[str, ...] | list[str]) -> str:
    return "\n".join([f"## {title}", *([f"- {_line(line)}" for line in lines] or ["- none"])])


def _line(text: str) -> str:
    return " ".join(text.split())
