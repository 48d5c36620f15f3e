"""What lies ahead of tasks that are not merged yet: conflicts, each said once, and who waits so that there is none.

The one fold that surfaces read of what was foretold. Of a pair both sides were told; it stands while both of them hold
it, for one whose work is merged is told nothing any more.
"""

from collections.abc import Iterable, Iterator, Mapping

from musician.protocol.messages.forecasts import MERGED, Foreseen, named
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A task meets ``other``, a task or :data:`MERGED`, in these paths; ``waits``: it is begun when that is merged."""

    task_id: str
    other: str
    paths: tuple[str, ...]
    waits: bool = False

    @property
    def names(self) -> tuple[str, str, bool]:
        return self.task_id, self.other, self.waits


def met_ahead(foreseen: Mapping[str, Foreseen]) -> tuple[Met, ...]:
    return tuple(_met(foreseen))


def met_by(task_id: str, met: Iterable[Met]) -> tuple[Met, ...]:
    """Return what concerns one task, as it sees it."""
    return tuple(
        each if each.task_id == task_id else Met(task_id=task_id, other=each.task_id, paths=each.paths)
        for each in met
        if task_id == each.task_id or (task_id == each.other and not each.waits)
    )


def say_ahead(met: Met) -> str:
    """Return it in words, without its subject."""
    where = ", ".join(met.paths)
    if met.waits:
        return f"waits until {met.other} is merged: both touch {where}"
    verb = "conflicts with" if met.other == MERGED else "will conflict with"
    return f"{verb} {named(met.other)} in {where}"


def say_settled(met: Met) -> str:
    return f"waits for {met.other} no more" if met.waits else f"no longer conflicts with {named(met.other)}"


def _met(foreseen: Mapping[str, Foreseen]) -> Iterator[Met]:
    for task_id, now in foreseen.items():
        for each in now.conflicts:
            theirs = foreseen.get(each.other, Foreseen()).conflicts
            is_first = task_id < each.other and any(their.other == task_id for their in theirs)
            if each.other == MERGED or is_first:
                yield Met(task_id=task_id, other=each.other, paths=each.paths)
        for each in now.waits_for:
            yield Met(task_id=task_id, other=each.other, paths=each.paths, waits=True)
