"""Asks before an order is given: for what it says, or only whether."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static, TextArea

from musician.top.rows import Row, Rows, inert


class Field(TextArea):
    """Takes Enter in its turn: what was typed before it, in one piece with it, is in the text."""

    def on_key(self, event: Key) -> None:
        match event.key:
            case "enter":
                self.screen.post_message(Send())
            case "ctrl+j":
                self.insert("\n")
            case _:
                return
        event.stop()
        event.prevent_default()


class Send(Message):
    """The text is to be taken as it is."""


class Say(ModalScreen[str | None]):
    """Gives the text, "" where none is asked for; None if it is left.

    Without a ``text``, not even an empty one, it only asks whether. ``refused`` says why the same was not done before.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send"),
        Binding("escape,ctrl+c", "leave", "Leave it", priority=True),
    ]

    def __init__(self, title: str, text: str | None = "", *, refused: str = "") -> None:
        super().__init__()
        self._title, self._text, self._refused = title, text, refused

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(inert((self._title, "bold")))
            if self._refused:
                yield Static(inert((f"Not done: {self._refused}", "$text-error")))
            if self._text is None:
                yield Static("Enter does it, Esc leaves it", classes="hint", markup=False)
            else:
                yield Field(self._text)
                yield Static("Enter sends, Ctrl+J begins a line, Esc leaves it", classes="hint", markup=False)

    def on_mount(self) -> None:
        for field in self.query(Field):
            field.move_cursor(field.document.end)

    def action_send(self) -> None:
        self.dismiss("".join(field.text for field in self.query(Field)))

    def on_send(self) -> None:
        self.action_send()

    def action_leave(self) -> None:
        self.dismiss(None)


class Choose(ModalScreen[int | None]):
    """Gives the number of what is chosen; None if it is left."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+c", "leave", "Leave it")]

    def __init__(self, title: str, labels: tuple[str, ...]) -> None:
        super().__init__()
        self._title, self._labels = title, labels

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(inert((self._title, "bold")))
            yield Rows()
            yield Static("Enter goes on, Esc leaves it", classes="hint", markup=False)

    def on_mount(self) -> None:
        self.query_one(Rows).show(
            [Row(key=str(number), parts=((label, ""),)) for number, label in enumerate(self._labels)]
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)

    def action_leave(self) -> None:
        self.dismiss(None)
