"""docs/MCP.md says of every tool what the server says, and names the bounds that hold."""

import re
from pathlib import Path

from musician.mcp_server.background_calls import ANSWER_WITHIN_S
from musician.mcp_server.table import MOST_BYTES, MOST_ROWS
from musician.mcp_server.tools import TOOLS, Tool
from musician.service.own_sql import WRITABLE
from musician.store.sqlite.foreign import MOST_CHANGES, TIME_LIMIT_S

PAGE = (Path(__file__).parents[2] / "docs" / "MCP.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(?P<tool>\w+)` \| (?P<arguments>.*?) ?\| ", re.MULTILINE)


def arguments_of(tool: Tool) -> str:
    said = []
    for each in tool.arguments:
        choices = [f"`{choice}`" for choice in each.choices]
        of = f": {', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
        said.append(f"`{each.name}`{of}{'' if each.required else ', optional'}")
    return ", ".join(said)


def test_every_tool_is_there_with_its_arguments() -> None:
    rows = {found["tool"]: found["arguments"] for found in ROW.finditer(PAGE)}
    assert rows == {name: arguments_of(tool) for name, tool in TOOLS.items()}


def test_the_bounds_are_those_that_hold() -> None:
    text = " ".join(PAGE.split())
    for bound in (
        f"At most {MOST_ROWS} rows and {MOST_BYTES:,} bytes",
        f"may take {TIME_LIMIT_S:g} s",
        f"`rows_affected=N`, at most {MOST_CHANGES}",
        f"longer than {ANSWER_WITHIN_S / 60:g} minutes",
    ):
        assert bound in text


def test_the_columns_an_update_may_set_are_named() -> None:
    section = PAGE.partition("## execute")[2]
    assert [column for column in WRITABLE["orchestration_tasks"] if f"`{column}`" not in section] == []
