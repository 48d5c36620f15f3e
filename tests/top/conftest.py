"""``musician top`` with the library's own pilot: a real store, a real repository, and a screen that is read as text."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from musician.project import Project
from musician.testing.waiting import HANG_S, NotInTime
from musician.top.app import Top
from tests.cli.conftest import bells, claimed, command, first_ready, program, ready, repository
from tests.web.conftest import submitted

__all__ = ["bells", "claimed", "command", "first_ready", "program", "ready", "repository", "submitted"]


class Terminal:
    """What a person has in front of him."""

    def __init__(self, app: Top, pilot: Pilot[None]) -> None:
        self.app, self._pilot = app, pilot

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def type(self, text: str) -> None:
        await self._pilot.press(*("space" if each == " " else each for each in text))

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)

    async def sees(self, *words: str, but_not: str = "") -> str:
        """Wait for a screen that has these in it, wherever its lines break, and not the other; its text."""
        deadline = time.monotonic() + HANG_S
        while not self._shows(*words) or (but_not and self._shows(but_not)):
            if time.monotonic() > deadline:
                raise NotInTime(f"{words} never came:\n{self.text}")
            await self._pilot.pause()
        return self.text

    def _shows(self, *words: str) -> bool:
        text = _joined(self.text)
        return all(_joined(word) in text for word in words)


def _joined(text: str) -> str:
    return " ".join(text.split())


@asynccontextmanager
async def terminal(
    folder: Path, *, size: tuple[int, int] = (80, 24), read_only: bool = False
) -> AsyncIterator[Terminal]:
    project = Project(os.fspath(folder))
    try:
        app = Top(project, read_only=read_only)
        async with app.run_test(size=size, notifications=True) as pilot:
            yield Terminal(app, pilot)
    finally:
        project.close()
