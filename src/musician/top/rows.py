"""The rows of a screen, and the list that a person goes through by keys."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.style import Style
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from musician.processes.output import printable
from musician.protocol.values import dataclass

Part = tuple[str, str]
"""A text and its style, "" for none. Styles are ours alone."""

_TAB = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``key`` is its own on its screen, and stays its own when the screen is made again.

    ``opens`` says what Enter opens, "" for nothing.
    """

    key: str
    parts: tuple[Part, ...]
    opens: str = ""


def row(key: str, text: str, style: str = "", *, opens: str = "") -> Row:
    return Row(key=key, parts=((text, style),), opens=opens)


def block(key: str, text: str, style: str = "") -> Iterable[Row]:
    """Yield a row for each line of a text."""
    return (row(f"{key}-{number}", line, style) for number, line in enumerate(text.splitlines()))


def inert(*parts: Part) -> Content:
    """Return foreign text as content of a terminal on which nothing of it acts."""
    return Content.assemble(*((printable(text).expandtabs(_TAB), style) for text, style in parts))


class Rows(OptionList):
    """Keeps the place of whoever reads, whatever changes around it; at the end it stays at the end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Next", show=False),
        Binding("k", "cursor_up", "Previous", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)
        self._rows: Sequence[Row] = ()

    @property
    def at(self) -> Row | None:
        """The row that the cursor is on."""
        return None if self.highlighted is None else self._rows[self.highlighted]

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

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        style = super().get_visual_style(*component_classes, partial=partial)
        # Without colours nothing else shows where the cursor is, and a style sheet cannot say it.
        is_cursor = "option-list--option-highlighted" in component_classes
        return style + Style(reverse=True) if is_cursor and self.app.no_color else style

    def action_cursor_down(self) -> None:
        if self.highlighted != len(self._rows) - 1:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        if self.highlighted != 0:
            super().action_cursor_up()


def _option(row: Row) -> Option:
    return Option(inert(*row.parts))
