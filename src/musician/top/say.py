"""Asks for a text: what a verdict or a message says."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from musician.top.rows import inert


class Say(ModalScreen[str | None]):
    """Gives the text; None if it is left. ``refused`` says why the same text was not taken before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", priority=True),
        Binding("ctrl+j", "line", "New line", priority=True),
        Binding("escape", "leave", "Leave it", priority=True),
    ]

    def __init__(self, title: str, text: str = "", *, refused: str = "") -> None:
        super().__init__()
        self._title, self._text, self._refused = title, text, refused

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(inert((self._title, "bold")))
            if self._refused:
                yield Static(inert((f"Not done: {self._refused}", "$text-error")))
            yield TextArea(self._text)
            yield Static("Enter sends, Ctrl+J begins a line, Esc leaves it", markup=False)

    def action_send(self) -> None:
        self.dismiss(self.query_one(TextArea).text)

    def action_line(self) -> None:
        self.query_one(TextArea).insert("\n")

    def action_leave(self) -> None:
        self.dismiss(None)
