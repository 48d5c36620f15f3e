"""Reads the body of a task (its steps, agent pieces and checkpoints) from a plan or an instruction file.

The grammar is the same in both, two heading levels apart (DESIGN 7). The result is valid by construction: steps,
checkpoints and the agent pieces of a step are numbered 1, 2, 3 …; every script is in a place where something runs it;
the last item is the final checkpoint, written or not. Text belongs to the piece it stands in, without the scripts and
tests.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, assert_never

from musician.plans.fences import Role, role_of
from musician.plans.headings import (
    PLAN_STEP_LEVEL,
    Count,
    HeadingKind,
    Numbered,
    looks_structural,
    quote,
    read_numbered,
)
from musician.plans.keys import Keys, read_agent_keys
from musician.plans.markdown import Block, Document, Fence, Heading, ListItem, Prose, code_after
from musician.plans.model import MAX_COMMAND_BYTES, AgentPiece, Checkpoint, Step
from musician.plans.problems import Report, shorten
from musician.plans.unread import looks_like_test, report_test_outside, report_unread
from musician.protocol.values import dataclass, replace

FINAL_TITLE = "final"
"""The title of a final checkpoint that the author did not write."""

_BOXES = ("[ ] ", "[x] ", "[X] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """``overview`` is the text above the first item, ``keys`` the ``yaml task`` fence there.

    ``misread`` is true if a heading could not be read and was reported; ``items`` may be incomplete then.
    """

    overview: str
    keys: Fence | None
    items: tuple[Step | Checkpoint, ...]
    misread: bool


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A piece under construction. ``kind`` is None for the task itself; ``lost`` is one with a misread heading."""

    kind: HeadingKind | None
    number: int = 0
    title: str = ""
    line: int = 0
    lost: bool = False
    text: list[Block] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    rework: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    agents: list["_Draft"] = field(default_factory=list)
    keys: Keys | None = None


def read_body(document: Document, blocks: Sequence[Block], *, step_level: int, report: Report) -> Body:
    """Read the blocks under a task's heading. The caller decides whether they are enough for a task."""
    reader = _Reader(document, step_level=step_level, report=report)
    for block in blocks:
        reader.take(block)
    return Body(
        overview=document.prose(reader.task.text),
        keys=reader.keys,
        items=_with_final([_finished(draft, document) for draft in reader.items]),
        misread=reader.misread,
    )


def read_prose(
    document: Document, blocks: Sequence[Block], *, free_level: int, place: str, allowed: str, report: Report
) -> str:
    """Read text in a place where nothing is played, such as an overview, and report what would be lost there.

    Headings from ``free_level`` down are text. Problems name the ``place`` and what is ``allowed`` in it.
    """
    for block in blocks:
        if isinstance(block, Heading) and (block.level < free_level or looks_structural(block.text)):
            report(block.line, f"{quote(block)} {place}", allowed)
        elif isinstance(block, Fence) and role_of(block, report) is not None:
            report(block.line, f"a fence ```{' '.join(block.words)} {place}", "it in a task")
        elif not isinstance(block, Heading):
            report_unread(block, document, report)
    return document.prose(blocks)


class _Reader:
    """Puts each block where it belongs."""

    def __init__(self, document: Document, *, step_level: int, report: Report) -> None:
        self._document = document
        self.task = _Draft(kind=None)
        self.items: list[_Draft] = []
        self.keys: Fence | None = None
        self.misread = False
        self._piece = self.task
        self._step: _Draft | None = None
        self._level = step_level
        self._report = report
        self._counts = {HeadingKind.STEP: Count(), HeadingKind.CHECKPOINT: Count()}
        self._agents = Count()

    def take(self, block: Block) -> None:
        if isinstance(block, Heading):
            self._heading(block)
        elif isinstance(block, Fence):
            self._fence(block)
        elif isinstance(block, ListItem):
            self._list_item(block)
        elif isinstance(block, Prose):
            self._text(block)
        else:
            assert_never(block)

    def _heading(self, heading: Heading) -> None:
        numbered = read_numbered(heading.text)
        kind = numbered.kind if numbered else None
        if heading.level == self._level and numbered and kind in self._counts:
            self._counts[numbered.kind].check(heading, numbered, self._report)
            self._piece = _draft(heading, numbered)
            self.items.append(self._piece)
            self._open_step(self._piece if kind is HeadingKind.STEP else None)
        elif heading.level == self._level + 1 and numbered and kind is HeadingKind.AGENT and self._step:
            self._agents.check(heading, numbered, self._report)
            self._piece = _draft(heading, numbered)
            self._step.agents.append(self._piece)
        elif heading.level <= self._level + 1 or looks_structural(heading.text):
            self._misread(heading)
        else:
            self._piece.text.append(heading)

    def _open_step(self, step: _Draft | None) -> None:
        self._step, self._agents = step, Count()

    def _misread(self, heading: Heading) -> None:
        """Report the heading, and accept what follows silently: it is all one mistake."""
        self._report(heading.line, quote(heading), self._expected(heading))
        self.misread = True
        self._piece = _Draft(kind=None, lost=True)
        if heading.level <= self._level:
            self._open_step(self._piece)
            for count in self._counts.values():
                count.forgive_gap()
        self._agents.forgive_gap()

    def _expected(self, heading: Heading) -> str:
        step, agent = "#" * self._level, "#" * (self._level + 1)
        if heading.level <= self._level:
            return f"`{step} Step N: Title` or `{step} Checkpoint N: Title`"
        if heading.level == self._level + 1:
            return f"`{agent} Agent N: Title` in a step; only headings from {agent}# down are text"
        return (
            f"`{step} Step N: Title`, `{step} Checkpoint N: Title` or `{agent} Agent N: Title`, at that level"
        )

    def _fence(self, fence: Fence) -> None:
        role, piece = role_of(fence, self._report), self._piece
        report_unread(fence, self._document, self._report, in_task=True)
        if role is None:
            piece.text.append(fence)
        elif piece.lost:
            return  # its heading is reported already
        elif role is Role.KEYS:
            self._take_keys(fence)
        elif role is Role.AGENT_KEYS:
            self._take_agent_keys(fence)
        elif role is Role.RUN:
            if piece.kind in (HeadingKind.STEP, HeadingKind.AGENT):
                piece.run.append(fence.content)
            else:
                self._report(fence.line, "a run script outside a step", _where(piece, "run"))
        elif piece.kind in (HeadingKind.STEP, HeadingKind.CHECKPOINT):
            piece.rework.append(fence.content)
        else:
            self._report(fence.line, "a rework script outside a step or checkpoint", _where(piece, "rework"))

    def _take_keys(self, fence: Fence) -> None:
        if self._level != PLAN_STEP_LEVEL:
            self._report(fence.line, "a ```yaml task in an instruction file", "its keys in the front matter")
        elif self._piece.kind is not None:
            self._report(
                fence.line, "the task's keys inside a step or checkpoint", "them above the first step"
            )
        elif self.keys is not None:
            self._report(fence.line, "a second ```yaml task", f"one (the first is in line {self.keys.line})")
        else:
            self.keys = fence

    def _take_agent_keys(self, fence: Fence) -> None:
        if self._piece.kind is not HeadingKind.AGENT:
            self._report(fence.line, "a subagent's keys outside its piece", "them under an Agent heading")
        elif self._piece.keys is not None:
            self._report(fence.line, "a second ```yaml agent", "one for each piece")
        else:
            self._piece.keys = read_agent_keys(fence, self._report)

    def _list_item(self, item: ListItem) -> None:
        if self._piece.kind is not HeadingKind.CHECKPOINT:
            report_test_outside(item, self._report)
            self._text(item)
            return
        lead = item.lead
        for box in _BOXES:
            lead = lead.removeprefix(box)
        command = code_after(lead, "test:") if item.alone else None
        if command and len(command.encode()) > MAX_COMMAND_BYTES:
            self._report(
                item.line, "a test that is too long", f"at most {MAX_COMMAND_BYTES} bytes: write a script"
            )
        elif command and command.strip():
            self._piece.tests.append(command.strip())
        elif looks_like_test(item):
            self._report(
                item.line, f"`- {shorten(item.lead)}`", "- test: `command`, and nothing more in that item"
            )
        else:
            self._text(item)

    def _text(self, block: Block) -> None:
        report_unread(block, self._document, self._report, in_task=True)
        self._piece.text.append(block)


def _where(piece: _Draft, word: str) -> str:
    if piece.kind is HeadingKind.CHECKPOINT:
        return "- test: `command` in a checkpoint"
    if piece.kind is HeadingKind.AGENT:
        return "it above the step's first Agent heading"
    return f"```bash {word} behind a Step heading"


def _draft(heading: Heading, numbered: Numbered) -> _Draft:
    return _Draft(kind=numbered.kind, number=numbered.number, title=numbered.title, line=heading.line)


def _finished(draft: _Draft, document: Document) -> Step | Checkpoint:
    if draft.kind is HeadingKind.CHECKPOINT:
        tests, rework = tuple(draft.tests), tuple(draft.rework)
        return Checkpoint(tests=tests, rework=rework, final=False, **_common_fields(draft, document))
    agents = tuple(_finished_agent(agent, document) for agent in draft.agents)
    fields = _common_fields(draft, document)
    return Step(run=tuple(draft.run), rework=tuple(draft.rework), agents=agents, **fields)


def _finished_agent(draft: _Draft, document: Document) -> AgentPiece:
    keys = draft.keys or Keys()
    return AgentPiece(
        run=tuple(draft.run),
        size=keys.get("size"),
        files=keys.get("files") or (),
        well_defined=keys.get("well_defined"),
        **_common_fields(draft, document),
    )


def _common_fields(draft: _Draft, document: Document) -> dict[str, Any]:
    prose = document.prose(draft.text)
    return {"number": draft.number, "title": draft.title, "prose": prose, "line": draft.line}


def _with_final(items: Sequence[Step | Checkpoint]) -> tuple[Step | Checkpoint, ...]:
    if not items:
        return ()
    *before, last = items
    if isinstance(last, Checkpoint):
        return (*before, replace(last, final=True))
    number = sum(isinstance(item, Checkpoint) for item in before) + 1
    final = Checkpoint(
        number=number, title=FINAL_TITLE, prose="", tests=(), rework=(), final=True, line=last.line
    )
    return (*items, final)
