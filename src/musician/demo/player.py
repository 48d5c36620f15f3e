"""The demo's plan as a model would play it, for any agent that speaks to the scripted model server.

A model is shown each step with what the plan suggests for it, so the plan *is* the script: the model runs
what is in a ``bash run`` block with its agent's own tool, and what a script would tell by ``echo ::…`` the
model says in words, or is what its provider reports as usage. Two things happen to a model that no shell
meets: an emergency in the middle of a long command, and a provider that does not answer for a while.
"""

import re
import time
from collections.abc import Callable, Mapping

from musician.protocol.values import dataclass
from musician.testing import Received, Reply, ScriptedFailure, ToolUse, Usage, say
from musician.testing.script import Step

EMERGENCY_AT = "Tell the time of flight"
EMERGENCY = "Flights are told in whole minutes, and always rounded up: nobody waits at a loft in vain."
QUOTA_AT = "Take a letter"

WAITING = "waiting"
"""The file in the task's scratch folder by which the command says that it runs."""
_LONG = f'touch "$MUSICIAN_SCRATCH/{WAITING}"; sleep 300'

_NO_QUOTA = ScriptedFailure(
    status=429,
    kind="rate_limit_error",
    message="This hour's letters are written.",
    headers={"x-should-retry": "false"},
)

_HEAD = re.compile(r"^(?:step|agent|checkpoint|rework) [^:\n]*: .+$", re.MULTILINE)
_SUGGESTED = re.compile(r"The plan suggests:\n\n```bash\n(.*?)\n```", re.DOTALL)
_TOLD = re.compile(r'^\s*echo "(::.+)"\n?', re.MULTILINE)
_SLEPT = re.compile(r"^sleep 1\n?", re.MULTILINE)
_CONTEXT = re.compile(r"::context (\d+)%")
_COMMON_PCT = 20
"""Of its window, where the plan does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """An agent, as its model sees it: its shell tool, and the tokens that it counts as one percent of its window."""

    bash: Callable[[str], ToolUse]
    percent_tokens: int


def _codex_bash(command: str) -> ToolUse:
    """Return codex's shell call, which asks for permission: otherwise it runs commands in a read-only
    sandbox.
    """
    asks = {"sandbox_permissions": "require_escalated", "justification": "the plan says so"}
    return ToolUse(name="exec_command", input={"cmd": command, "yield_time_ms": 30_000, **asks})


INSTRUMENTS: Mapping[str, Instrument] = {
    "claude": Instrument(
        bash=lambda command: ToolUse(name="Bash", input={"command": command}), percent_tokens=10_000
    ),
    "codex": Instrument(bash=_codex_bash, percent_tokens=1_900),
    "opencode": Instrument(
        bash=lambda command: ToolUse(name="bash", input={"command": command, "description": "run"}),
        percent_tokens=2_000,
    ),
}


class Player:
    """A script for the model. ``on_waiting`` is told once, when the command runs that the emergency interrupts."""

    def __init__(self, instrument: Instrument, *, quota_s: float, on_waiting: Callable[[], None]) -> None:
        self._instrument, self._quota_s, self._on_waiting = instrument, quota_s, on_waiting
        self._given_from_s: float | None = None

    def __call__(self, received: Received) -> Step:
        messages = received.messages
        begun = max(at for at, each in enumerate(messages) if each.role == "user" and _HEAD.search(each.text))
        prompt = _last_prompt(messages[begun].text)
        is_played = any(each.role == "assistant" for each in messages[begun:])
        if QUOTA_AT in prompt and not self._is_given():
            return _NO_QUOTA
        if EMERGENCY_AT in prompt and EMERGENCY not in prompt and not is_played:
            self._on_waiting()
            usage = self._usage_of(_script_of(prompt))
            return Reply(text="I ask the pigeons.", uses=(self._instrument.bash(_LONG),), usage=usage)
        return self._play(prompt, is_played=is_played)

    def _is_given(self) -> bool:
        now_s = time.monotonic()
        if self._given_from_s is None:
            self._given_from_s = now_s + self._quota_s
        return now_s >= self._given_from_s

    def _play(self, prompt: str, *, is_played: bool) -> Step:
        script = _script_of(prompt)
        told = _TOLD.findall(script)
        usage = self._usage_of(script)
        if is_played or not script:
            return say("Done.\n", usage=usage)
        words = "\n".join(each for each in told if not _CONTEXT.match(each))
        command = _SLEPT.sub("", _TOLD.sub("", script))
        return Reply(text=f"{words}\n", uses=(self._instrument.bash(command),), usage=usage)

    def _usage_of(self, script: str) -> Usage:
        """Return what a step's script says is used, of each answer in it: a window does not empty itself."""
        found = _CONTEXT.search(script)
        used = _COMMON_PCT if found is None else int(found[1])
        return Usage(input=used * self._instrument.percent_tokens, output=0)


def _script_of(prompt: str) -> str:
    return "\n".join(_SUGGESTED.findall(prompt))


def _last_prompt(text: str) -> str:
    """Return the last prompt of a message. A prompt that got no answer comes before it in the same message."""
    return text[[head.start() for head in _HEAD.finditer(text)][-1] :]
