"""Where an accepted proposal lands, and as what (sources "Proposal System", "Tier responsibilities").

Two types become a dated section at the end of a file that every session reads; the others a page of their own in
``docs/knowledge-base/``. A knowledge-base server and a memory-graph server are somebody else's: what is meant for
them lands as a file, for the person who feeds them.
"""

import json
from collections.abc import Mapping

from musician.protocol.proposals import Proposal, ProposalType, slug
from musician.protocol.values import dataclass

KNOWLEDGE_BASE = "docs/knowledge-base"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """``path``, relative to the project, is the file that gets a section, or the folder that gets a page."""

    path: str
    is_section: bool = False


LANDS: Mapping[ProposalType, Landing] = {
    ProposalType.MEMORY: Landing(path="MEMORY.md", is_section=True),
    ProposalType.CLAUDE_MD: Landing(path="CLAUDE.md", is_section=True),
    ProposalType.PATTERN: Landing(path=f"{KNOWLEDGE_BASE}/patterns"),
    ProposalType.ANTI_PATTERN: Landing(path=f"{KNOWLEDGE_BASE}/anti-patterns"),
    ProposalType.DOCUMENTATION: Landing(path=f"{KNOWLEDGE_BASE}/documentation"),
    ProposalType.RAG: Landing(path=f"{KNOWLEDGE_BASE}/rag"),
    ProposalType.MEMORY_MCP: Landing(path=f"{KNOWLEDGE_BASE}/memory-mcp"),
}

_REMARKS = {
    ProposalType.RAG: "nothing here speaks to a knowledge-base server: ingest the file yourself",
    ProposalType.MEMORY_MCP: "nothing here speaks to a memory server: add the file's facts there yourself",
}

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}
)
"""Names that are no files on some systems; a page, unlike a proposal, has no date before its name."""


def remark(kind: ProposalType) -> str:
    """Return what a person has to do besides committing; "" if nothing."""
    return _REMARKS.get(kind, "")


def render_section(proposal: Proposal, source: str) -> str:
    """A section for the end of a file, dated and with its source; ``source`` is the proposal's path."""
    why = f"\n\nWhy: {proposal.why}" if proposal.why.strip() else ""
    return (
        f"## {proposal.date}: {proposal.title}\n\n{proposal.body}{why}\n\n"
        f"(From `{source}`, {proposal.task_id}.)\n"
    )


def render_page(proposal: Proposal, source: str) -> str:
    """A page of its own. Facts for a memory server that are JSON are kept as they are."""
    if _is_json(proposal):
        return proposal.body
    why = f"## Why\n\n{proposal.why}\n\n" if proposal.why.strip() else ""
    facts = f"{proposal.type}, {proposal.date}, from `{source}` ({proposal.task_id})."
    return f"# {proposal.title}\n\n{facts}\n\n{why}## What\n\n{proposal.body}\n"


def page_name(proposal: Proposal, number: int) -> str:
    """The ``number``-th name to try, from 1: the first that is free is taken."""
    stem = slug(proposal.title)
    if stem in _DEVICES:
        stem = f"{stem}-proposal"
    ending = "json" if _is_json(proposal) else "md"
    return f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"


def has_landed(section: str, text: str) -> bool:
    """Whether a file holds a section already: an acceptance was interrupted after it was written."""
    return section.strip("\n") in text


def _is_json(proposal: Proposal) -> bool:
    if proposal.type is not ProposalType.MEMORY_MCP:
        return False
    try:
        return isinstance(json.loads(proposal.body), dict | list)
    except (ValueError, RecursionError):
        return False
