"""docs/CLAUDE_CODE.md and the skill name what is there."""

import re
from pathlib import Path

from musician.mcp_server.tools import TOOLS
from musician.plugin.rendering import TEMPLATE
from musician.plugin.scopes import for_project, for_user
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.trees.root import Root

PROJECT = Path(__file__).parents[2]
SKILL = TEMPLATE / "plugin" / "skills" / "musician"
GUIDE = (PROJECT / "docs" / "CLAUDE_CODE.md").read_text(encoding="utf-8")


def test_the_guide_says_where_things_are() -> None:
    user = for_user({"HOME": "/home/ada"})
    project = for_project(Root(path=Path("/home/ada/pigeons")), {"HOME": "/home/ada"})
    for path in (user.folder, user.settings):
        assert f"`~/{path.relative_to('/home/ada')}`" in GUIDE
    for path in (project.folder, project.settings):
        assert f"`{path.relative_to('/home/ada/pigeons')}`" in GUIDE


def test_the_skill_names_only_tools_that_there_are() -> None:
    """What the model reads of a tool that is not there would cost it a call."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SKILL.rglob("*.md"))
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", text))
    assert {"claim", "step", "checkpoint", "inbox"} <= named
    of_the_examples = {"weight", "mass", "test_empty_line"}
    choices = {
        word for tool in TOOLS.values() for argument in tool.arguments for word in argument.choices or ()
    }
    assert named - set(TOOLS) - choices - set(State) - set(MessageType) == of_the_examples


def test_the_skill_says_which_work_is_a_subagents() -> None:
    """D19.1: the model decides, by a rule whose number is the setting's."""
    text = " ".join((SKILL / "references" / "delegation.md").read_text(encoding="utf-8").split())
    assert f"under {Settings().delegation.keep_from_lines} lines, lies in one module" in text
    assert "Keep refactoring, assembly, integration and tests of the whole. In doubt, keep." in text
