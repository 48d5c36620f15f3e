"""Cuts a Markdown file into a flat list of top-level blocks that covers every line once.

This module knows CommonMark (through markdown-it-py) and nothing of plans. Rules:

- Only a heading, fence or list item at the top level counts as one. Inside lists, quotes, fences, comments and indented
  code it is text of that block (B38).
- Everything else is prose, kept as the source text that the author wrote.
- A BOM and CRLF are removed before parsing. A fence that is left open ends with the file, as in CommonMark.
- Inline markup is not parsed, except for the code span that :func:`code_after` looks for.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto

from markdown_it import MarkdownIt
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from musician.protocol.values import dataclass, replace

_BLOCKS = MarkdownIt("commonmark").use(front_matter_plugin)
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark")

_CLOSED_BY_MARKER = HTML_SEQUENCES[:5]
"""The kinds of HTML block that end at a marker such as ``-->``, or at the end of the file."""

_LIST_END = "<!-- -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The lines from ``start`` up to but not including ``end``, counted from 0."""

    start: int
    end: int

    @property
    def line(self) -> int:
        """The first line, counted from 1 as editors do."""
        return self.start + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter(_Span):
    """The YAML between two ``---`` lines at the very top; ``content`` begins on line ``line + 1``."""

    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(_Span):
    """``text`` is the source on one line, without the ``#`` around it. An ``underlined`` heading has none."""

    level: int
    text: str
    underlined: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence(_Span):
    """``words`` are the words of the info string. ``content`` ends with a newline unless it is empty."""

    markup: str
    words: tuple[str, ...]
    content: str
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItem(_Span):
    """``lead`` is the source of the first paragraph, ``alone`` whether that is all, ``fences`` the fences inside."""

    lead: str
    alone: bool
    fences: tuple[Fence, ...]


class ProseKind(Enum):
    """The kind of block in CommonMark. HTML that ends at a marker, such as a comment, is ``OTHER``."""

    PARAGRAPH = auto()
    QUOTE = auto()
    CODE = auto()
    HTML = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose(_Span):
    """Any other block. ``fences`` are those inside a quotation.

    ``closed`` is false for a comment, or other HTML with an end marker, that runs into the end of the file.
    """

    kind: ProseKind = ProseKind.OTHER
    closed: bool = True
    fences: tuple[Fence, ...] = ()


_PROSE = {
    "paragraph_open": ProseKind.PARAGRAPH,
    "blockquote_open": ProseKind.QUOTE,
    "code_block": ProseKind.CODE,
    "html_block": ProseKind.HTML,
}

Block = Heading | Fence | ListItem | Prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """``blocks`` cover every line after the front matter exactly once, in order."""

    lines: tuple[str, ...]
    front_matter: FrontMatter | None
    blocks: tuple[Block, ...]

    def prose(self, blocks: Iterable[Block]) -> str:
        """Return the source text of ``blocks``, with a blank line where something between them was left out."""
        spans: list[tuple[int, int]] = []
        for block in blocks:
            if spans and spans[-1][1] == block.start:
                spans[-1] = (spans[-1][0], block.end)
            else:
                spans.append((block.start, block.end))
        return join_prose("\n".join(self.lines[start:end]) for start, end in spans)


def normalise(text: str) -> str:
    """Return ``text`` without a BOM and with ``\\n`` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def read_document(text: str) -> Document:
    """Cut ``text`` into blocks. Every text is a document, so this never raises."""
    source = normalise(text)
    lines = source.split("\n")
    front: FrontMatter | None = None
    found: list[Block] = []
    tokens = _BLOCKS.parse(source)
    for index, token in enumerate(tokens):
        if token.type == "front_matter":
            start, end = _lines_of(token)
            front = FrontMatter(start=start, end=end, content=token.content)
        elif token.type == "heading_open" and token.level == 0:
            found.append(_heading(token, tokens[index + 1].content))
        elif token.type == "fence" and token.level == 0:
            found.append(_fence(token, lines))
        elif token.type in _PROSE and token.level == 0:
            found.append(_prose(tokens, index, lines))
        elif token.type == "list_item_open" and token.level == 1:  # in a list at the top
            found.append(_list_item(tokens, index, lines))
    if found and isinstance(found[-1], Fence) and not found[-1].closed:
        found[-1] = _close(found[-1], lines)
    first = front.end if front else 0
    return Document(
        lines=tuple(lines), front_matter=front, blocks=tuple(_cover(found, first=first, total=len(lines)))
    )


def split_at(blocks: Sequence[Block], level: int) -> Iterator[tuple[Heading | None, tuple[Block, ...]]]:
    """Yield sections, each begun by a heading of ``level`` or above. The first has no heading and may be empty."""
    heading: Heading | None = None
    section: list[Block] = []
    for block in blocks:
        if isinstance(block, Heading) and block.level <= level:
            yield heading, tuple(section)
            heading, section = block, []
        else:
            section.append(block)
    yield heading, tuple(section)


def join_prose(parts: Iterable[str]) -> str:
    """Join the parts with blank lines, so that a parser reads none of them as belonging to another."""
    joined = ""
    for part in map(_trim, parts):
        if not joined or not part:
            joined += part
            continue
        # After a list, indented text would become part of its last item, and a fence would lose its content.
        ends_list = part[0] in " \t"
        joined += f"\n\n{_LIST_END}\n\n{part}" if ends_list else f"\n\n{part}"
    return joined


def code_after(text: str, lead: str) -> str | None:
    """Return the code span in ``text`` if the text is exactly ``lead`` (in any case) and one code span, else None."""
    children = _INLINE.parseInline(text)[0].children or []
    kinds = [child.type for child in children]
    if kinds == ["text", "code_inline"] and children[0].content.strip().lower() == lead:
        return children[1].content
    return None


def _lines_of(token: Token) -> tuple[int, int]:
    assert token.map is not None, token.type  # noqa: S101 - every block token has one
    return token.map[0], token.map[1]


def _heading(token: Token, content: str) -> Heading:
    start, end = _lines_of(token)
    return Heading(
        start=start,
        end=end,
        level=int(token.tag.removeprefix("h")),
        text=" ".join(content.split()),
        underlined=not token.markup.startswith("#"),
    )


def _fence(token: Token, lines: Sequence[str]) -> Fence:
    start, end = _lines_of(token)
    closing = re.compile(rf" {{0,3}}{re.escape(token.markup)}{re.escape(token.markup[0])}*[ \t]*")
    closed = token.level > 0 or (end - start > 1 and closing.fullmatch(lines[end - 1]) is not None)
    return Fence(
        start=start,
        end=end,
        markup=token.markup,
        words=tuple(token.info.split()),
        content=token.content,
        closed=closed,
    )


def _close(fence: Fence, lines: list[str]) -> Fence:
    """Append the missing closing line to ``lines``: prose with an open fence would swallow what follows it."""
    if not lines[-1]:
        lines.pop()
    opening = lines[fence.start].lstrip(" ")
    lines.append(opening[: len(opening) - len(opening.lstrip(opening[0]))])
    return replace(fence, end=len(lines))


def _prose(tokens: Sequence[Token], index: int, lines: Sequence[str]) -> Prose:
    token = tokens[index]
    start, end = _lines_of(token)
    kind, closed = _PROSE[token.type], True
    if kind is ProseKind.HTML:
        opening = token.content.lstrip(" ").split("\n", 1)[0]
        for begins, ends, _ in _CLOSED_BY_MARKER:
            if begins.search(opening):
                kind, closed = ProseKind.OTHER, ends.search(token.content) is not None
                break
    fences = _fences(_inside(tokens, index), lines) if kind is ProseKind.QUOTE else ()
    return Prose(start=start, end=end, kind=kind, closed=closed, fences=fences)


def _inside(tokens: Sequence[Token], index: int) -> Sequence[Token]:
    """Return the tokens between a container's opening token and its closing one."""
    stop = index + 1
    while tokens[stop].level > tokens[index].level:
        stop += 1
    return tokens[index + 1 : stop]


def _fences(tokens: Iterable[Token], lines: Sequence[str]) -> tuple[Fence, ...]:
    return tuple(_fence(token, lines) for token in tokens if token.type == "fence")


def _list_item(tokens: Sequence[Token], index: int, lines: Sequence[str]) -> ListItem:
    start, end = _lines_of(tokens[index])
    inside = _inside(tokens, index)
    leads = bool(inside) and inside[0].type == "paragraph_open"
    return ListItem(
        start=start,
        end=end,
        lead=inside[1].content if leads else "",
        alone=leads and len(inside) == 3,
        fences=_fences(inside, lines),
    )


def _cover(found: Sequence[Block], *, first: int, total: int) -> Iterator[Block]:
    position = first
    for block in found:
        if block.start > position:
            yield Prose(start=position, end=block.start)
        yield block
        position = block.end
    if position < total:
        yield Prose(start=position, end=total)


def _trim(text: str) -> str:
    lines = text.split("\n")
    while lines and not lines[-1].strip(" \t"):
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.strip(" \t")), 0)
    return "\n".join(lines[first:])
