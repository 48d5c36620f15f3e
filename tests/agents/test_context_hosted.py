"""What a hosted musician's protocol adds to a bare session of the client, told in docs/CONTEXT.md.

The same work is played twice: by ``musician run``, and by a program that gives the client the plan's words and
nothing else. Both are weighed as the model reads them: system prompt, tools, prompts, calls and answers.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions

from musician.testing import ClientHome, Received, Reply, ScriptedModel, say
from musician.testing.hosted_client import HostedClient
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.agents.whole_run import claude_shell, play
from tests.surroundings import begin
from tests.weight import tokens, weigh

WHOLE_LIFE_TOKENS = 1_200
PAGE = Path(__file__).parents[2] / "docs" / "CONTEXT.md"
TABLE = re.compile(r"(?<=<!-- hosted -->\n).*?(?=<!-- end -->)", flags=re.S)
DRIFT = 0.1
"""Paths and ids are not of the same length in every run."""

OVERVIEW = "A tower clock that strikes."
STEPS = (
    ("Count the strokes", "`strokes(hour)` in hours.py: one to twelve strokes for 0 to 23 o'clock."),
    ("Name the bell", '`bell(hour)`: "small" before noon, "great" from noon on.'),
    ("Tell the halves", "`half(minute)`: whether the half hour is struck."),
    ("Strike", "`strike(hour)`: the bell's name, once for each stroke."),
    ("Be silent at night", "`strike(hour)` is empty from 22 to 5 o'clock."),
)
CHECKPOINT_AFTER = 3
REJECTED = "Leave two empty lines at the end of hours.py."
URGENT = "Mind the neighbours: strike softly."
PLAN = f"---\nplan: chimes\ntest: 'true'\nreview: agent\n---\n# Chimes\n\n## Overview\n{OVERVIEW}\n\n"
PLAN += "## Phase 1: The clock\n### task-01: Strike the hours\n" + "".join(
    f"#### Step {number}: {title}\n{prose}\n"
    + ("#### Checkpoint 1: the strokes are counted\n" if number == CHECKPOINT_AFTER else "")
    for number, (title, prose) in enumerate(STEPS, start=1)
)
DONE = "I wrote it, and it works."


class Clockmaker:
    """Plays each prompt with one command; in the last step it is called by an urgent message, once."""

    def __init__(self) -> None:
        self.last: Received | None = None
        self.project = Path()
        self.caller: subprocess.Popen[bytes] | None = None
        self._judged = 0

    def __call__(self, received: Received) -> Step:
        if "Judge what was submitted" in received.all_text:
            self._judged += 1
            return say(f"::verdict reject {REJECTED}" if self._judged == 1 else "::verdict approve")
        self.last = received
        if received.answers:
            return say(DONE)
        if "Be silent at night" in received.news_text and self.caller is None:
            command = [sys.executable, "-m", "musician", "send", "task-01", URGENT, "--urgent"]
            self.caller = subprocess.Popen(command, cwd=self.project, stdout=subprocess.DEVNULL)
            return Reply(text="I listen.", uses=(claude_shell("echo night >> hours.py; sleep 300"),))
        return Reply(text="I write.", uses=(claude_shell(f"echo {len(received.messages)} >> hours.py"),))


def hosted(folder: Path) -> Received:
    """The last request of the musician's conversation."""
    model = Clockmaker()

    def prepare(project: Path, _home: Path) -> Mapping[str, str]:
        model.project = project
        return {}

    play(folder, PLAN, model, prepare=prepare)
    assert model.caller is not None
    assert model.caller.wait(HANG_S) == 0
    assert model.last is not None
    assert REJECTED in model.last.all_text
    assert URGENT in model.last.all_text
    return model.last


def bare(folder: Path) -> Received:
    """The last request of a session that is given the plan's words, one prompt after the other."""
    last: list[Received] = []

    def play_each(received: Received) -> Step:
        last.append(received)
        if received.answers:
            return say(DONE)
        return Reply(text="I write.", uses=(claude_shell(f"echo {len(received.messages)} >> hours.py"),))

    prompts = [f"{title}\n\n{prose}" for title, prose in STEPS]
    prompts = [
        OVERVIEW + "\n\n" + prompts[0],
        *prompts[1:3],
        REJECTED,
        *prompts[3:],
        f"{URGENT}\n\n{prompts[-1]}",
    ]

    with ScriptedModel(play_each) as server:
        host(folder, server.url, *prompts)
    return last[-1]


def host(folder: Path, url: str, *prompts: str) -> None:
    """A session of the client as it is, which is said one after the other."""
    home = ClientHome(folder / "home", model_url=url, allows=["Bash"])
    project = begin(folder / "project", {"PLAN.md": PLAN})
    own = ClaudeAgentOptions(system_prompt={"type": "preset", "preset": "claude_code"})

    async def session() -> None:
        async with HostedClient(home, project, options=own) as client:
            for prompt in prompts:
                await client.turn(prompt)

    anyio.run(session)


def rows(musician: Received, plain: Received) -> list[tuple[str, int]]:
    ours, theirs = weigh(musician), weigh(plain)
    used = [sum((*each.calls.values(), *each.answers.values())) for each in (ours, theirs)]
    return [
        ("system prompt", ours.system - theirs.system),
        ("tool definitions", sum(ours.tools.values()) - sum(theirs.tools.values())),
        ("prompts", ours.texts - theirs.texts),
        ("calls and answers", used[0] - used[1]),
        ("**the whole life**", ours.total - theirs.total),
    ]


@pytest.mark.deep
def test_a_hosted_musician_stays_within_its_budget_and_the_page_says_what_it_costs(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    musician, plain = hosted(tmp_path / "a"), bare(tmp_path / "b")
    found = rows(musician, plain)
    measured = render(found)
    added = sum(max(0, size) for _, size in found[:-1])  # what is taken away pays for nothing
    assert tokens(added) <= WHOLE_LIFE_TOKENS, measured
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        page = TABLE.sub(lambda _: measured, page)
        PAGE.write_text(page, encoding="utf-8")
    said = numbers(next(iter(TABLE.findall(page))))
    assert said == pytest.approx(numbers(measured), rel=DRIFT, abs=200), "MUSICIAN_REWRITE=1 writes it anew"


def render(found: list[tuple[str, int]]) -> str:
    lines = ["| | bytes | tokens |", "|---|---|---|"]
    lines += [f"| {what} | {round(size, -1):,} | {tokens(round(size, -1)):,} |" for what, size in found]
    return "\n".join(lines) + "\n"


def numbers(table: str) -> list[int]:
    return [int(size.replace(",", "")) for size in re.findall(r"\| (-?[\d,]+) ", table)]
