"""The program: follows the database, keeps the screen in front true, and gives orders."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import ClassVar

from anyio.to_thread import run_sync
from textual.app import App
from textual.binding import Binding, BindingType

from musician.processes.machine import MACHINE
from musician.processes.output import one_line
from musician.project import Project
from musician.protocol.errors import MusicianError
from musician.reporting.overview import Overview
from musician.runtime.archiving import ArchivedProject
from musician.runtime.overseeing import branch_of, check_database, look
from musician.store.listening import Listener
from musician.top.driver import Driver
from musician.top.fleet import Fleet
from musician.top.happened import Decided, Timeline
from musician.top.home import Home
from musician.top.needs import OneStep, give
from musician.top.offers import Offer
from musician.top.page import Folded, Page
from musician.top.plans import Plans
from musician.top.proposals import Proposals
from musician.top.say import Choose, Say
from musician.top.terminal import has_colours
from musician.top.viewed import Viewed

BEAT_S = 10.0
"""How old what no row says may be: that an owner died, that a heartbeat grew old."""
_MOST_PLACE_CHARS = 80


class Top(App[None]):
    """``project`` must be open; the program closes nothing of it. ``read_only``: it takes no orders."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "top.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "go(1)", "Pages", key_display="1-6"),
        *(Binding(str(number), f"go({number})", show=False) for number in range(2, 7)),
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=False),
        Binding("ctrl+z", "suspend_process", show=False),
    ]

    def __init__(self, project: Project, *, read_only: bool = False) -> None:
        if not has_colours():
            os.environ["NO_COLOR"] = "1"  # it is there that the library looks
        super().__init__(driver_class=Driver, ansi_color=bool(os.environ.get("NO_COLOR")) or None)
        self.project, self.read_only = project, read_only
        self.place = one_line(f"{project.root.path.name} ({branch_of(project.root)})", _MOST_PLACE_CHARS)
        self.viewed = Viewed(project.root.musician_dir)
        self._ear: Listener | None = None
        self.under_way: list[str] = []
        """The orders that the database has not taken yet, by what they are called."""
        self.undone: list[str] = []
        """What was refused when nobody was there any more to be told."""
        self.is_done = threading.Event()
        """Set while there are none."""
        self.is_done.set()

    def get_default_screen(self) -> Home:
        return Home()

    def on_mount(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):  # or the terminal would be left as it is now
            asyncio.get_running_loop().add_signal_handler(number, self.exit)
        self.run_worker(self._follow())

    def look_now(self) -> None:
        """Have the screen in front made again: what this program itself has written is no news to its listener."""
        if self._ear is not None:
            self._ear.nudge()

    @contextmanager
    def opened(self, plan: str | None) -> Iterator[Project]:
        """Give the project to look at: this one, or that of an archived plan; :class:`UnknownPlan`. Blocks."""
        if plan is None:
            yield self.project
            return
        with closing(ArchivedProject(self.project, plan)) as project:
            yield project

    async def _follow(self) -> None:
        with self.project.store.listen(journals=True) as self._ear:
            while self.is_running:
                page = self._front
                try:
                    seen, (title, rows) = await run_sync(self._look, page, abandon_on_cancel=True)
                except MusicianError as error:
                    if self._can_show(page):
                        page.lose(str(error))
                else:
                    if self._can_show(page):
                        page.show(seen, title, rows)
                await self._ear.heard(BEAT_S)

    @property
    def _front(self) -> Page:
        return next(each for each in reversed(self.screen_stack) if isinstance(each, Page))

    def _can_show(self, page: Page) -> bool:
        """Whether a page has anything to show on: one that was just opened, or has been left meanwhile, has not.

        Nor has any while the program ends: it takes the pages apart before it ends who follows.
        """
        return self.is_running and page is self._front and page.is_mounted

    def _look(self, page: Page) -> tuple[Overview, Folded]:
        seen = look(self.project, MACHINE)
        with self.opened(page.plan) as project:
            return seen, page.fold(seen, project)

    def tell(self, text: str) -> None:
        self.notify(text, markup=False)

    def ask(self, title: str, take: Callable[[str], object], *, text: str = "") -> None:
        """Ask for a text that is no order."""

        def taken(text: str | None) -> None:
            if text is not None:
                take(text)

        self.push_screen(Say(title, text), taken)

    def offer(self, title: str, offers: Sequence[Offer]) -> None:
        """Have one of the orders chosen, and ask what it needs."""
        if not offers:
            self.tell("There is nothing to order here.")
            return

        def chosen(number: int | None) -> None:
            if number is not None:
                self.give(offers[number])

        self.push_screen(Choose(title, tuple(each.label for each in offers)), chosen)

    def give(self, offer: Offer) -> None:
        self.order(offer.title, offer.verb, text=offer.text)

    def answer(self, step: OneStep) -> None:
        """Answer what is wanted of a person, in one step."""
        if self.read_only:
            self.tell("It was started with --read-only, and takes no orders.")
            return
        text = step.order.more or step.order.text
        about = "how much more" if step.order.more else step.effect
        self.order(f"{step.need.task_id}: {about}", partial(give, self.project, step), text=text)

    def order(
        self,
        title: str,
        verb: Callable[[str], object],
        *,
        text: str | None = "",
        and_then: Callable[[], object] = lambda: None,
    ) -> None:
        """Ask for a text, or with None only whether, and give an order. A refusal gives back what was written."""
        self.run_worker(self._order(title, verb, text, and_then))

    async def _order(
        self, title: str, verb: Callable[[str], object], text: str | None, and_then: Callable[[], object]
    ) -> None:
        given = await self.push_screen_wait(Say(title, text))
        while given is not None:
            try:
                await run_sync(self._give, title, verb, given, abandon_on_cancel=True)
            except MusicianError as error:
                self.look_now()
                again = None if text is None else given
                given = await self.push_screen_wait(Say(title, again, refused=str(error)))
            else:
                and_then()
                self.look_now()
                return

    def _give(self, title: str, verb: Callable[[str], object], text: str) -> None:
        self.is_done.clear()
        self.under_way.append(title)
        try:
            check_database(self.project.store)
            verb(text)
        except MusicianError as error:
            if not self.is_running:
                self.undone.append(f"{title}: {error}")
            raise
        finally:
            self.under_way.remove(title)
            if not self.under_way:
                self.is_done.set()

    def tell_from_thread(self, text: str) -> None:
        with suppress(RuntimeError):  # before it runs, and when it has ended
            self.call_from_thread(self.tell, text)

    def action_go(self, number: int) -> None:
        """Go to one of the places that are not about one task."""
        plan = self._front.plan
        while len(self.screen_stack) > 1:
            self.pop_screen()
        match number:
            case 2:
                self.push_screen(Proposals())
            case 3:
                self.push_screen(Plans())
            case 4:
                self.push_screen(Fleet())
            case 5:
                self.push_screen(Timeline(plan))
            case 6:
                self.push_screen(Decided(plan))
