"""The client in a terminal, as a person has it in front of them: a private tmux server with one pane.

What the pane prints goes into a FIFO as well, which is the event to look at the screen again; an animation that
redraws it wakes the waiting for nothing, and that is all it does.
"""

import os
import select
import shutil
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from musician.testing.client_home import ClientHome, plugin_arguments
from musician.testing.leftovers import MARK, end_marked, new_mark
from musician.testing.waiting import HANG_S, NotInTime, until

_COLUMNS, _LINES = 180, 60
_SLOW_POLL_S = 1.0
_LOCAL_FLAGS = 3
_PRESS_EVERY_S = 5.0
_CHUNK_BYTES = 65_536
_TAIL_CHARS = 40
_CONFIGURATION = "set -g remain-on-exit on\nset -g history-limit 2000\nset -g status off\n"


class TerminalClient:
    """A client in a terminal, from entering to leaving; nothing it started is left afterwards."""

    def __init__(
        self,
        home: ClientHome | Mapping[str, str],
        cwd: Path,
        *,
        prompt: str = "",
        plugins: Iterable[Path] = (),
        arguments: Iterable[str] = (),
        program: Sequence[str] = (),
    ) -> None:
        """``program`` is what runs in the place of the client, and runs that itself; then ``home`` may be its whole
        environment.
        """
        client = [str(home.client)] if isinstance(home, ClientHome) else []
        self._argv = [*program] or [*client, *plugin_arguments(plugins), *arguments, *filter(None, [prompt])]
        self._env = home.env if isinstance(home, ClientHome) else home
        self._cwd = cwd
        self.mark = new_mark()

    def __enter__(self) -> Self:
        # A socket's path must be short, and the client's own folder may be anywhere.
        self._folder = Path(tempfile.mkdtemp(prefix="musician-tmux-"))
        (self._folder / "conf").write_text(_CONFIGURATION, encoding="utf-8")
        os.mkfifo(self._folder / "told")
        self._told = os.open(self._folder / "told", os.O_RDWR | os.O_NONBLOCK)
        variables = {**self._env, "TERM": "xterm-256color", MARK: self.mark}
        argv = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *self._argv]
        size = ("-x", str(_COLUMNS), "-y", str(_LINES))
        try:
            self._tmux(
                "-f", str(self._folder / "conf"), "new-session", "-d", *size, "-c", str(self._cwd), *argv
            )
            self._tmux("pipe-pane", f"exec cat > {self._folder / 'told'}")
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            with suppress(subprocess.SubprocessError):  # its window may have been closed
                error.add_note(f"The screen:\n{self.screen()}")
        self._clear()

    def _clear(self) -> None:
        end_marked(self.mark)
        os.close(self._told)
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- looking ----------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The client's own pid."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    @property
    def is_over(self) -> bool:
        """Whether the client has ended; its last screen is still there."""
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

    def screen(self) -> str:
        """Return the screen's text, without empty lines."""
        lines = self._tmux("capture-pane", "-p").splitlines()
        return "\n".join(line.rstrip() for line in lines if line.strip())

    def wait_for(self, wanted: str | Callable[[str], object], *, within_s: float = HANG_S) -> str:
        """Return the first screen that shows the words, or for which the function is true."""
        likes = wanted if callable(wanted) else lambda screen: wanted in screen
        deadline = time.monotonic() + within_s
        while not likes(screen := self.screen()):
            if time.monotonic() > deadline:
                raise NotInTime(f"no such screen within {within_s:g} s:\n{screen}")
            self._wait_for_output()
        return screen

    def wait_until_over(self, *, within_s: float = HANG_S) -> str:
        """Wait for the client's end, and return its last screen."""
        return self.wait_for(lambda _screen: self.is_over, within_s=within_s)

    def _wait_for_output(self) -> None:
        # The poll beside the event is for a pane that has died: it prints nothing more.
        if select.select([self._told], [], [], _SLOW_POLL_S)[0]:
            with suppress(BlockingIOError):
                while len(os.read(self._told, _CHUNK_BYTES)) == _CHUNK_BYTES:
                    pass

    # -- doing ------------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Type a line, see that it has arrived, and send it."""
        self._wait_for_a_reader()
        end = _squeezed(text)[-_TAIL_CHARS:]
        before = _squeezed(self.screen()).count(end)
        self._tmux("send-keys", "-l", text)
        self.wait_for(lambda screen: _squeezed(screen).count(end) > before)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: Enter, Escape, C-c, …"""
        self._wait_for_a_reader()
        self._tmux("send-keys", *keys)

    def press_until(self, gone: Callable[[str], object], *keys: str) -> None:
        """Press keys again as often as nothing comes of it: a dialog may be drawn before it takes any."""
        deadline = time.monotonic() + HANG_S
        while time.monotonic() < deadline:
            self.press(*keys)
            with suppress(NotInTime):
                self.wait_for(gone, within_s=_PRESS_EVERY_S)
                return
        raise NotInTime(f"nothing comes of {keys}:\n{self.screen()}")

    def _wait_for_a_reader(self) -> None:
        """Wait until keys are read one by one: before that the system itself shows what is typed, and makes another
        key of Enter.
        """
        with suppress(OSError):  # it has ended
            keyboard = os.open(
                self._tmux("display-message", "-p", "#{pane_tty}").strip(), os.O_RDONLY | os.O_NOCTTY
            )
            try:
                until(
                    lambda: not termios.tcgetattr(keyboard)[_LOCAL_FLAGS] & termios.ICANON, told=self.screen
                )
            except termios.error:  # as above
                return
            finally:
                os.close(keyboard)

    def close_window(self) -> None:
        """Close it, as a person does by the mouse: its programs get a SIGHUP."""
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        env = {
            "PATH": self._env["PATH"],
            "HOME": str(self._folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            MARK: self.mark,
        }
        argv = ["tmux", "-S", str(self._folder / "socket"), *arguments]
        ran = subprocess.run(
            argv, env=env, capture_output=True, encoding="utf-8", timeout=HANG_S, check=False
        )
        if ran.returncode:
            raise subprocess.SubprocessError(f"tmux {arguments[0]}: {ran.stderr.strip()}")
        return ran.stdout


def _squeezed(text: str) -> str:
    """Return the text without white space, because the screen's line breaks mean nothing."""
    return "".join(text.split())
