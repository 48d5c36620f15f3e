"""A scripted agent that speaks the Agent Client Protocol: the acts of ``scripted_agent`` behind the official library.

It is as awkward as real agents: a refusal ends its turn without a word, and cannot carry the reason, so that
the turn goes on only with the next prompt; a provider's failure is an internal error with a name in its data.
"""

import asyncio
import json
import os
import shlex
import sys
import threading
from pathlib import Path
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    TextContentBlock,
    ToolCallUpdate,
    UsageUpdate,
)

from musician.own_python import own_python
from musician.testing.scripted_agent import Script, write_script
from musician.testing.scripted_program import ScriptedProgram

_OPTIONS = [
    PermissionOption(option_id="1", kind="allow_always", name="always"),
    PermissionOption(option_id="2", kind="allow_once", name="yes"),
    PermissionOption(option_id="3", kind="reject_once", name="no"),
]
_PROVIDER = {"limited": "rate_limit", "refused": "billing_error"}
_REASON = "refused: "


def scripted_acp(folder: Path, script: Script) -> str:
    """Return the command that starts it, for ``acp:<command>``; ``folder`` keeps what its sessions remember."""
    return shlex.join(own_python(__file__, str(write_script(folder, script))))


class _Acts(ScriptedProgram):
    """Plays the acts in a thread of its own; output goes to the one event loop."""

    def __init__(self, script: Path) -> None:
        super().__init__(script)
        self.loop = asyncio.get_running_loop()
        self.said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.steered: asyncio.Queue[bool] = asyncio.Queue()

    def listen(self) -> None:
        """Queue a message from the protocol's side."""

    def say(self, **what: Any) -> None:
        to = self.steered if "steered" in what else self.said
        self.loop.call_soon_threadsafe(to.put_nowait, what.get("steered", what))

    def do_usage(self, used: int, size: int) -> None:
        self.say(usage=(used, size))


class ScriptedAcp:
    """The methods of an agent, as the library calls them."""

    client: Any

    def __init__(self, script: Path) -> None:
        self.acts = _Acts(script)
        self.awaits_leave = False
        self.calls = 0
        threading.Thread(target=self.acts.run, daemon=True).start()

    def on_connect(self, client: Any) -> None:
        self.client = client

    async def initialize(self, **_: Any) -> InitializeResponse:
        able = AgentCapabilities(load_session=True)
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=able,
            field_meta={"steering": {"supported": True}},
        )

    async def new_session(self, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=await self.opened(""))

    async def load_session(self, session_id: str, **_: Any) -> LoadSessionResponse:
        if not self.acts.memory(session_id).exists():
            raise acp.RequestError.resource_not_found(session_id)
        await self.opened(session_id)
        return LoadSessionResponse()

    async def opened(self, token: str) -> str:
        self.acts.told.put({"open": token})
        return str((await self.acts.said.get())["opened"])

    async def prompt(self, session_id: str, prompt: list[TextContentBlock], **_: Any) -> PromptResponse:
        text = prompt[0].text
        if self.awaits_leave:
            reason = next(line for line in text.splitlines() if line.startswith(_REASON))
            self.answer(reason.removeprefix(_REASON))
        else:
            heads = (line.partition(": ")[0] for line in text.splitlines())  # a briefing may come first
            self.acts.told.put({"play": next((item for item in heads if item in self.acts.script), "")})
        while True:
            match await self.acts.said.get():
                case {"said": str(said)}:
                    await self.client.session_update(session_id, acp.update_agent_message_text(said))
                case {"usage": (used, size)}:
                    update = UsageUpdate(session_update="usage_update", used=used, size=size)
                    await self.client.session_update(session_id, update)
                case {"tool": [_, str(what), str(text), bool(failed)]}:
                    call = self.call(what)
                    await self.client.session_update(session_id, call)
                    content = [acp.tool_content(acp.text_block(text))]
                    end: Any = "failed" if failed else "completed"
                    done = acp.update_tool_call(call.tool_call_id, status=end, content=content)
                    await self.client.session_update(session_id, done)
                case {"ask": [_, {"command": str(command)}]}:
                    if not await self.is_allowed(session_id, command):
                        self.awaits_leave = True
                        return PromptResponse(stop_reason="cancelled")
                    self.answer("")
                case {"ended": {"ending": str(ending), **more}}:
                    return self.ended(ending, str(more.get("detail", "")))

    def call(self, command: str) -> Any:
        self.calls += 1
        number = f"call-{self.calls}"
        return acp.start_tool_call(number, command, kind="execute", raw_input={"command": command})

    async def is_allowed(self, session_id: str, command: str) -> bool:
        call = self.call(command)
        update = ToolCallUpdate(tool_call_id=call.tool_call_id, kind="execute", raw_input=call.raw_input)
        given = await self.client.request_permission(session_id, update, _OPTIONS)
        match given.outcome:
            case AllowedOutcome(option_id="2"):
                return True
            case AllowedOutcome(option_id="3"):
                return False
        raise AssertionError(f"leave for ever, or no answer: {json.dumps(str(given))}")

    def answer(self, reason: str) -> None:
        self.awaits_leave = False
        self.acts.told.put({"answer": reason})

    def ended(self, ending: str, detail: str) -> PromptResponse:
        if ending in _PROVIDER:
            raise acp.RequestError(-32603, detail, {"errorKind": _PROVIDER[ending]})
        reasons: dict[str, Any] = {"done": "end_turn", "failed": "refusal"}
        return PromptResponse(stop_reason=reasons.get(ending, "cancelled"))

    async def cancel(self, **_: Any) -> None:
        self.acts.told.put({"interrupt": True})

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert method == "session/steering"  # noqa: S101 - nothing else is asked of it
        self.acts.told.put({"steer": params["prompt"][0]["text"]})
        return {"outcome": "injected" if await self.acts.steered.get() else "promptRequired"}


async def main() -> None:
    agent: Any = ScriptedAcp(Path(sys.argv[1]))  # Any: it has only the methods that are called
    await acp.run_agent(agent, use_unstable_protocol=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
