"""Reports text that its author probably meant as a heading, fence or test (DESIGN 7).

A plan is prose in which a few headings, fences and list items have a function. A typing error turns one of them into
prose: ``####Step 2`` without a blank, ``**Step 2: …**``, a fence under an HTML block, ``- **test**: …``. The step would
not be played, or the test not be run, and nobody would notice. So every block of text is checked once more. A false
alarm is acceptable, because it is avoided by changing one character; nothing is ever guessed.

Deliberate text is not checked: comments, quoted prose, inline code and fences of other languages.
"""

import re
from collections.abc import Iterable

from musician.plans.fences import acts, quote_fence
from musician.plans.markdown import Block, Document, Fence, ListItem, Prose, ProseKind
from musician.plans.problems import Report, shorten

_GLUED = re.compile(r" {0,3}(?:#{2,6}[^\s#]|#(?:phase|step|agent|checkpoint)\s*#?\d)", re.IGNORECASE)
_EMPHASISED = re.compile(r"\s*(?:\*{1,3}|_{1,3})(?:phase|step|agent|checkpoint)\s*#?\d", re.IGNORECASE)
_BARE = re.compile(r"\s*(?:step|agent|checkpoint) \d+\s*:", re.IGNORECASE)
_HEADING = re.compile(r"\s*#{2,6}\s*(?:phase|step|agent|checkpoint)\s*#?\d", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)")
_TEST = re.compile(r"\s*(?:\[[ xX]\]\s*)?[*_]*tests?[*_\s]*[:=][*_\s]*", re.IGNORECASE)
_TEST_ALONE = re.compile(rf"{_TEST.pattern}`[^`]+`\s*", re.IGNORECASE)
_COMMAND = re.compile(r"(?:[*_]*[\w ]{1,20}[*_]*\s*:[*_]*\s*)?`[^`]*\S\s+\S[^`]*`")
"""A command and nothing else, with or without a label. It contains a blank, so a mere file name does not match."""

_AT_MARGIN = "it at the left margin, with a blank line above"


def report_unread(block: Block, document: Document, report: Report, *, in_task: bool = False) -> None:
    """Report parts of ``block``, which is text to the grammar, that were probably meant to have a function.

    Inside a task (``in_task``), a line that begins with ``Step 2:`` counts as a heading; elsewhere it is a sentence.
    """
    where = "inside a list" if isinstance(block, ListItem) else "inside a quotation"
    for fence in _inside(block):
        if acts(fence.words):
            report(fence.line, f"{quote_fence(fence)} {where}", "it at the left margin, outside of that")
    if isinstance(block, Fence):
        _report_swallowed(block, report)
    elif isinstance(block, Prose):
        if not block.closed:
            report(block.line, "a comment or HTML block that is never closed", "its end, such as -->")
        lines = list(enumerate(document.lines[block.start : block.end], start=block.line))
        if block.kind is ProseKind.PARAGRAPH:
            _report_paragraph(lines, report, in_task=in_task)
        elif block.kind in (ProseKind.CODE, ProseKind.HTML):
            _report_block(lines, block, report)


def looks_like_test(item: ListItem) -> bool:
    """Whether an item of a checkpoint was probably meant as a test: ``- **test**: …``, ``- verify: `make check```."""
    return _TEST.match(item.lead) is not None or (item.alone and _COMMAND.fullmatch(item.lead) is not None)


def report_test_outside(item: ListItem, report: Report) -> None:
    """Report a test that stands outside a checkpoint, where it is never run."""
    if _TEST_ALONE.fullmatch(item.lead):
        report(item.line, f"`- {shorten(item.lead)}` outside a checkpoint", "it under a Checkpoint heading")


def _inside(block: Block) -> Iterable[Fence]:
    return block.fences if isinstance(block, ListItem | Prose) else ()


def _report_paragraph(lines: Iterable[tuple[int, str]], report: Report, *, in_task: bool) -> None:
    for number, line in lines:
        found = f"`{shorten(line)}`"
        if _GLUED.match(line):
            report(number, found, "a blank between # and the title, or none of the # if it is no heading")
        elif _EMPHASISED.match(line) or (in_task and _BARE.match(line)):
            report(number, found, "a heading such as `#### Step N: Title`, or other words if it is none")
        elif in_task and _TEST_ALONE.fullmatch(line):
            report(number, found, "- test: `command` in a checkpoint, as a list item")
        elif _opens_script(line):
            report(number, found, "a fence: ```bash run on a line of its own, ``` behind the script")


def _report_block(lines: Iterable[tuple[int, str]], block: Prose, report: Report) -> None:
    in_html = block.kind is ProseKind.HTML
    where = "in an HTML block" if in_html else "in indented code"
    for number, line in lines:  # an indented heading is no mistake: people show headings that way
        if _opens_script(line) or (in_html and _HEADING.match(line)):
            report(number, f"`{shorten(line)}` {where}, where it is text", _AT_MARGIN)
            return  # the rest of this block follows from it


def _report_swallowed(fence: Fence, report: Report) -> None:
    """Report a fence that opens inside another of the same length: the outer one is probably missing its end."""
    for number, line in enumerate(fence.content.split("\n"), start=fence.line + 1):
        if _opens_script(line, least=len(fence.markup)):
            inside = f"`{shorten(line)}` inside the fence of line {fence.line}, where it is text"
            report(number, inside, "that one closed before it, or longer than what it shows")
            return


def _opens_script(line: str, *, least: int = 3) -> bool:
    found = _FENCE.match(line)
    return found is not None and len(found["marks"]) >= least and acts(tuple(found["info"].split()))
