"""Starting the client on a leash, and leaving nothing of it behind.

The client is hosted: the engine prompts it piece by piece, so it is given no protocol, no tools of ours and
no plugin, and nothing in it waits. Every tool call is judged in this process before it runs. Retrying,
waiting out a limit and running things in the background are switched off in the client: each has one owner,
and that is this program (D3, D41).
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher
from claude_agent_sdk.types import HookCallback

from musician.agents.claude.bill import Bill
from musician.agents.claude.session import ClaudeSession
from musician.agents.claude.transport import LeashedTransport
from musician.agents.hosted import END_LIMIT_S, OPEN_LIMIT_S, Complaints, NoSession, own_folders
from musician.agents.port import AgentSession, Stage, Terminal
from musician.processes.sandbox import Own, View
from musician.processes.spawn import Spoken, speak_with
from musician.protocol.musician.inputs import PieceEnding

_API = "https://api.anthropic.com"
_LOGIN_HOSTS = ("platform.claude.com", "console.anthropic.com", "claude.ai")
"""Where the login of a subscription is renewed."""

_JUDGE_LIMIT_S = 60.0
"""How long the client waits for what we say of a tool call."""

_NOT_STARTED = "the client did not start: run `claude` once by hand to see why"

_QUIET = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1", "DISABLE_AUTOUPDATER": "1"}
_HOSTED = {
    **_QUIET,
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_MAX_RETRIES": "2",
}
_SEALED = (
    *("settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "hooks", "output-styles"),
    *("plugins", "rules", "skills"),
)
_ASKING = ("--permission-mode", "default")
_FLAGS = (
    *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
    "--replay-user-messages",
    *(*_ASKING, "--disallowedTools", "AskUserQuestion"),
)


class ClaudeAgent:
    """Implements :class:`musician.agents.port.Agent`.

    ``client`` is the program, and ``env`` the whole environment that a stage's is added to; this process's by default.
    """

    tells_price = True

    def __init__(self, client: Path, env: Mapping[str, str] | None = None) -> None:
        self._client, self._env = client, env
        self._bills: dict[str, Bill] = {}
        """By the conversation's token: a person may have it between two sessions."""

    @asynccontextmanager
    async def open(self, stage: Stage) -> AsyncIterator[AgentSession]:
        if stage.token:
            async with self._opened(stage, stage.token, "--resume") as session:
                if session is not None:
                    await session.take_up()
                    yield session
                    return
        token = str(uuid.uuid4())
        async with self._opened(stage, token, "--session-id") as session:
            yield session or NoSession(PieceEnding.LOST, _NOT_STARTED)

    def terminal(self, token: str, env: Mapping[str, str], model: str) -> Terminal:
        """Return the client's own terminal, with the settings of the hosted one; the person is asked for leave."""
        whole = {**(os.environ if self._env is None else self._env), **_QUIET, **env}
        whole.pop("CLAUDECODE", None)
        argv = (os.fspath(self._client), *_ASKING, f"--resume={token}", *_model(model))
        return Terminal(argv=argv, env=whole, keeps=_kept(whole))

    @asynccontextmanager
    async def _opened(self, stage: Stage, token: str, flag: str) -> AsyncIterator[ClaudeSession | None]:
        """Open a session; None if the client ends at once, mostly because the token's conversation does not
        exist any more.
        """
        env = {**(os.environ if self._env is None else self._env), **_HOSTED, **stage.env}
        env.pop("CLAUDECODE", None)  # a client that finds it set takes itself for a part of another client
        argv = [os.fspath(self._client), *_FLAGS, f"{flag}={token}", *_model(stage.model)]
        async with speak_with(
            argv, cwd=stage.tree, env=env, on_process=stage.on_process, keeps=_kept(env)
        ) as program:
            complaints = Complaints(program)
            session = ClaudeSession(stage, token, program.identity, complaints.last_words)
            allow: HookCallback = session.allow  # type: ignore[assignment]
            hooks = {"PreToolUse": [HookMatcher(hooks=[allow], timeout=_JUDGE_LIMIT_S)]}
            options = ClaudeAgentOptions(hooks=hooks)  # type: ignore[arg-type]
            session.bill = self._bills.setdefault(token, session.bill)
            session.client = ClaudeSDKClient(options, LeashedTransport(program))
            async with complaints.heard():
                is_open = await _connected(session.client, program)
                try:
                    yield session if is_open else None
                finally:
                    with anyio.CancelScope(shield=True), anyio.move_on_after(2 * END_LIMIT_S):
                        await session.client.disconnect()


def _model(name: str) -> tuple[str, ...]:
    return (f"--model={name}",) if name else ()


def _kept(env: Mapping[str, str]) -> Own:
    """Return what a sandbox leaves the client."""
    folder = own_folders(env, ("CLAUDE_CONFIG_DIR", ".claude", ""), sealed=_SEALED)
    state = Path(env.get("HOME") or Path.home(), ".claude.json")
    api = urlsplit(env.get("ANTHROPIC_BASE_URL") or _API).netloc.rpartition("@")[2]
    return Own(views={state: View.WRITABLE, **folder}, hosts=(api, *_LOGIN_HOSTS))


async def _connected(client: ClaudeSDKClient, program: Spoken) -> bool:
    """Connect; False if the client has ended, for which the SDK itself would wait a minute."""
    ending = asyncio.ensure_future(program.wait())
    connecting = asyncio.ensure_future(client.connect())
    try:
        await asyncio.wait({connecting, ending}, timeout=OPEN_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
        return connecting.done() and connecting.exception() is None
    finally:
        ending.cancel()
        connecting.cancel()
        await asyncio.wait({connecting, ending})
