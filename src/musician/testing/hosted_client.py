"""The client hosted by a program, through ``claude_agent_sdk``, in surroundings of its own.

The library lets a client inherit its parent's environment. Here the client it starts is a script that runs the real
one with the home's environment and the few variables that are the library's own.
"""

import shlex
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message, ResultMessage

from musician.protocol.values import replace
from musician.testing.client_home import ClientHome
from musician.testing.leftovers import MARK, end_marked, new_mark
from musician.testing.waiting import HANG_S, NotInTime

_OWN_VARIABLES = (
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
)
_MOST_MESSAGES = 10_000
_TOLD_MESSAGES = 3


def isolating_script(home: ClientHome, mark: str = "") -> Path:
    """Write a script that runs the client with the home's environment and nothing of its caller's; return its
    path.
    """
    variables = [shlex.quote(f"{name}={value}") for name, value in {**home.env, MARK: mark}.items()]
    kept = [f'{name}="${{{name}-}}"' for name in _OWN_VARIABLES]
    script = home.folder / "client"
    script.write_text(
        f'#!/bin/sh\nexec env -i {" ".join([*variables, *kept])} {shlex.quote(str(home.client))} "$@"\n'
    )
    script.chmod(0o755)
    return script


class HostedClient:
    """A hosted session, from entering to leaving. ``messages`` is what it has sent so far, oldest first."""

    def __init__(
        self,
        home: ClientHome,
        cwd: Path,
        *,
        plugins: Iterable[Path] = (),
        options: ClaudeAgentOptions | None = None,
    ) -> None:
        self.mark = new_mark()
        self._client = ClaudeSDKClient(
            replace(
                options or ClaudeAgentOptions(setting_sources=["user"]),
                cwd=cwd,
                cli_path=isolating_script(home, self.mark),
                plugins=[{"type": "local", "path": str(each)} for each in plugins],
            )
        )
        self.messages: list[Message] = []

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        await self._stack.enter_async_context(self._client)
        self._incoming = self._client.receive_messages()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        end_marked(self.mark)
        if error is not None:
            error.add_note(f"The client's last messages: {self.messages[-_TOLD_MESSAGES:]}")

    async def say(self, text: str) -> None:
        """Send a prompt; in the middle of a turn it steers it."""
        await self._client.query(text)

    async def interrupt(self) -> None:
        """Cancel what the turn is doing."""
        await self._client.interrupt()

    async def wait_for(self, wanted: Callable[[Message], object], *, within_s: float = HANG_S) -> Message:
        """Read until a wanted message comes, and return it."""
        with anyio.move_on_after(within_s):
            async for message in self._incoming:
                if len(self.messages) < _MOST_MESSAGES:
                    self.messages.append(message)
                if wanted(message):
                    return message
        raise NotInTime(f"no such message within {within_s:g} s; the last: {self.messages[-_TOLD_MESSAGES:]}")

    async def turn(self, text: str, *, within_s: float = HANG_S) -> ResultMessage:
        """Send a prompt and read to the end of the turn; return its result."""
        await self.say(text)
        return cast(
            "ResultMessage",
            await self.wait_for(lambda each: isinstance(each, ResultMessage), within_s=within_s),
        )
