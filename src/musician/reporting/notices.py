"""Decides what a person who is not looking is told, and when: at most one message in a while, and none in
quiet hours.

Theory. Each look at a run gives what is worth telling now: needs of a person, and providers that give
nothing. What was told is not told again while it lasts. What comes while no message may be sent is
gathered; what is settled by then is not told at all. A first message waits a moment, since one trouble
seldom comes alone. The end of a run is always told, once, with all that is open then: a run ends where
nothing goes on without a person.

Pure but for the rows it reads: the caller says what time it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field

from musician.processes.output import one_line
from musician.protocol.settings import Notify
from musician.protocol.values import dataclass
from musician.reporting.needs_me import needs_of_task
from musician.reporting.standing import Standing
from musician.store.port import Store

GATHER_S = 3.0
"""How long the first news waits for more."""

LIMIT = "limit"
"""The kind of a provider that gives nothing until its limit is over."""

_MOST_NOTICES = 20
"""In one message; further ones are counted."""
_MOST_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing worth telling. It is the same as long as its kind, task and subject are."""

    kind: str
    task_id: str
    subject: str
    text: str
    commands: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.kind, self.task_id, self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is sent at once. ``ended`` says how the run ended, "" while it goes on."""

    plan_id: str
    notices: tuple[Notice, ...]
    ended: str = ""

    @property
    def title(self) -> str:
        if self.ended:
            return one_line(f"Musician: {self.ended}", _MOST_CHARS)
        what = self.notices[0].text if len(self.notices) == 1 else f"{len(self.notices)} things wait"
        return one_line(f"Musician, {self.plan_id}: {what}", _MOST_CHARS)

    @property
    def text(self) -> str:
        """One line for each notice."""
        shown = [one_line(each.text, _MOST_CHARS) for each in self.notices[:_MOST_NOTICES]]
        more = len(self.notices) - _MOST_NOTICES
        return "\n".join([*shown, *([f"and {more} more"] if more > 0 else [])])

    @property
    def document(self) -> dict[str, object]:
        """The message for programs. The keys are stable."""
        return {
            "plan": self.plan_id,
            "title": self.title,
            "text": self.text,
            "ended": self.ended,
            "notices": [
                {
                    "kind": each.kind,
                    "task_id": each.task_id,
                    "text": each.text,
                    "commands": list(each.commands),
                }
                for each in self.notices[:_MOST_NOTICES]
            ],
        }


def notices_of(store: Store, standings: Iterable[Standing]) -> Iterator[Notice]:
    """Yield what is worth telling at this look. Blocks."""
    limited: dict[str, str] = {}
    for standing in standings:
        for need in needs_of_task(store, standing, is_conducted=True):
            yield Notice(
                kind=need.kind,
                task_id=need.task_id,
                subject=f"{need.subject_id} {need.at}",
                text=need.reason,
                commands=tuple(answer.command for answer in need.answers),
            )
        if until := standing.view.limited_until:
            limited[standing.view.limited_account] = until
    for account, until in limited.items():  # told once, however often the limit grows
        text = f"the account {account} is given nothing until {until} UTC: what is played on it waits"
        yield Notice(kind=LIMIT, task_id="", subject=account, text=text)


@dataclass(slots=True, kw_only=True)
class Gathering:
    """What is open, what of it was told, and when the last message was sent. Times are of any one clock."""

    settings: Notify
    plan_id: str
    _told: set[tuple[str, str, str]] = field(default_factory=set)
    _waiting: dict[tuple[str, str, str], Notice] = field(default_factory=dict)
    _since_s: float = 0.0
    _sent_s: float | None = None

    def saw(self, now_s: float, notices: Iterable[Notice]) -> None:
        """Note what is worth telling at this moment, all of it."""
        found = {each.key: each for each in notices}
        self._told &= found.keys()
        was_quiet = not self._waiting
        self._waiting = {key: each for key, each in found.items() if key not in self._told}
        if was_quiet:
            self._since_s = now_s

    def due(self, now_s: float, minute: int) -> Message | None:
        """Return the message to send now, as sent; None if there is none. ``minute`` is that of the local
        day.
        """
        if not self._waiting or self.settings.is_quiet(minute) or now_s < self._due_s:
            return None
        self._sent_s = now_s
        self._told |= self._waiting.keys()
        notices, self._waiting = tuple(self._waiting.values()), {}
        return Message(plan_id=self.plan_id, notices=notices)

    def at_the_end(self, minute: int, notices: Iterable[Notice], ended: str) -> Message | None:
        """Return the last message; None in quiet hours."""
        if self.settings.is_quiet(minute):
            return None
        return Message(plan_id=self.plan_id, notices=tuple(notices), ended=ended)

    @property
    def _due_s(self) -> float:
        """When the next message may be sent."""
        gathered_s = self._since_s + GATHER_S
        return gathered_s if self._sent_s is None else max(gathered_s, self._sent_s + self.settings.every_s)
