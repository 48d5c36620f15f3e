"""The rows of a screen, and the list that a person goes through by keys."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from musician.processes.output import printable
from musician.protocol.values import dataclass

Part = tuple[str, str]
"""A text and its style, "" for none. Styles are ours alone."""

MOST_ROW_CHARS = 4000
"""Of one part of a row: a line of a megabyte would be wrapped anew at each look."""
MOST_BLOCK_LINES = 500
_TAB = 4
_LEAST_WIDTH = 8
"""Below it nothing is indented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``key`` is its own on its screen, and stays its own when the screen is made again.

    ``opens`` is what Enter opens, for the screen alone to understand; None for nothing. ``hang`` is how far the next
    lines are indented where it is wrapped; ``is_cut`` that it is one line in any window. ``begins`` a part of the
    screen, to which one can jump.
    """

    key: str
    parts: tuple[Part, ...]
    opens: object = None
    hang: int = 2
    is_cut: bool = False
    begins: bool = False


def row(key: str, text: str, style: str = "", *, opens: object = None, hang: int = 2) -> Row:
    return Row(key=key, parts=((text, style),), opens=opens, hang=hang)


def heading(key: str, text: str) -> Row:
    return Row(key=key, parts=((text, "bold $text-accent"),), begins=True)


def block(key: str, text: str, style: str = "", *, indent: str = "") -> Iterable[Row]:
    """Yield a row for each line of a text, up to :data:`MOST_BLOCK_LINES`."""
    lines = text.splitlines()
    for number, line in enumerate(lines[:MOST_BLOCK_LINES]):
        yield row(f"{key}-{number}", indent + line, style, hang=len(indent) + 2)
    if len(lines) > MOST_BLOCK_LINES:
        yield row(f"{key}-more", f"{indent}{len(lines) - MOST_BLOCK_LINES} more lines are left out", "dim")


def inert(*parts: Part) -> Content:
    """Return foreign text as content of a terminal on which nothing of it acts."""
    return Content.assemble(*((_bounded(text), style) for text, style in parts))


def _bounded(text: str) -> str:
    more = len(text) - MOST_ROW_CHARS
    cut = f"{text[:MOST_ROW_CHARS]}… ({more} more characters)" if more > 0 else text
    return printable(cut).expandtabs(_TAB)


class Line(Visual):
    """A row as it is drawn: one line that is cut, or as many as it needs."""

    def __init__(self, row: Row) -> None:
        self._row, self._content = row, inert(*row.parts)
        self._wrapped: tuple[int, list[Content]] = (-1, [])

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002
        return min(container_width, self._content.cell_length)

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002
        return len(self._lines(width))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        strips = [
            strip for line in self._lines(width) for strip in line.render_strips(width, 1, style, options)
        ]
        return strips[:height]

    def _lines(self, width: int) -> list[Content]:
        if self._wrapped[0] != width:
            self._wrapped = width, self._wrap(width)
        return self._wrapped[1]

    def _wrap(self, width: int) -> list[Content]:
        hang = self._row.hang if width >= self._row.hang + _LEAST_WIDTH else 0
        if self._row.is_cut:
            return [self._content.truncate(width, ellipsis=True)]
        if self._content.cell_length <= width:
            return [self._content]
        first, *rest = self._content.wrap(width - hang)
        return [first, *(line.pad_left(hang) for line in rest)]


class Rows(OptionList):
    """Keeps the place of whoever reads, whatever changes around it; at the end it stays at the end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Next", show=False),
        Binding("k", "cursor_up", "Previous", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
        Binding("J", "part(1)", "Next part", show=False),
        Binding("K", "part(-1)", "Previous part", show=False),
        Binding("space", "page_down", "Page down", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)
        self._rows: Sequence[Row] = ()

    @property
    def at(self) -> Row | None:
        """The row that the cursor is on."""
        return None if self.highlighted is None else self._rows[self.highlighted]

    @property
    def here(self) -> Sequence[Row]:
        """The row that the cursor is on, and those above it, from there upwards."""
        return () if self.highlighted is None else self._rows[self.highlighted :: -1]

    def show(self, rows: Sequence[Row], *, start: int = 0) -> None:
        """Show these rows instead. The first time the cursor goes to ``start``."""
        before, at, top = self._rows, self.highlighted, self.scroll_offset.y
        if rows == before:
            return
        self._rows = rows
        if list(rows[: len(before)]) == list(before):
            self.add_options(map(_option, rows[len(before) :]))
        else:
            self.set_options(map(_option, rows))
        if at is None:
            self.highlighted = start
        elif at == len(before) - 1 and at > 0:
            self.highlighted = len(rows) - 1
        elif self.highlighted is None:
            places = {each.key: number for number, each in enumerate(rows)}
            self.highlighted = places.get(before[at].key, min(at, len(rows) - 1))
            self.scroll_to(y=top, animate=False, immediate=True)
            self.scroll_to_highlight()

    def find(self, text: str, step: int) -> bool:
        """Go to the next row with this text, or the previous one, around the end; whether there is one."""
        wanted, count = text.casefold(), len(self._rows)
        at = -1 if self.highlighted is None else self.highlighted
        for distance in range(1, count + 1):
            number = (at + step * distance) % count
            if wanted in "".join(part for part, _ in self._rows[number].parts).casefold():
                self.highlighted = number
                return True
        return False

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        style = super().get_visual_style(*component_classes, partial=partial)
        # Without colours nothing else shows where the cursor is, and a style sheet cannot say it.
        is_cursor = "option-list--option-highlighted" in component_classes
        return style + Style(reverse=True) if is_cursor and self.app.no_color else style

    def on_resize(self) -> None:
        """In a smaller window the cursor is still to be seen."""
        self.call_after_refresh(self.scroll_to_highlight)

    def action_cursor_down(self) -> None:
        if self.highlighted != len(self._rows) - 1:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        if self.highlighted != 0:
            super().action_cursor_up()

    def action_part(self, step: int) -> None:
        number = (-1 if self.highlighted is None else self.highlighted) + step
        while 0 <= number < len(self._rows):
            if self._rows[number].begins:
                self.highlighted = number
                return
            number += step


_Kind = TypeVar("_Kind")


def nearest(rows: Iterable[Row], kind: type[_Kind]) -> _Kind | None:
    """Return what the first of the rows that opens something of this kind opens."""
    return next((each.opens for each in rows if isinstance(each.opens, kind)), None)


def _option(row: Row) -> Option:
    return Option(Line(row))
