"""A request as the scripted model received it, with typed access. No key is part of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from musician.protocol.values import dataclass


class RequestKind(StrEnum):
    """Who asks: the main conversation, a subagent's, or the client itself (a title, a summary), without tools."""

    MAIN = "main"
    SUB = "sub"
    AUX = "aux"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer of a tool, or of what forbade its use."""

    use_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the conversation. ``content`` is its list of blocks as sent; a bare string is one text block."""

    role: str
    content: tuple[Mapping[str, Any], ...]

    @property
    def text(self) -> str:
        """All text blocks."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def answers(self) -> tuple[ToolAnswer, ...]:
        """Its tool results."""
        return tuple(
            ToolAnswer(
                use_id=block["tool_use_id"],
                text=_text(block.get("content", "")),
                is_error=bool(block.get("is_error")),
            )
            for block in self.content
            if block.get("type") == "tool_result"
        )

    @property
    def everything(self) -> str:
        """Text and tool results, for a search."""
        return "\n".join((self.text, *(answer.text for answer in self.answers)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request for a message. ``number`` counts from 1 over all of a server's; ``at_s`` is monotonic."""

    number: int
    at_s: float
    body: Mapping[str, Any] = field(repr=False)
    size_bytes: int
    session_id: str = ""
    agent_id: str = ""

    @property
    def kind(self) -> RequestKind:
        """Who asks."""
        if self.agent_id:
            return RequestKind.SUB
        return RequestKind.MAIN if self.body.get("tools") else RequestKind.AUX

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return str(self.body["model"])

    @property
    def streams(self) -> bool:
        """Whether the answer is to come in events."""
        return bool(self.body.get("stream"))

    @property
    def system_text(self) -> str:
        """The system prompt."""
        return _text(self.body.get("system", ""))

    @property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """Tool definitions by name."""
        return {tool["name"]: tool for tool in self.body.get("tools", ())}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation."""
        return tuple(
            Message(role=each["role"], content=_blocks(each["content"])) for each in self.body["messages"]
        )

    @property
    def news(self) -> tuple[Message, ...]:
        """The messages since the model spoke last; all of them if it has not spoken yet."""
        messages = self.messages
        spoke = [at for at, message in enumerate(messages) if message.role == "assistant"]
        return messages[spoke[-1] + 1 :] if spoke else messages

    @property
    def news_text(self) -> str:
        """Everything that is new, tool results included."""
        return "\n".join(message.everything for message in self.news)

    @property
    def answers(self) -> tuple[ToolAnswer, ...]:
        """The tool results that are new."""
        return tuple(answer for message in self.news for answer in message.answers)

    @property
    def all_text(self) -> str:
        """Everything the conversation holds, tool results included."""
        return "\n".join(message.everything for message in self.messages)


def _blocks(content: str | Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return ({"type": "text", "text": content},) if isinstance(content, str) else tuple(content)


def _text(content: str | Iterable[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] if "text" in block else json.dumps(block) for block in content)
