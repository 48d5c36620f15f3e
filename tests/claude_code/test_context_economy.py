"""What the plugin costs a musician's context from start to ``complete``: measured, budgeted, told in docs/CONTEXT.md.

The same work is played twice: by a musician with the plugin, and by a session without it, which reads the same
instruction. What the first conversation weighs more than the second is what the plugin adds. The script is the same
each time, and so is every path's length.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician.testing import Await, Part, PrintClient, Received, Reply, say, use
from musician.testing.part import Act
from tests.claude_code.conftest import CHIMES
from tests.weight import tokens, weigh

if TYPE_CHECKING:
    from tests.claude_code.conftest import Hall

BOOTSTRAP_TOKENS = 1_500
WHOLE_LIFE_TOKENS = 4_000

OURS = "mcp__plugin_musician_"
PAGE = Path(__file__).parents[2] / "docs" / "CONTEXT.md"
TABLE = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", flags=re.S)
LINES_ROUND_TO_BYTES = 10
DRIFT = 0.1
"""Ids and times are not of the same length in every run, and a word more in a tool is no news for a reader."""

STILL_CONNECTING = re.compile(
    r"The following MCP servers are still connecting.*?without first searching\.\n*", flags=re.S
)
"""On a busy machine the client says so; it is no part of what a musician costs."""

URGENT = "Mind the neighbours: strike softly."

PLAN = (
    CHIMES.format(review="human")
    + """\
```yaml task
files: [hours.py]
```
#### Step 1: Count the strokes
`strokes(hour)` in hours.py: one to twelve strokes for 0 to 23 o'clock.
#### Step 2: Name the bell
`bell(hour)`: "small" before noon, "great" from noon on.
#### Step 3: Tell the halves
`half(minute)`: whether the half hour is struck.
#### Checkpoint 1: the strokes are counted
- test: `python3 -m unittest -q test_hours`
#### Step 4: Strike
`strike(hour)`: the bell's name, once for each stroke.
#### Step 5: Be silent at night
`strike(hour)` is empty from 22 to 5 o'clock.
"""
)


@dataclass(frozen=True, kw_only=True)
class Row:
    what: str
    size: int


@pytest.fixture
def plan() -> str:
    return PLAN


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Paths are part of what is weighed: one of the same length wherever the tests run."""
    with tempfile.TemporaryDirectory(prefix="chimes-", dir="/tmp") as folder:
        yield Path(folder)


def work(hall: "Hall", number: int) -> str:
    return hall.writing(hall.right + "\n" * number)


def read_instruction(hall: "Hall") -> Reply:
    return use("Read", file_path=str(hall.root / (hall.view().row.instruction_path or "")))


def with_the_plugin(hall: "Hall") -> Part:
    def step(number: int) -> tuple[Act, ...]:
        return (
            hall.tool("step", n=number, act="start"),
            use("Bash", command=work(hall, number)),
            hall.tool("step", n=number, act="done"),
        )

    def submit() -> tuple[Act, ...]:
        return (hall.tool("checkpoint", summary="the bells are counted"), say("Submitted."))

    long_call = f"touch '{hall.folder}/long'; until test -e '{hall.folder}/said'; do sleep 0.05; done"
    acts = (
        read_instruction(hall),
        *(*step(1), *step(2), *step(3), *submit()),
        *(Await(hall.is_in("review_failed")), hall.tool("inbox"), use("Bash", command=work(hall, 6))),
        *(*submit(), Await(hall.is_in("review_approved"))),
        *(*step(4), hall.tool("step", n=5, act="start"), use("Bash", command=long_call), hall.tool("inbox")),
        *(use("Bash", command=work(hall, 5)), hall.tool("step", n=5, act="done"), *submit()),
        *(Await(hall.is_in("review_approved")), hall.tool("complete"), say("Complete.")),
    )
    return Part(*acts)


def without_it(hall: "Hall") -> Part:
    numbers = (1, 2, 3, 6, 4)
    long_call = f"touch '{hall.folder}/long'; until test -e '{hall.folder}/said'; do sleep 0.05; done"
    return Part(
        read_instruction(hall),
        *(use("Bash", command=work(hall, number)) for number in numbers),
        use("Bash", command=long_call),
        use("Bash", command=work(hall, 5)),
        say("Complete."),
    )


def conduct(hall: "Hall") -> None:
    hall.wait(hall.is_in("needs_review"))
    hall.person("review", "reject", "task-03", "Leave two empty lines at the end of hours.py.")
    hall.wait(hall.is_in("needs_review"))
    hall.person("review", "approve", "task-03")
    hall.wait((hall.folder / "long").exists)
    hall.person("send", "task-03", URGENT, "--urgent")
    (hall.folder / "said").touch()
    hall.wait(hall.is_in("needs_review"))
    hall.person("review", "approve", "task-03")


def measure(hall: "Hall") -> tuple[tuple[Received, ...], tuple[Received, ...]]:
    """The requests of both."""
    model, home = hall.played(with_the_plugin(hall), "musician")
    with (
        ThreadPoolExecutor() as pool,
        PrintClient(home, hall.root, "/musician task-03", plugins=[hall.plugin]) as client,
    ):
        conducted = pool.submit(conduct, hall)
        assert client.end().text == "Complete."
        conducted.result()
    plain, home = hall.played(without_it(hall), "somebody")
    with PrintClient(home, hall.root, "play it") as client:
        assert client.end().text == "Complete."
    return model.main, plain.main


def rows(musician: tuple[Received, ...], plain: tuple[Received, ...]) -> tuple[list[Row], int, int]:
    """The table, and the bytes of the bootstrap and of the whole life."""
    last = weigh(musician[-1])
    tools = last.of("tools", OURS)
    bootstrap = tools + _said(musician[0]) - _said(plain[0])
    whole = tools + _said(musician[-1]) - _said(plain[-1])
    skill = sum(
        len(block["text"].encode())
        for message in musician[0].messages
        for block in message.content
        if "Base directory for this skill" in block.get("text", "")
    )
    calls = last.of("calls", OURS)
    answers = last.of("answers", OURS)
    found = [
        Row(what="tool definitions", size=tools),
        Row(what="the skill", size=skill),
        Row(what="claim and id, and the client's lists", size=bootstrap - tools - skill),
        Row(what="**bootstrap**", size=bootstrap),
        Row(what="calls of the tools", size=calls),
        Row(what="their answers", size=answers),
        Row(what="verdicts, messages, reasons to go on", size=whole - bootstrap - calls - answers),
        Row(what="**the whole life**", size=whole),
    ]
    return found, bootstrap, whole


def _said(received: Received) -> int:
    """Bytes of all but the tools' definitions, which may come later; without what says that they do."""
    weight = weigh(received)
    late = sum(len(each.encode()) for each in STILL_CONNECTING.findall(received.all_text))
    return weight.total - sum(weight.tools.values()) - late


def render(found: list[Row]) -> str:
    lines = ["| | bytes | tokens |", "|---|---|---|"]
    for row in found:
        size = round(row.size / LINES_ROUND_TO_BYTES) * LINES_ROUND_TO_BYTES
        lines.append(f"| {row.what} | {size:,} | {tokens(size):,} |")
    return "\n".join(lines) + "\n"


def test_the_plugin_stays_within_its_budget_and_the_page_says_what_it_costs(hall: "Hall") -> None:
    found, bootstrap, whole = rows(*measure(hall))
    measured = render(found)
    assert tokens(bootstrap) <= BOOTSTRAP_TOKENS, measured
    assert tokens(whole) <= WHOLE_LIFE_TOKENS, measured
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        page = TABLE.sub(lambda _: measured, page)
        PAGE.write_text(page, encoding="utf-8")
    said = numbers(next(iter(TABLE.findall(page))))
    assert said == pytest.approx(numbers(measured), rel=DRIFT, abs=20), "MUSICIAN_REWRITE=1 writes it anew"


def numbers(table: str) -> list[int]:
    return [int(size.replace(",", "")) for size in re.findall(r"\| ([\d,]+) ", table)]
