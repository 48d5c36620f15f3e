"""What all screens have: how the project stands, what is lost, a title, the rows, and the keys that always work."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, OptionList, Static

from musician.reporting.overview import Lane, Overview
from musician.top.rows import Part, Row, Rows, inert

if TYPE_CHECKING:
    from musician.top.app import Top

KEYS = (
    ("j k, arrows", "next, previous"),
    ("g G", "first, last: at the end it follows"),
    ("Enter", "open; a file: its lines; a line: say something to it"),
    ("d", "the task's change, to review it"),
    ("s", "say something to the session"),
    ("a r f", "approve, send back, propose a fix"),
    ("u", "load a newer submission"),
    ("Esc q", "back; from the first screen: end"),
)

_COUNTED = (
    (Lane.RUNNING, "running"),
    (Lane.DONE, "done"),
    (Lane.STANDS_STILL, "still"),
    (Lane.UNKNOWN, "unknown"),
)


Folded = tuple[tuple[Part, ...], list[Row]]
"""A title, and the rows."""


class Page(Screen[None]):
    """``fold`` makes title and rows in a thread; :meth:`open_row` is told what Enter is pressed on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", show=False),
        Binding("question_mark", "keys", "Keys"),
        Binding("ctrl+c", "app.quit", show=False),
    ]

    @abstractmethod
    def fold(self, look: Overview) -> Folded: ...

    @abstractmethod
    def open_row(self, opens: str) -> None: ...

    def start(self, rows: list[Row]) -> int:  # noqa: ARG002
        """Return where the cursor begins."""
        return 0

    @property
    def top(self) -> "Top":
        return cast("Top", self.app)

    def compose(self) -> ComposeResult:
        yield Static(id="glance", markup=False)
        yield Static(id="lost", markup=False)
        yield Static(id="title", markup=False)
        yield Rows()
        yield Footer(show_command_palette=False, compact=True)

    @property
    def rows(self) -> Rows:
        return self.query_one(Rows)

    def show(self, look: Overview, title: tuple[Part, ...], rows: list[Row]) -> None:
        self.query_one("#glance", Static).update(inert(*self._glance(look)))
        self.query_one("#title", Static).update(inert(*title))
        self.lose("")
        self.rows.show(rows, start=self.start(rows))

    def lose(self, why: str) -> None:
        """Say that what is shown may be old, and why; "" for what is new."""
        lost = self.query_one("#lost", Static)
        lost.display = bool(why)
        lost.update(inert((why and f"What you see may be old: {why}", "")))

    def _glance(self, look: Overview) -> list[Part]:
        counts = [f"{look.count(lane)} {word}" for lane, word in _COUNTED if look.count(lane)]
        run = "a run is at work" if look.is_conducted else "no run is at work"
        return [
            (f"{len(look.needs)} for you", "bold reverse" if look.needs else ""),
            (f" · {' · '.join([*counts, run])} · {self.top.place}", ""),
        ]

    def on_mount(self) -> None:
        self.top.look_now()

    def on_screen_resume(self) -> None:
        self.top.look_now()

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        at = self.rows.at
        if at is not None and at.opens:
            self.open_row(at.opens)

    def action_back(self) -> None:
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.app.exit()

    def action_keys(self) -> None:
        self.app.push_screen(Keys())


class Keys(ModalScreen[None]):
    """The list of keys; any key closes it."""

    def compose(self) -> ComposeResult:
        width = max(len(keys) for keys, _ in KEYS)
        yield Static("\n".join(f"{keys:<{width}}  {what}" for keys, what in KEYS), markup=False)

    def on_key(self) -> None:
        self.dismiss()
