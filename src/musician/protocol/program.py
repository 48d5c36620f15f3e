"""A task as the musician plays it: one flat list of items in document order."""

from dataclasses import dataclass, field

from musician.protocol.delegation import Extent
from musician.protocol.journal import Progress

__all__ = ["Check", "Play", "Program"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A step, or a subagent's piece of one. ``item`` names it in the journal and in git.

    Of a subagent's piece the plan may say its ``extent``, and whether it is ``well_defined``; None where it does not.
    """

    item: str
    title: str
    prose: str
    scripts: tuple[str, ...]
    step: int
    is_agent: bool = False
    extent: Extent = field(default_factory=Extent)
    well_defined: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A checkpoint: ``commands`` are what is verified, ``rework`` what mends it, gathered from its steps too."""

    item: str
    number: int
    of: int
    title: str
    commands: tuple[str, ...]
    rework: tuple[str, ...]
    prose: str = ""
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Items in the order they are played; the last is the final checkpoint."""

    task_id: str
    title: str
    items: tuple[Play | Check, ...]

    def __post_init__(self) -> None:
        checks = [item for item in self.items if isinstance(item, Check)]
        if not checks or not checks[-1].final or self.items[-1] is not checks[-1]:
            raise ValueError("a task ends with its final checkpoint")
        names = [item.item for item in self.items]
        if len(set(names)) != len(names):
            raise ValueError("each item has its own name")

    def next_item(self, progress: Progress) -> Play | Check | None:
        """The first item not done yet; None when the final checkpoint stands approved."""
        for item in self.items:
            if not progress.is_done(item.item):
                return item
        return None

    def undone_with(self, item: str, progress: Progress) -> tuple[str, ...]:
        """What is no longer done once ``item`` is undone: itself, and every approval that judged work which held it."""
        names = [each.item for each in self.items]
        later = names[names.index(item) :] if item in names else []
        undone = [item] if item in progress.completed else []
        return (*undone, *(name for name in later if name in progress.approved))

    def check_after(self, item: str) -> Check:
        """The checkpoint that an item lies before; the last one for what is no item."""
        names = [each.item for each in self.items]
        ahead = self.items[names.index(item) :] if item in names else self.items[-1:]
        return next(each for each in ahead if isinstance(each, Check))

    def pieces_to_checkpoint(self, progress: Progress) -> int:
        """How many items are played before the next checkpoint."""
        count = 0
        for item in self.items:
            if progress.is_done(item.item):
                continue
            if isinstance(item, Check):
                break
            count += 1
        return count

    def pieces_left(self, progress: Progress) -> int:
        """How many items are still to be played in all."""
        return sum(1 for item in self.items if isinstance(item, Play) and not progress.is_done(item.item))

    def remaining(self, progress: Progress) -> tuple[str, ...]:
        """What is still to be done, as ``step 3 (title)``."""
        return tuple(f"{item.item} ({item.title})" for item in self.items if not progress.is_done(item.item))
