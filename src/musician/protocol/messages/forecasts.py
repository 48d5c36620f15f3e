"""What is foretold of a task's merge: with whom its work will conflict, and whom it waits for so that it does not.

Theory. The conductor tells a task what has changed since it told the last time, by a message of this type. So the
messages of a task are a journal, and what is foretold now is a fold over them (:meth:`Foreseen.after`): nothing else
keeps it, nothing is told twice, and a conductor that is killed goes on where it stopped. Each is stored by its fields
beside its text, and a raw writer's, which has no fields, foretells nothing.
"""

from collections.abc import Iterator
from typing import ClassVar

from musician.protocol.messages.kinds import MessageType
from musician.protocol.values import dataclass

MERGED = "_integration"
"""In the place of another task: what is merged already. The branch of it is named so, and no task can be."""

MOST_PATHS = 10
"""So many are kept of one meeting, with a word on the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """The ``paths`` in which a task's work meets that of ``other``, another task or :data:`MERGED`."""

    other: str
    paths: tuple[str, ...]

    @property
    def who(self) -> str:
        return named(self.other)

    @property
    def where(self) -> str:
        return ", ".join(self.paths)


def named(other: str) -> str:
    return "what is merged already" if other == MERGED else other


def meeting(other: str, paths: tuple[str, ...]) -> Meeting:
    """Return a meeting that names no more than :data:`MOST_PATHS`, each on one line."""
    named = tuple(path.replace("\n", "\\n") for path in paths[:MOST_PATHS])
    left = len(paths) - len(named)
    return Meeting(other=other, paths=(*named, f"and {left} more") if left else named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What has changed. ``look`` says how the other side is seen, where there is a new conflict."""

    conflicts: tuple[Meeting, ...] = ()
    waits_for: tuple[Meeting, ...] = ()
    no_longer: tuple[str, ...] = ()
    look: str = ""

    type: ClassVar[MessageType] = MessageType.FORECAST

    def render(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for each in self.conflicts:
            yield f"Conflict ahead: your work and {each.who} do not merge in {each.where}."
        if self.conflicts:
            yield f"Whoever is merged second resolves it. {self.look}".rstrip()
        for each in self.waits_for:
            yield f"Not begun before {each.who} is merged: both touch {each.where}."
        if self.no_longer:
            yield f"Settled: {', '.join(map(named, self.no_longer))}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What is foretold of a task now, in the order of the others' names."""

    conflicts: tuple[Meeting, ...] = ()
    waits_for: tuple[Meeting, ...] = ()

    def after(self, said: Forecast) -> "Foreseen":
        """Return what holds once ``said`` was told."""
        gone = frozenset(said.no_longer)
        met, held = (frozenset(each.other for each in new) for new in (said.conflicts, said.waits_for))
        return Foreseen(
            conflicts=_put(self.conflicts, said.conflicts, gone | held),
            waits_for=_put(self.waits_for, said.waits_for, gone | met),
        )

    def news_since(self, before: "Foreseen", look: str = "") -> Forecast | None:
        """Return what there is to tell to whom ``before`` was told last; None if it is the same."""
        new = Forecast(
            conflicts=tuple(each for each in self.conflicts if each not in before.conflicts),
            waits_for=tuple(each for each in self.waits_for if each not in before.waits_for),
            no_longer=tuple(sorted(before.others - self.others)),
            look=look,
        )
        return new if new.conflicts or new.waits_for or new.no_longer else None

    @property
    def others(self) -> frozenset[str]:
        return frozenset(each.other for each in (*self.conflicts, *self.waits_for))


def _put(before: tuple[Meeting, ...], new: tuple[Meeting, ...], gone: frozenset[str]) -> tuple[Meeting, ...]:
    found = {each.other: each for each in (*before, *new) if each.other not in gone}
    return tuple(found[other] for other in sorted(found))
