"""Proposals: what a musician found worth keeping, for the conductor to judge (sources "Proposal System", D21).

Theory. A musician sees only its own task and cannot know whether a finding is new. So it may propose at any time,
rather too much than too little, but applies nothing: it may not write MEMORY.md, CLAUDE.md or the knowledge base. The
conductor sees everything and decides on each proposal once. A proposal says WHY and not only WHAT; failures are worth
as much as successes.

A proposal is a Markdown file, ``YYYY-MM-DD-brief-description.md``, with its facts in front matter. The output of
:meth:`Proposal.render` is read back exactly, whatever the texts contain; files written by people are read leniently.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Self

from musician.protocol.errors import BadField, NotConductor, ProposalDecided, UnreadableMessage
from musician.protocol.messages.checks import check_line, check_text
from musician.protocol.names import CONDUCTOR, check_session_id, check_task_id
from musician.protocol.transitions import Actor
from musician.protocol.values import dataclass, replace

MOST_TITLE_CHARS = 200
MOST_TEXT_CHARS = 1_000_000
"""The length of WHY and WHAT together. A longer text is a file that was passed by mistake."""

MOST_SLUG_CHARS = 60


class ProposalType(StrEnum):
    """The type of a proposal, which decides where it belongs (sources "Proposal System")."""

    PATTERN = "PATTERN"
    """A reusable pattern discovered during implementation."""
    ANTI_PATTERN = "ANTI_PATTERN"
    """An approach that fails or causes problems, and why."""
    MEMORY = "MEMORY"
    """A learning across sessions, a convention of the project, a way to debug it."""
    CLAUDE_MD = "CLAUDE_MD"
    """A rule that should be enforced in the whole project."""
    RAG = "RAG"
    """Content of the knowledge base worth preserving for later sessions."""
    MEMORY_MCP = "MEMORY_MCP"
    """Entities, relations and observations for the memory graph."""
    DOCUMENTATION = "DOCUMENTATION"
    """A gap in what is documented."""


def parse_type(text: str) -> ProposalType:
    """Parse a type as people write it (``anti-pattern``). Raises :class:`BadField` for an unknown one."""
    try:
        return ProposalType(re.sub(r"[\s-]+", "_", text.strip()).upper())
    except ValueError:
        raise BadField(field="type", value=text, reason="use one of " + ", ".join(ProposalType)) from None


class Status(StrEnum):
    OPEN = "open"
    ACCEPTED = "accepted"
    MERGED = "merged"
    """Closed, because another proposal carries its text now."""
    REJECTED = "rejected"


class Act(StrEnum):
    PROPOSE = "propose"
    ACCEPT = "accept"
    MERGE = "merge"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``source`` is None before there is a proposal."""

    source: Status | None
    act: Act
    actors: frozenset[Actor]
    target: Status


_CONDUCTOR_ALONE = frozenset({Actor.CONDUCTOR})

TABLE = (
    Rule(
        source=None,
        act=Act.PROPOSE,
        actors=frozenset({Actor.OWNER, Actor.CONDUCTOR}),
        target=Status.OPEN,
    ),
    Rule(source=Status.OPEN, act=Act.ACCEPT, actors=_CONDUCTOR_ALONE, target=Status.ACCEPTED),
    Rule(source=Status.OPEN, act=Act.MERGE, actors=_CONDUCTOR_ALONE, target=Status.MERGED),
    Rule(source=Status.OPEN, act=Act.REJECT, actors=_CONDUCTOR_ALONE, target=Status.REJECTED),
)
"""Who may do what: musicians propose, and the conductor decides once (D21). Anything else is refused."""


def check_may(act: Act, actor: Actor, *, session_id: str) -> None:
    """Raise :class:`NotConductor` if this act is not allowed for a musician, on any proposal (D21)."""
    if not any(rule.act is act and actor in rule.actors for rule in TABLE):
        raise NotConductor(session_id=session_id, act=f"{act} a proposal")


def next_status(status: Status, act: Act, *, proposal_id: int) -> Status:
    """Return the status after an act. Raises :class:`ProposalDecided` if the proposal is decided already."""
    for rule in TABLE:
        if rule.source is status and rule.act is act:
            return rule.target
    raise ProposalDecided(proposal_id=proposal_id, status=status, act=act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A proposal before it is stored. ``title`` is one line; ``why`` may be "", ``body`` may not."""

    type: ProposalType
    title: str
    body: str
    why: str = ""

    def __post_init__(self) -> None:
        check_line("title", self.title)
        if len(self.title) > MOST_TITLE_CHARS:
            raise BadField(
                field="title", value=self.title, reason=f"use at most {MOST_TITLE_CHARS} characters"
            )
        check_text("body", self.body)
        check_text("why", self.why)
        if not self.body.strip():
            raise BadField(field="body", value=self.body, reason="say what is proposed")
        if len(self.body) + len(self.why) > MOST_TEXT_CHARS:
            raise BadField(field="body", value="…", reason=f"use at most {MOST_TEXT_CHARS} characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Draft):
    """A draft with its author and its status. ``date`` is the database's, ``YYYY-MM-DD``.

    ``outcome`` says where it landed (accepted), which file has its text now (merged), or why not (rejected).
    """

    task_id: str
    session_id: str
    date: str
    status: Status = Status.OPEN
    outcome: str = ""

    def __post_init__(self) -> None:
        Draft.__post_init__(self)
        if self.task_id != CONDUCTOR:
            check_task_id(self.task_id)
        check_session_id(self.session_id)
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", self.date, re.ASCII):
            raise BadField(field="date", value=self.date, reason="use YYYY-MM-DD")
        check_text("outcome", self.outcome)
        if (self.status is Status.OPEN) is not (self.outcome == ""):
            raise BadField(
                field="outcome", value=self.outcome, reason="what is decided says how, and nothing else does"
            )

    def render(self) -> str:
        """The proposal as a file."""
        facts = {
            "title": json.dumps(self.title, ensure_ascii=False),
            "type": self.type,
            "task": self.task_id,
            "session": self.session_id,
            "date": self.date,
            "status": self.status,
        }
        if self.outcome:
            facts["outcome"] = json.dumps(self.outcome, ensure_ascii=False)
        head = "\n".join(f"{name}: {value}" for name, value in facts.items())
        reason = _WHAT_IN_WHY.sub(r"\\\g<0>", self.why)
        why = f"{_WHY}\n\n{reason}\n\n" if self.why else ""
        return f"---\n{head}\n---\n# {self.title}\n\n{why}{_WHAT}\n\n{self.body}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a proposal's file; :class:`UnreadableMessage` names what is missing or wrong, and its line."""
        facts, body, why = _read(text)
        return cls(
            type=_type_of(facts),
            title=_need(facts, "title"),
            why=why,
            body=body,
            task_id=_need(facts, "task"),
            session_id=_need(facts, "session"),
            date=_need(facts, "date"),
            status=_status_of(facts),
            outcome=facts.get("outcome", ("", 0))[0],
        )


def read_draft(text: str) -> Draft | None:
    """Read the draft in a proposal's file; None if the text has no front matter, and so is no such file.

    Author and date are not needed, because the program knows them.
    """
    if not _FENCE.match(text.removeprefix(_BOM)):
        return None
    facts, body, why = _read(text)
    return Draft(type=_type_of(facts), title=_need(facts, "title"), body=body, why=why)


def slug(title: str) -> str:
    """Turn a title into a part of a file name: lower-case letters, digits and single hyphens, never empty (B43)."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain.lower().replace("'", ""))
    made = ""
    for word in words:
        longer = f"{made}-{word}" if made else word[:MOST_SLUG_CHARS]
        if len(longer) > MOST_SLUG_CHARS:
            break
        made = longer
    return made or "proposal"


def file_name(date: str, title: str, taken: Collection[str]) -> str:
    """``YYYY-MM-DD-brief-description.md``, with ``-2``, ``-3`` … while the name is taken (D8, sources)."""
    stem = f"{date}-{slug(title)}"
    name, number = f"{stem}.md", 2
    while name in taken:
        name, number = f"{stem}-{number}.md", number + 1
    return name


def merged(kept: Proposal, closed: Proposal, closed_path: str) -> Proposal:
    """``kept`` with the text of ``closed`` added under the name of the file it came from."""
    source = f"Merged from `{closed_path}` ({closed.type}, {closed.task_id}): {closed.title}"
    whys = (kept.why, closed.why)
    return replace(
        kept,
        body=f"{kept.body}\n\n---\n\n{source}\n\n{closed.body}",
        why="\n\n".join(dict.fromkeys(why for why in whys if why.strip())),
    )


# -- reading --------------------------------------------------------------------------------------------------------

_BOM = "\ufeff"
_WHY = "## Why"
_WHAT = "## What"
_WHAT_IN_WHY = re.compile(rf"^\\*{_WHAT}$", re.MULTILINE)
"""In WHY such a line is written with one more backslash, which Markdown does not show."""

_FENCE = re.compile(r"---[ \t]*\r?\n")
_FACT = re.compile(r"(?P<name>[a-z]+)[ \t]*:[ \t]*(?P<value>.*?)[ \t]*")

Facts = Mapping[str, tuple[str, int]]
"""Values with their lines."""


def _read(text: str) -> tuple[Facts, str, str]:
    """Facts, WHAT and WHY."""
    text = text.removeprefix(_BOM)
    if text.startswith("---\r\n"):
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if number and line.rstrip() == "---"]
    if lines[0].rstrip() != "---" or not ends:
        raise UnreadableMessage(field="front matter", line=1, reason="it begins and ends with a line ---")
    facts = dict(
        _fact(line, number)
        for number, line in enumerate(lines[1 : ends[0]], start=2)
        if line.strip() and not line.startswith("#")
    )
    return facts, *_sections(lines[ends[0] + 1 :])


def _fact(line: str, number: int) -> tuple[str, tuple[str, int]]:
    match = _FACT.fullmatch(line)
    if match is None:
        raise UnreadableMessage(field=line[:40], line=number, reason="each line is `name: value`")
    return match["name"], (_value(match["name"], match["value"], number), number)


def _value(name: str, value: str, number: int) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            raise UnreadableMessage(field=name, line=number, reason="the quotes do not match") from None
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _sections(lines: list[str]) -> tuple[str, str]:
    """WHAT and WHY. Without the two headings all is WHAT, but for the title above it."""
    if _WHAT in lines:
        what_at = lines.index(_WHAT)
        why_at = lines.index(_WHY) if _WHY in lines[:what_at] else what_at
        why = _inner(lines[why_at + 1 : what_at])
        return _inner(lines[what_at + 1 :]), _WHAT_IN_WHY.sub(lambda match: match[0].removeprefix("\\"), why)
    rest = "\n".join(lines).strip("\n")
    return re.sub(r"\A# .*\n*", "", rest), ""


def _inner(lines: list[str]) -> str:
    """A section without the blank lines around it: the one above and the one below, or all if a person wrote it."""
    if len(lines) > 2 and lines[0] == lines[-1] == "":
        return "\n".join(lines[1:-1])
    return "\n".join(lines).strip("\n")


def _need(facts: Facts, name: str) -> str:
    value, line = facts.get(name, ("", 1))
    if not value:
        raise UnreadableMessage(field=name, line=line, reason="the front matter does not say it")
    return value


def _type_of(facts: Facts) -> ProposalType:
    return parse_type(_need(facts, "type"))


def _status_of(facts: Facts) -> Status:
    value, line = facts.get("status", (Status.OPEN.value, 1))
    try:
        return Status(value)
    except ValueError:
        reason = "use one of " + ", ".join(Status)
        raise UnreadableMessage(field="status", line=line, reason=reason) from None
