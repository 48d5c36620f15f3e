"""Declares the tools: their names, descriptions and arguments. ``acts``, ``verifying``, ``conducting`` implement them.

The declarations take up context in every session, so they are as short as they can be understood; a test checks the
limit. Arguments are checked only here. A number may come as a text of digits.
"""

from collections.abc import Mapping
from typing import Any

from musician.protocol.errors import BadField
from musician.protocol.messages.checks import check_text
from musician.protocol.rules.deviations import Severity
from musician.protocol.values import dataclass

MOST_TEXT_BYTES = 1_000_000
"""The size of one argument. A larger one is a file that was passed by mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument. ``choices`` are the allowed values; if there are none, any text or number is allowed."""

    name: str
    is_number: bool = False
    choices: tuple[str, ...] = ()
    required: bool = True

    @property
    def schema(self) -> dict[str, object]:
        if self.choices:
            return {"enum": list(self.choices)}
        return {"type": "integer" if self.is_number else "string"}

    def parse(self, value: object) -> str | int:
        """Check and convert a value. Raises :class:`BadField` if it is not allowed."""
        if self.is_number:
            return self._number(value)
        if not isinstance(value, str):
            raise BadField(field=self.name, value=value, reason="give a text")
        if len(value.encode("utf-8", "surrogatepass")) > MOST_TEXT_BYTES:
            raise BadField(field=self.name, value="…", reason=f"at most {MOST_TEXT_BYTES} bytes")
        check_text(self.name, value)
        if self.choices and value not in self.choices:
            raise BadField(field=self.name, value=value, reason="use " + " or ".join(self.choices))
        if not value.strip() and self.required:
            raise BadField(field=self.name, value=value, reason="say something")
        return value

    def _number(self, value: object) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadField(field=self.name, value=value, reason="give a number")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. It is implemented by the function of its name in ``acts``, or in ``verifying`` if it ``runs_tests``."""

    name: str
    description: str
    arguments: tuple[Argument, ...] = ()
    runs_tests: bool = False

    @property
    def schema(self) -> dict[str, object]:
        """The JSON Schema of the arguments, without anything that a model does not need."""
        schema: dict[str, object] = {
            "type": "object",
            "properties": {each.name: each.schema for each in self.arguments},
        }
        required = [each.name for each in self.arguments if each.required]
        return {**schema, "required": required} if required else schema

    def parse(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the keyword arguments. Raises :class:`BadField` for a missing, unknown or wrong one."""
        known = {each.name: each for each in self.arguments}
        for name in given:
            if name not in known:
                takes = ", ".join(known) or "none"
                raise BadField(field=name, value=given[name], reason=f"{self.name} takes {takes}")
        for each in self.arguments:
            if each.required and given.get(each.name) is None:
                raise BadField(field=each.name, value=None, reason=f"{self.name} needs it")
        return {name: known[name].parse(value) for name, value in given.items() if value is not None}


def _text(name: str, *, required: bool = True) -> Argument:
    return Argument(name=name, required=required)


def _number(name: str, *, required: bool = True) -> Argument:
    return Argument(name=name, is_number=True, required=required)


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="claim",
            description="Claim a task, or see where yours stands.",
            arguments=(_text("task", required=False),),
            runs_tests=True,
        ),
        Tool(
            name="step",
            description="Start/end/skip step n.",
            arguments=(
                _number("n"),
                Argument(name="act", choices=("start", "done", "skipped")),
                _text("why", required=False),
            ),
        ),
        Tool(
            name="agent",
            description="A piece, as 2.1.",
            arguments=(
                _text("piece"),
                Argument(name="act", choices=("launched", "returned")),
                _text("report", required=False),
            ),
        ),
        Tool(
            name="deviation",
            description="You departed from the instruction.",
            arguments=(Argument(name="severity", choices=tuple(Severity)), _text("text")),
        ),
        Tool(
            name="self_correction",
            description="You redid earlier work.",
            arguments=(_text("text"),),
        ),
        Tool(name="correction", description="The correction step due now is done."),
        Tool(
            name="checkpoint",
            description="Commit, run the tests, submit.",
            arguments=(_text("summary"), _number("smoothness", required=False)),
            runs_tests=True,
        ),
        Tool(
            name="error",
            description="Report a failure you cannot mend; without text, that your context runs out.",
            arguments=(_text("text", required=False),),
        ),
        Tool(name="inbox", description="Read the conductor's new messages."),
        Tool(
            name="ask_conductor",
            description="Ask; answered before the next step.",
            arguments=(_text("text"),),
        ),
        Tool(
            name="propose",
            description="Knowledge to keep, and why.",
            arguments=(_text("type"), _text("title"), _text("text")),
        ),
        Tool(name="complete", description="Finish, once the completion is approved."),
        Tool(
            name="handoff",
            description="End this session; a successor goes on.",
            arguments=(_text("reason"), _text("notes", required=False)),
        ),
        Tool(name="siblings", description="Its plan's others."),
        Tool(name="conductor_health", description="Does the conductor live?"),
        Tool(
            name="query",
            description="One reading SQL statement.",
            arguments=(_text("sql"),),
        ),
        Tool(
            name="execute",
            description="SQL on your task's row and messages.",
            arguments=(_text("sql"),),
        ),
    )
}
"""A musician's tools by name, in the order in which they are listed."""

CONDUCTORS_TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(name="needs_me", description="What waits for you; how plans stand."),
        Tool(name="show", description="What a task submitted or asks.", arguments=(_text("task"),)),
        Tool(
            name="judge",
            description="Judge the message `show` named.",
            arguments=(
                _text("task"),
                Argument(name="verdict", choices=("approve", "reject", "fix")),
                _number("message", required=False),
                _text("text", required=False),
            ),
        ),
        Tool(
            name="comment",
            description="Comment on a line of a task's work; `judge` sends all as points.",
            arguments=(_text("task"), Argument(name="line"), _text("text")),
        ),
        Tool(
            name="send",
            description="Answer or tell a session; urgent stops its piece.",
            arguments=(
                _text("task"),
                _text("text"),
                Argument(name="urgent", choices=("yes", "no"), required=False),
            ),
        ),
        Tool(
            name="stop",
            description="Stop a task, or hand it to a fresh session.",
            arguments=(
                _text("task"),
                Argument(name="how", choices=("now", "handoff")),
                _text("text", required=False),
            ),
        ),
        Tool(
            name="again",
            description="Play a task again, or skip it, with dependents or alone.",
            arguments=(
                _text("task"),
                Argument(name="how", choices=("go on", "from start", "skip", "skip with them", "skip alone")),
                _text("text", required=False),
            ),
        ),
        Tool(
            name="plan",
            description="Check, lock or amend a plan's file.",
            arguments=(_text("path"), Argument(name="act", choices=("check", "lock", "amend"))),
        ),
        Tool(
            name="run",
            description="Start or stop a plan's run; pause or resume the plan.",
            arguments=(
                Argument(name="act", choices=("start", "stop", "pause", "resume")),
                _text("plan", required=False),
                _text("text", required=False),
            ),
        ),
        Tool(name="resign", description="Conduct no more."),
    )
}
"""The tools of the session that conducts, which are offered to no other. ``conducting`` implements them."""
