"""The contract's story as a model would play it, in the tools of two real agents."""

import re
from collections.abc import Callable, Sequence

from musician.testing import Received, Reply, ScriptedFailure, ToolUse, Usage, say
from musician.testing.script import Step

Shell = Callable[[str], ToolUse]
Move = Step | Callable[[Received], Step]

_ITEM = re.compile(r"(?m)^(\w[\w ]*): A title$")
_REFUSED = re.compile(r"(?m)^refused: (.*)$")


def codex_shell(command: str) -> ToolUse:
    """Without leave it runs commands in a sandbox that can only read."""
    more = {"sandbox_permissions": "require_escalated", "justification": "the plan says so"}
    return ToolUse(name="exec_command", input={"cmd": command, "yield_time_ms": 30_000, **more})


def opencode_shell(command: str) -> ToolUse:
    return ToolUse(name="bash", input={"command": command, "description": "run"})


SHELLS: dict[str, Shell] = {"codex": codex_shell, "opencode": opencode_shell}
USAGE = {"codex": Usage(input=75_980, output=20), "opencode": Usage(input=80_000)}
"""40 % of the window, as each counts it."""


class Playbook:
    """A script for the model: what is played is what the last prompt names."""

    def __init__(self, agent: str, *, kill: Callable[[], None]) -> None:
        shell, usage = SHELLS[agent], USAGE[agent]
        done = say("done\n", usage=usage)

        def run(command: str, text: str = "") -> Reply:
            return Reply(text=text, uses=(shell(command),), usage=usage)

        def vanish(_: Received) -> Step:
            kill()
            return done

        told = "hello\n::deviation Medium other\n::question which?\n"
        self._moves: dict[str, Sequence[Move]] = {
            "work": [run("echo x > made", told), done],
            "fail": [say("::failed why not\n", usage=usage)],
            "environment": [run('echo "$STAGE" > made'), done],
            "wait": [run("sleep 301 & echo $! > child; sleep 300", "begun\n")],
            "hang": [run("sleep 300", "begun\n")],
            "vanish": [vanish],
            "hear": [run("until [ -e go ]; do sleep 0.1; done", "begun\n"), _heard],
            "ask": [
                run("git push"),
                lambda asked: run("ls", f"leave: {_reason(asked)}\n"),
                say("leave: given\n"),
            ],
            "use a tool": [run("uname"), done],
            "recall": [lambda asked: say("played: " + ", ".join(_ITEM.findall(_users(asked))) + "\n")],
            "limit": [ScriptedFailure(status=429, kind="usage_limit_reached", message="no more today")],
            "refuse": [ScriptedFailure(status=401, kind="invalid_api_key", message="no such key")],
        }

    def __call__(self, received: Received) -> Step:
        messages = received.messages
        begun = max(at for at, each in enumerate(messages) if each.role == "user" and _ITEM.search(each.text))
        item = _ITEM.findall(messages[begun].text)[-1]
        moves = self._moves[item]
        made = sum(each.role == "assistant" for each in messages[begun:])
        move = moves[min(made, len(moves) - 1)]
        return move(received) if callable(move) else move


def _users(received: Received) -> str:
    return "\n".join(each.text for each in received.messages if each.role == "user")


def _reason(received: Received) -> str:
    return str(_REFUSED.findall(_users(received))[-1])


def _heard(received: Received) -> Step:
    return say(
        "heard: use the other one\n" if "use the other one" in received.news_text else "heard nothing\n"
    )
