"""The program: follows the database, keeps the screen in front true, and gives orders."""

import asyncio
import os
import signal
from collections.abc import Callable

from anyio.to_thread import run_sync
from textual.app import App

from musician.processes.machine import MACHINE
from musician.processes.output import one_line
from musician.project import Project
from musician.protocol.errors import MusicianError
from musician.reporting.overview import Overview
from musician.runtime.overseeing import branch_of, check_database, look
from musician.store.listening import Listener
from musician.top.home import Home
from musician.top.page import Folded, Page
from musician.top.say import Say

BEAT_S = 10.0
"""How old what no row says may be: that an owner died, that a heartbeat grew old."""
_MOST_PLACE_CHARS = 80


class Top(App[None]):
    """``project`` must be open; the program closes nothing of it."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #glance, #title { height: auto; max-height: 2; }
    #glance { background: $primary-background; }
    #lost { display: none; max-height: 3; background: $error; color: $text; }
    Rows { height: 1fr; padding: 0; scrollbar-size-vertical: 1; }
    Say, Keys { align: center middle; }
    Say > Vertical, Keys > Static { width: 100%; max-width: 76; height: auto; max-height: 100%; }
    Say > Vertical, Keys > Static { background: $surface; padding: 0 1; }
    Say TextArea { height: 8; max-height: 50%; }
    """

    def __init__(self, project: Project) -> None:
        super().__init__(ansi_color=bool(os.environ.get("NO_COLOR")) or None)
        self.project = project
        self.place = one_line(f"{project.root.path.name} ({branch_of(project.root)})", _MOST_PLACE_CHARS)
        self._ear: Listener | None = None

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

    async def _follow(self) -> None:
        with self.project.store.listen(journals=True) as self._ear:
            while True:
                page = self._front
                try:
                    seen, (title, rows) = await run_sync(self._look, page)
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
        """Whether a page has anything to show on: one that was just opened, or has been left meanwhile, has not."""
        return page is self._front and page.is_mounted

    def _look(self, page: Page) -> tuple[Overview, Folded]:
        seen = look(self.project, MACHINE)
        return seen, page.fold(seen)

    def tell(self, text: str) -> None:
        self.notify(text, markup=False)

    def order(
        self,
        title: str,
        verb: Callable[[str], object],
        *,
        text: str = "",
        and_then: Callable[[], object] = lambda: None,
    ) -> None:
        """Ask for a text and give an order with it. A refusal gives back what was written."""
        self.run_worker(self._order(title, verb, text, and_then))

    async def _order(
        self, title: str, verb: Callable[[str], object], text: str, and_then: Callable[[], object]
    ) -> None:
        given = await self.push_screen_wait(Say(title, text))
        while given is not None:
            try:
                await run_sync(self._give, verb, given)
            except MusicianError as error:
                given = await self.push_screen_wait(Say(title, given, refused=str(error)))
            else:
                and_then()
                self.look_now()
                return

    def _give(self, verb: Callable[[str], object], text: str) -> None:
        check_database(self.project.store)
        verb(text)
