"""Where accepted proposals land, and as what (sources "Proposal System")."""

import pytest

from musician.protocol.landing import (
    LANDS,
    Landing,
    has_landed,
    page_name,
    remark,
    render_page,
    render_section,
)
from musician.protocol.proposals import Proposal, ProposalType


def proposal(kind: ProposalType, **changes: str) -> Proposal:
    values = {"title": "Use fixtures", "body": "In every test.", "why": "They are torn down."}
    who = {"task_id": "task-03", "session_id": "s1", "date": "2026-02-07"}
    return Proposal(type=kind, **who, **{**values, **changes})  # type: ignore[arg-type]


def test_every_type_has_its_place_inside_of_the_project() -> None:
    assert {kind: place.path for kind, place in LANDS.items()} == {
        ProposalType.MEMORY: "MEMORY.md",
        ProposalType.CLAUDE_MD: "CLAUDE.md",
        ProposalType.PATTERN: "docs/knowledge-base/patterns",
        ProposalType.ANTI_PATTERN: "docs/knowledge-base/anti-patterns",
        ProposalType.DOCUMENTATION: "docs/knowledge-base/documentation",
        ProposalType.RAG: "docs/knowledge-base/rag",
        ProposalType.MEMORY_MCP: "docs/knowledge-base/memory-mcp",
    }
    assert set(LANDS) == set(ProposalType)
    sections = {kind for kind, place in LANDS.items() if place.is_section}
    assert sections == {ProposalType.MEMORY, ProposalType.CLAUDE_MD}
    assert LANDS[ProposalType.MEMORY] == Landing(path="MEMORY.md", is_section=True)


def test_a_section_is_dated_and_names_its_source() -> None:
    made = proposal(ProposalType.MEMORY)
    assert render_section(made, "p.md") == (
        "## 2026-02-07: Use fixtures\n\nIn every test.\n\nWhy: They are torn down.\n\n(From `p.md`, task-03.)\n"
    )
    assert "Why" not in render_section(proposal(ProposalType.MEMORY, why=" "), "p.md")


def test_a_section_is_found_where_it_landed_and_nowhere_else() -> None:
    section = render_section(proposal(ProposalType.MEMORY), "p.md")
    assert has_landed(section, f"# Memory\n\n{section}")
    assert has_landed(section, section.strip())
    assert not has_landed(section, section.replace("p.md", "q.md"))
    assert not has_landed(section, "")


def test_a_page_says_where_it_comes_from() -> None:
    assert render_page(proposal(ProposalType.PATTERN), "p.md") == (
        "# Use fixtures\n\nPATTERN, 2026-02-07, from `p.md` (task-03).\n\n"
        "## Why\n\nThey are torn down.\n\n## What\n\nIn every test.\n"
    )
    assert "Why" not in render_page(proposal(ProposalType.PATTERN, why=""), "p.md")


@pytest.mark.parametrize(
    ("kind", "body", "ending"),
    [
        (ProposalType.MEMORY_MCP, '{"entities": []}', "json"),
        (ProposalType.MEMORY_MCP, "[1]", "json"),
        (ProposalType.MEMORY_MCP, "3", "md"),
        (ProposalType.MEMORY_MCP, "a relation", "md"),
        (ProposalType.MEMORY_MCP, "[" * 100_000, "md"),
        (ProposalType.RAG, "{}", "md"),
    ],
)
def test_json_for_the_memory_graph_stays_json(kind: ProposalType, body: str, ending: str) -> None:
    made = proposal(kind, body=body)
    assert page_name(made, 1) == f"use-fixtures.{ending}"
    assert page_name(made, 2) == f"use-fixtures-2.{ending}"
    assert (render_page(made, "p.md") == body) is (ending == "json")


@pytest.mark.parametrize("title", ["CON", "nul", "Lpt1"])
def test_b43_a_page_is_no_device(title: str) -> None:
    made = proposal(ProposalType.RAG, title=title)
    assert page_name(made, 1) == f"{title.lower()}-proposal.md"


def test_what_the_program_cannot_do_is_said() -> None:
    said = {kind for kind in ProposalType if remark(kind)}
    assert said == {ProposalType.RAG, ProposalType.MEMORY_MCP}
