"""An agent that speaks the protocol oddly: nothing that it says may end a piece otherwise than by an outcome."""

import json
import shlex
from pathlib import Path
from typing import Any

import anyio
import pytest

from musician.agents.acp.performance import MOST_MESSAGES
from musician.agents.port import AgentEvent, Piece, PieceKind, Stage, ToolCall
from musician.agents.registry import make_agent
from musician.own_python import own_python
from musician.processes.identity import ProcessIdentity
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.spending import MOST_TOKENS, Usage
from musician.testing.waiting import HANG_S

AGENT = """\
import json, sys
odd = json.load(open(sys.argv[1]))
def send(message):
    print(message if isinstance(message, str) else json.dumps(message), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    number = asked.get("id")
    match asked.get("method"):
        case "initialize":
            send({"jsonrpc": "2.0", "id": number, "result": {"protocolVersion": 1}})
        case "session/new":
            send({"jsonrpc": "2.0", "id": number, "result": odd.get("new", {"sessionId": "s"})})
        case "session/prompt":
            for each in odd.get("says", ()):
                send(each)
            send({"jsonrpc": "2.0", "id": number, **odd.get("end", {"result": {"stopReason": "end_turn"}})})
"""


def update(**fields: Any) -> dict[str, Any]:
    params = {"sessionId": "s", "update": fields}
    return {"says": [{"jsonrpc": "2.0", "method": "session/update", "params": params}]}


def talking(*, uses_tools: bool) -> dict[str, Any]:
    """A turn of very many messages, which are told apart; with a tool used after each, if it uses some."""
    says = []
    for number in range(2 * MOST_MESSAGES):
        kind = {"sessionUpdate": "agent_message_chunk", "messageId": f"m{number}"}
        said = [kind | {"content": {"text": "x"}}]
        if uses_tools:
            said.append({"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "status": "completed"})
        says += [update(**each)["says"][0] for each in said]
    return {"says": says}


def asking(**call: Any) -> dict[str, Any]:
    options = [1, {"kind": ["allow_once"], "optionId": 5}, {"kind": "allow_once", "optionId": "yes"}]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    ask = {"jsonrpc": "2.0", "id": 100, "method": "session/request_permission", "params": params}
    return {"says": [ask]}


def ending(**result: Any) -> dict[str, Any]:
    return {"end": {"result": {"stopReason": "end_turn", **result}}}


NUMBERS = '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": %s}}'
COST = '{"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": {"amount": %s, "currency": "USD"}}'

DONE: dict[str, dict[str, Any]] = {
    "a kind that is a list": update(sessionUpdate=["x"]),
    "a call of numbers": update(
        sessionUpdate="tool_call", toolCallId="1", locations=5, content=7, rawInput=[1], status="completed"
    ),
    "a request of numbers": asking(toolCallId=5, kind=["x"], locations=5, content=7, rawInput=[1]),
    "options of numbers": asking(toolCallId="1", kind="execute", rawInput={"command": "ls"}),
    "a byte that is no text": update(sessionUpdate="agent_message_chunk", content={"text": "x\ud800\0"}),
    "ten megabytes": update(sessionUpdate="agent_message_chunk", content={"text": "z" * 10_000_000}),
    "more than nothing used": update(sessionUpdate="usage_update", used=-5, size=0),
    "more than there is": update(sessionUpdate="usage_update", used=10**30, size=10**31),
    "no number as a price": {"says": [NUMBERS % (COST % "NaN")]},
    "a debt as a price": {"says": [NUMBERS % (COST % "-5")]},
    "a price of all money": {"says": [NUMBERS % (COST % ("9" * 400))]},
    "a turn that gives back": ending(usage={"inputTokens": -5, "outputTokens": -7}),
    "a turn without an end": ending(usage={"inputTokens": 10**30, "outputTokens": 1}),
    "no usage": ending(usage=[1]),
    "no reason": ending(stopReason=[5]),
    "no messages": {"says": ["hello", "[1, 2]", "5", "{}", '{"jsonrpc": "2.0", "method": 5}']},
    "a long turn that gets somewhere": talking(uses_tools=True),
    "no modes": {"new": {"sessionId": "s", "modes": {"availableModes": [1, "x"]}, "configOptions": 5}},
}


def played(
    folder: Path, odd: dict[str, Any], tokens: list[str] | None = None
) -> tuple[PieceEnded, list[Usage]]:
    told: list[Usage] = []

    async def tell(event: AgentEvent) -> None:
        if isinstance(event, Usage):
            told.append(event)

    async def recorded(_: ProcessIdentity) -> None: ...

    async def allowed(_: ToolCall) -> str:
        return ""

    async def story() -> PieceEnded:
        program, says = folder / "agent.py", folder / "odd.json"
        program.write_text(AGENT)
        says.write_text(json.dumps(odd))
        agent = make_agent(f"acp:{shlex.join(own_python(str(program), str(says)))}")
        stage = Stage(tree=folder, on_process=recorded, may=allowed)
        piece = Piece(
            kind=PieceKind.STEP,
            task_id="task-01",
            item="step 1",
            title="A title",
            prose="",
            scripts=(),
            time_limit_s=HANG_S,
        )
        async with agent.open(stage) as session:
            ended = await session.play(piece, tell)
            if tokens is not None:
                tokens.append(session.token)
            return ended

    return anyio.run(story), told


@pytest.mark.parametrize("odd", DONE.values(), ids=DONE)
def test_what_cannot_be_meant_is_passed_over(odd: dict[str, Any], tmp_path: Path) -> None:
    """And what was used is never less than nothing, nor more than a database holds."""
    ended, told = played(tmp_path, odd)
    assert ended.ending is PieceEnding.DONE, ended.detail
    assert len(ended.detail) <= 200
    assert sum(each.input_tokens for each in told) > 0
    assert all(0 <= each.input_tokens <= MOST_TOKENS and each.output_tokens >= 0 for each in told)
    assert all(each.cost_usd is None for each in told)


@pytest.mark.parametrize(
    ("odd", "ending_"),
    [
        ({"end": {"error": {"code": "x", "message": 5, "data": [1]}}}, PieceEnding.LOST),
        (
            {"end": {"error": {"code": -32603, "message": "m", "data": {"errorKind": ["x"]}}}},
            PieceEnding.LOST,
        ),
        (asking(toolCallId="1", kind="edit", locations=5), PieceEnding.FAILED),
        (asking(toolCallId="1", kind="execute", rawInput={"command": ["a", 5]}), PieceEnding.FAILED),
        (talking(uses_tools=False), PieceEnding.FAILED),
        ({"new": {"sessionId": ""}}, PieceEnding.REFUSED),
        ({"new": [1]}, PieceEnding.REFUSED),
    ],
    ids=[
        "an error",
        "a kind of error",
        "no name",
        "no command",
        "message after message",
        "no id",
        "no session",
    ],
)
def test_what_cannot_be_read_is_refused_or_an_outcome(
    odd: dict[str, Any], ending_: PieceEnding, tmp_path: Path
) -> None:
    ended, _ = played(tmp_path, odd)
    assert ended.ending is ending_, ended.detail


@pytest.mark.parametrize(("action", "token"), [("new_session", ""), ("retry", "s")])
def test_a_conversation_that_is_full_is_not_gone_on_with(action: str, token: str, tmp_path: Path) -> None:
    """The next piece begins another, with the whole briefing; a limit of the provider's is waited for in the same."""
    failure = {"category": "limit", "severity": "error", "title": "no more", "actions": [action]}
    tokens: list[str] = []
    odd = ending(_meta={"jetbrains": {"air": {"sessionFailure": failure}}})
    ended, _ = played(tmp_path, odd, tokens)
    assert ended.ending is (PieceEnding.LIMITED if token else PieceEnding.LOST)
    assert tokens == [token]
