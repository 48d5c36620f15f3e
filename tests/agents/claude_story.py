"""The contract's story as a model tells it: a function from what the client asks to what the model says next."""

import re

from musician.testing import Received, Reply, ScriptedFailure, ToolUse, Usage, say, use
from musician.testing.script import Step

WINDOW_TOKENS = 1_000_000
_ITEM = re.compile(r"^([a-z ]+): A title$", re.MULTILINE)
_STEERED = "use the other one"
NO_MODEL = "no-such-model"


def tell(received: Received) -> Step:
    """The item played last is in the conversation, and how far it has come in what was said since."""
    items = [
        found
        for message in received.messages
        if message.role == "user"
        for found in _ITEM.findall(message.text)
    ]
    begun_at = max(
        at
        for at, message in enumerate(received.messages)
        if message.role == "user" and _ITEM.search(message.text)
    )
    if received.model == NO_MODEL:
        return ScriptedFailure(status=404, kind="not_found_error", message=f"model: {NO_MODEL}")
    act = sum(message.role == "assistant" for message in received.messages[begun_at:])
    match items[-1], act:
        case "work", 0:
            text = "::context 99%\nhello\n::deviation Medium other\n::question which?"
            return _at_40(Reply(text=text, uses=(_bash("echo x > made"),)))
        case "fail", 0:
            return say("why not\n::failed why not")
        case "wait", 0:
            return Reply(text="begun", uses=(_bash("sleep 301 & echo $! > child; sleep 300"),))
        case "hang", 0:
            endless = "trap '' INT TERM; while true; do read -t 1 < /dev/zero || true; done"
            return Reply(text="begun", uses=(_bash(endless),))
        case "vanish", 0:
            return use("Bash", command="kill -KILL $PPID")
        case "environment", 0:
            return use("Bash", command='echo "$STAGE" > made')
        case "hear", 0:
            return Reply(text="begun", uses=(_bash("true"),))
        case "hear", _ if _STEERED in received.news_text:
            return say(f"heard: {_STEERED}")
        case "hear", _:
            return use("Bash", command="true")
        case "ask", 0:
            return use("Bash", command="git push")
        case "ask", 1:
            return Reply(text=f"leave: {_reason(received)}", uses=(_bash("ls"),))
        case "ask", 2:
            return say("leave: given")
        case "use a tool", 0:
            return use("Bash", command="uname")
        case "recall", 0:
            return say(f"played: {', '.join(items)}")
        case "limit", _:
            return ScriptedFailure(status=429, kind="rate_limit_error", message="rate limit")
        case "refuse", _:
            return ScriptedFailure(message="no credit")
        case _:
            return _at_40(say("done"))


def _at_40(reply: Reply) -> Reply:
    return Reply(text=reply.text, uses=reply.uses, usage=Usage(input=WINDOW_TOKENS * 40 // 100))


def _bash(command: str) -> ToolUse:
    return ToolUse(name="Bash", input={"command": command})


def _reason(received: Received) -> str:
    (answer,) = received.answers
    assert answer.is_error
    return answer.text.removeprefix("PreToolUse:Bash hook error: ")  # the client's own frame
