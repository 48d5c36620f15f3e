"""What all screens have: how the project stands, what is lost, a title, the rows, and the keys that always work."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, OptionList, Static

from musician.project import Project
from musician.reporting.overview import Lane, Overview
from musician.top.rows import Part, Row, Rows, inert

if TYPE_CHECKING:
    from musician.top.app import Top

KEYS = (
    ("j k, arrows", "next, previous; PgDn or space, PgUp: a page of them"),
    ("J K", "next, previous part: a file, a lane, a heading"),
    ("g G", "first, last: at the end it follows"),
    ("/ n N", "search; next, previous that is found"),
    ("Enter", "open; an answer: give it; a file: its lines; a line: say something to it"),
    ("d", "the task's change, to review it"),
    ("a r f", "approve, send back, propose a fix; a proposal: accept, reject"),
    ("v", "mark a file as viewed; it stays so until its content changes"),
    ("c w", "only what is new since your last review; without changes in white space"),
    ("u", "load a newer submission"),
    ("s", "say something to the session"),
    ("m", "the task's messages, and what became of them"),
    ("o", "hand off, stop, play again, skip"),
    ("p", "pause a plan, or let it go on"),
    ("1 … 6", "tasks, proposals, plans, fleet, timeline, what was decided"),
    ("Esc q", "back; from the first screen: end"),
    ("Ctrl+C Ctrl+Z", "end; put aside, `fg` brings it back"),
)

_COUNTED = (
    (Lane.RUNNING, "running"),
    (Lane.DONE, "done"),
    (Lane.STANDS_STILL, "still"),
    (Lane.UNKNOWN, "unknown"),
)


_SCROLLS = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})

Folded = tuple[tuple[Part, ...], list[Row]]
"""A title, and the rows."""


class Page(Screen[None]):
    """``fold`` makes title and rows in a thread; :meth:`open_row` is told what Enter is pressed on.

    ``plan`` is that of an archived plan, None of what goes on. Such a page takes no orders.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "keys", "Keys"),
        Binding("escape,q", "back", show=False),
        Binding("slash", "search", show=False),
        Binding("n", "found(1)", show=False),
        Binding("N", "found(-1)", show=False),
    ]
    ORDERS: ClassVar[frozenset[str]] = frozenset()
    """The actions that give an order."""

    def __init__(self, plan: str | None = None) -> None:
        super().__init__()
        self.plan = plan
        self._sought = ""

    @abstractmethod
    def fold(self, look: Overview, project: Project) -> Folded:
        """``project`` is the one to look at: this one, or the archived plan's. Blocks."""

    def open_row(self, opens: object) -> None:
        """What Enter is pressed on; nothing, where nothing is opened."""

    def start(self, rows: list[Row]) -> int:  # noqa: ARG002
        """Return where the cursor begins."""
        return 0

    @property
    def top(self) -> "Top":
        return cast("Top", self.app)

    @property
    def takes_orders(self) -> bool:
        return self.plan is None and not self.top.read_only

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action not in self.ORDERS or self.takes_orders

    def compose(self) -> ComposeResult:
        yield Static(id="overview", markup=False)
        yield Static(id="lost", markup=False)
        yield Static(id="title", markup=False)
        yield Rows()
        yield Footer(show_command_palette=False, compact=True)

    @property
    def rows(self) -> Rows:
        return self.query_one(Rows)

    def show(self, look: Overview, title: tuple[Part, ...], rows: list[Row]) -> None:
        self.query_one("#overview", Static).update(inert(*self._overview(look)))
        self.query_one("#title", Static).update(inert(*title))
        self.lose("")
        self.rows.show(rows, start=self.start(rows))

    def lose(self, why: str) -> None:
        """Say that what is shown may be old, and why; "" for what is new."""
        lost = self.query_one("#lost", Static)
        lost.display = bool(why)
        lost.update(inert((why and f"What you see may be old: {why}", "")))

    def _overview(self, look: Overview) -> list[Part]:
        counts = [f"{look.count(lane)} {word}" for lane, word in _COUNTED if look.count(lane)]
        run = "a run is at work" if look.is_conducted else "no run is at work"
        only = ["read-only"] if self.top.read_only else []
        return [
            (f" {len(look.needs)} for you ", "bold reverse" if look.needs else ""),
            (f" · {' · '.join([*counts, run, *only])} · {self.top.place}", ""),
        ]

    def on_mount(self) -> None:
        self.top.look_now()

    def on_screen_resume(self) -> None:
        self.top.look_now()

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        at = self.rows.at
        if at is not None and at.opens is not None:
            self.open_row(at.opens)

    def action_back(self) -> None:
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.app.exit()

    def action_keys(self) -> None:
        self.app.push_screen(Keys())

    def action_search(self) -> None:
        self.top.ask("Search for", self._search, text=self._sought)

    def _search(self, text: str) -> None:
        self._sought = text
        self.action_found(1)

    def action_found(self, step: int) -> None:
        if self._sought and not self.rows.find(self._sought, step):
            self.top.tell(f"Nothing here has: {self._sought}")


class Keys(ModalScreen[None]):
    """The list of keys; any key that does not scroll it closes it."""

    def compose(self) -> ComposeResult:
        width = max(len(keys) for keys, _ in KEYS)
        with VerticalScroll(classes="window"):
            for keys, what in KEYS:
                yield Static(inert((f"{keys:<{width}}  ", "bold"), (what, "")))

    def on_key(self, event: Key) -> None:
        if event.key not in _SCROLLS:
            event.stop()
            self.dismiss()
