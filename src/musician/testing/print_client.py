"""The client with ``-p``: one prompt, played to its end, its events read as they come."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from musician.protocol.values import dataclass
from musician.testing.client_home import ClientHome, plugin_arguments
from musician.testing.leftovers import MARK, end_marked, new_mark
from musician.testing.waiting import HANG_S, NotInTime

Event = Mapping[str, Any]

_MOST_EVENTS = 10_000
_TOLD_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintResult:
    """How the client ended. ``text`` is its final text, None if it had none; ``code`` is negative for a
    signal.
    """

    code: int
    text: str | None
    is_error: bool
    err: str


class PrintClient:
    """A client at work on one prompt, from entering to leaving; nothing it started is left afterwards."""

    def __init__(
        self,
        home: ClientHome,
        cwd: Path,
        prompt: str,
        *,
        plugins: Iterable[Path] = (),
        arguments: Iterable[str] = (),
    ) -> None:
        self._argv = [
            *(str(home.client), "-p", prompt, "--output-format", "stream-json", "--verbose"),
            *plugin_arguments(plugins),
            *arguments,
        ]
        self._home, self._cwd = home, cwd
        self.mark = new_mark()
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._over = False

    def __enter__(self) -> Self:
        self._err = (self._home.folder / f"err-{id(self):x}").open("w+", encoding="utf-8")
        self._popen = subprocess.Popen(
            self._argv,
            cwd=self._cwd,
            env={**self._home.env, MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._err,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._out = cast("IO[str]", self._popen.stdout)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_marked(self.mark)
        self._popen.wait()
        self._reader.join()
        if error is not None:
            error.add_note(f"The client: {self._told()}")
        self._out.close()
        self._err.close()

    def _read(self) -> None:
        for line in self._out:
            with suppress(ValueError):
                event = json.loads(line)
                with self._changed:
                    if len(self._events) < _MOST_EVENTS:
                        self._events.append(event)
                    self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    @property
    def pid(self) -> int:
        """The client's own pid."""
        return self._popen.pid

    @property
    def events(self) -> tuple[Event, ...]:
        """The events printed so far."""
        with self._changed:
            return tuple(self._events)

    @property
    def session_id(self) -> str:
        """The session's id; waits for the client to name it."""
        named = self.wait_for(lambda event: event.get("subtype") == "init" and event.get("session_id"))
        return str(named["session_id"])

    def wait_for(self, wanted: Callable[[Event], object], *, within_s: float = HANG_S) -> Event:
        """Return the first wanted event, past or to come."""

        def found() -> Event | None:
            return next((each for each in self._events if wanted(each)), None)

        with self._changed:
            self._changed.wait_for(lambda: self._over or found(), timeout=within_s)
            seen = found()
            if seen is None:
                raise NotInTime(f"no such event. {self._told()}")
        return seen

    def end(self, *, within_s: float = HANG_S) -> PrintResult:
        """Wait for its end, and return how it ended."""
        try:
            code = self._popen.wait(within_s)
        except subprocess.TimeoutExpired:
            raise NotInTime(f"the client runs on after {within_s:g} s. {self._told()}") from None
        self._reader.join(HANG_S)
        result = next((each for each in reversed(self.events) if each.get("type") == "result"), {})
        return PrintResult(
            code=code, text=result.get("result"), is_error=bool(result.get("is_error")), err=self._said()
        )

    def kill(self) -> None:
        """Send SIGKILL to the client alone, and wait for its end."""
        self._popen.kill()
        self._popen.wait()

    def terminate(self) -> None:
        """Send SIGTERM to the client alone."""
        self._popen.terminate()

    def _said(self) -> str:
        self._err.seek(0)
        return self._err.read()

    def _told(self) -> str:
        return (
            f"events: …{json.dumps(self._events[-3:])[-_TOLD_CHARS:]} stderr: {self._said()[-_TOLD_CHARS:]}"
        )
