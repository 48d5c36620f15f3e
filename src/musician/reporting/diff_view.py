"""Turns one file's difference into lines to show: numbered, coloured, with the words that changed.

The patch is read by ``unidiff``, the languages by Pygments, the words are compared by ``difflib``. All three are
given bounded texts only. Whatever they cannot read is shown without it: a line is always there, as git has it. What
does not print stands as its escape: from a reviewer nothing may be hidden.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from pygments.lexers import get_lexer_for_filename
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from musician.processes.output import visible
from musician.protocol.values import dataclass, replace
from musician.trees.diffs import FileDiff, patch_of, text_of_blob

MOST_WORD_CHARS = 2000
"""Of a line whose words are compared."""
MOST_WORD_PAIRS = 250_000
"""Of two lines that are compared, which costs as much as their words multiplied."""
MOST_LINES = 5000
"""Of one file's difference on a page; the rest is counted."""
MOST_COLOURED_CHARS = 100_000
"""Of one version of a file, from its beginning: a lexer needs seconds for more. What comes after has no colours."""

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_LEAST_ALIKE = 0.4
"""Lines less alike than this are different lines, not the same one changed."""
_CHANGED = "word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a line. ``names`` are classes of the style sheet, "" for plain text."""

    text: str
    names: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``sign`` is +, - or a space. A number is None on the side that does not have the line."""

    sign: str
    old: int | None
    new: int | None
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def number(self) -> int:
        """The line's number on the side it is spoken of: the new one, if it is there."""
        return self.new or self.old or 0

    @property
    def side(self) -> str:
        return "new" if self.new is not None else "old"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """``left_out`` counts the lines that are not shown."""

    hunks: tuple[Hunk, ...]
    left_out: int


TOO_LARGE = FileView(hunks=(), left_out=0)
"""Of a file whose difference is larger than is worth reading."""


def file_view(
    folder: Path, old: str, new: str, file: FileDiff, *, is_space_ignored: bool = False
) -> FileView | None:
    """Return the lines of one file of the change between two commits, or :data:`TOO_LARGE`; None as
    :func:`lines_of_patch`. Blocks.
    """
    options = ("--ignore-all-space",) if is_space_ignored else ()
    patch = patch_of(folder, old, new, file, *options)
    if patch is None or file.added is None:
        return TOO_LARGE if patch is None else None
    texts = (text_of_blob(folder, blob) for blob in (file.old_blob, file.new_blob))
    return lines_of_patch(patch, file.path, *texts)


def lines_of_patch(patch: str, path: str, old_text: str | None, new_text: str | None) -> FileView | None:
    """Return the lines of one file's patch; None if it has none, as of a binary file or a change of mode.

    The texts are the whole file before and after, for its colours; None where that is too large to colour.
    """
    try:
        files = PatchSet(patch)
    except UnidiffParseError:
        return None
    every = [hunk for file in files for hunk in file]  # of a file that became a link git tells two
    if not every:
        return None
    old_colours = _coloured(path, old_text, max(hunk.source_start + hunk.source_length for hunk in every))
    new_colours = _coloured(path, new_text, max(hunk.target_start + hunk.target_length for hunk in every))
    # Where all lines end in the same way, it is no news; where only some end in CR LF, each of them shows it.
    ended = [
        line.value for hunk in every for line in hunk if line.line_type in "+- " and line.value[-1:] == "\n"
    ]
    end = "\r\n" if all(value.endswith("\r\n") for value in ended) else "\n"
    hunks: list[Hunk] = []
    shown, total = 0, sum(map(len, every))
    for hunk in every:
        lines = []
        for line in hunk:
            if line.line_type not in "+- ":  # "no newline at end of file"
                continue
            if shown >= MOST_LINES:
                break
            shown += 1
            is_old = line.line_type == "-"
            colours, number = (
                (old_colours, line.source_line_no) if is_old else (new_colours, line.target_line_no)
            )
            lines.append(
                Line(
                    sign=line.line_type,
                    old=line.source_line_no,
                    new=line.target_line_no,
                    spans=_spans(line.value.removesuffix(end), colours, number),
                )
            )
        if lines:
            heading = (
                f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
            )
            hunks.append(
                Hunk(
                    heading=f"{heading} {visible(hunk.section_header)}".rstrip(),
                    lines=tuple(_with_words(lines)),
                )
            )
    return FileView(hunks=tuple(hunks), left_out=max(0, total - shown))


def _coloured(path: str, text: str | None, most_lines: int) -> list[tuple[Span, ...]]:
    """Return the spans of the first lines of a file; none if no lexer knows such a file."""
    if not text:
        return []
    try:
        lexer = get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return []
    lines: list[list[Span]] = [[]]
    for kind, value in lexer.get_tokens(text[:MOST_COLOURED_CHARS]):
        if len(lines) > most_lines:
            break
        name = STANDARD_TYPES.get(kind, "")
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
            if part:
                lines[-1].append(Span(text=part, names=name))
    return [tuple(line) for line in lines]


def _spans(text: str, colours: Sequence[tuple[Span, ...]], number: int | None) -> tuple[Span, ...]:
    found = colours[number - 1] if number is not None and 0 < number <= len(colours) else ()
    if "".join(span.text for span in found) != text:  # a lexer may drop or change characters
        found = (Span(text=text),)
    return tuple(replace(span, text=visible(span.text)) for span in found)


def _with_words(lines: Sequence[Line]) -> Iterator[Line]:
    """Mark what changed within lines: where as many are added as were removed just before, one stands for another."""
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].sign == "-":
            end += 1
        removed = lines[start:end]
        added = lines[end : end + len(removed)]
        if removed and len(added) == len(removed) and all(line.sign == "+" for line in added):
            pairs = [_marked(old, new) for old, new in zip(removed, added, strict=True)]
            yield from (old for old, _ in pairs)
            yield from (new for _, new in pairs)
            start = end + len(added)
        else:
            yield from lines[start : max(end, start + 1)]
            start = max(end, start + 1)


def _marked(old: Line, new: Line) -> tuple[Line, Line]:
    if max(len(old.text), len(new.text)) > MOST_WORD_CHARS:
        return old, new
    before, after = _WORD.findall(old.text), _WORD.findall(new.text)
    if len(before) * len(after) > MOST_WORD_PAIRS:
        return old, new
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return old, new
    blocks = matcher.get_matching_blocks()
    kept_before = {index for block in blocks for index in range(block.a, block.a + block.size)}
    kept_after = {index for block in blocks for index in range(block.b, block.b + block.size)}
    return (
        replace(old, spans=_split(old.spans, _marks(before, kept_before))),
        replace(new, spans=_split(new.spans, _marks(after, kept_after))),
    )


def _marks(words: Sequence[str], kept: set[int]) -> list[bool]:
    """Return for each character whether it is in a word that changed."""
    return [index not in kept for index, word in enumerate(words) for _ in word]


def _split(spans: Sequence[Span], marks: Sequence[bool]) -> tuple[Span, ...]:
    named = ((span.names, character) for span in spans for character in span.text)
    marked = (
        (f"{names} {_CHANGED}".strip() if mark else names, c)
        for (names, c), mark in zip(named, marks, strict=True)
    )
    return tuple(
        Span(text="".join(character for _, character in run), names=names)
        for names, run in groupby(marked, key=itemgetter(0))
    )
