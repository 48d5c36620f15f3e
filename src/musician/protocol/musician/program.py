"""A task as the musician plays it: a flat list of items in document order."""

from dataclasses import field

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.corrections import Correction, Way, corrections_in
from musician.protocol.rules.delegation import Extent
from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A step, or a subagent's piece of one. ``item`` names it in the journal and in git.

    For a subagent's piece the plan may give the ``extent``, and say whether it is ``well_defined`` (None if not).
    """

    item: str
    title: str
    prose: str
    scripts: tuple[str, ...]
    step: int
    is_agent: bool = False
    extent: Extent = field(default_factory=Extent)
    well_defined: bool | None = None
    correction: Correction | None = None
    """The conductor's correction that this item carries out, None for an item of the plan (D17)."""

    @property
    def is_skip(self) -> bool:
        """Whether the correction only skips another item, so that there is nothing to play."""
        return self.correction is not None and self.correction.way is Way.SKIP

    @property
    def undoes(self) -> str:
        """The finished item that the program reverts with git; "" if this item is played by the agent."""
        reverts = self.correction is not None and self.correction.way in (Way.REVERT, Way.REVERT_AND_SKIP)
        return self.correction.target if self.correction is not None and reverts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointItem:
    """A checkpoint: ``commands`` verify it, and ``rework`` scripts (its own and its steps') mend it.

    ``may_change`` and ``may_pass_before`` are the task's permissions (D26, D16).
    """

    item: str
    number: int
    of: int
    title: str
    commands: tuple[str, ...]
    rework: tuple[str, ...]
    prose: str = ""
    final: bool = False
    may_change: tuple[str, ...] = ()
    may_pass_before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The items in the order in which they are played. The last is the final checkpoint.

    If ``is_read`` is false, the task's instructions cannot be read, and it may have any items.
    """

    task_id: str
    title: str
    items: tuple[Play | CheckpointItem, ...]
    overview: str = ""
    """The overviews of the task and the plan, for a musician that is a model."""
    is_read: bool = True

    def __post_init__(self) -> None:
        checks = self.checkpoints
        if not checks or not checks[-1].final or self.items[-1] is not checks[-1]:
            raise ValueError("a task ends with its final checkpoint")
        names = [item.item for item in self.items]
        if len(set(names)) != len(names):
            raise ValueError("each item has its own name")

    @property
    def checkpoints(self) -> tuple[CheckpointItem, ...]:
        return tuple(item for item in self.items if isinstance(item, CheckpointItem))

    def next_item(self, progress: Progress) -> Play | CheckpointItem | None:
        """Return the first item that is not done; None once the final checkpoint is approved."""
        return next(iter(self.ahead(progress)), None)

    def next_named(self, progress: Progress) -> str:
        """Return the next item as ``step 2 of 3`` or ``checkpoint 1 of 2``; corrections and pieces are not counted."""
        match self.next_item(progress):
            case None:
                return ""
            case CheckpointItem() as check:
                return f"{check.item} of {check.of}"
            case Play(is_agent=False, correction=None) as step:
                return f"{step.item} of {max(each.step for each in self.items if isinstance(each, Play))}"
            case piece:
                return piece.item

    def ahead(self, progress: Progress) -> tuple[Play | CheckpointItem, ...]:
        """Everything still to be done, in order: the conductor's corrections come before the plan's items (D17)."""
        corrections = [_as_play(each) for each in progress.corrections]
        return (*corrections, *(item for item in self.items if not progress.is_done(item.item)))

    def done_with(self, play: Play, progress: Progress) -> tuple[Entry, ...]:
        """Return the further entries for a finished correction: what it undid, and what counts as done through it."""
        undone = self.undone_with(play.undoes, progress)
        final = self.items[-1].item
        if not play.is_skip and final in progress.approved and final not in undone:
            undone = (*undone, final)  # an approved completion covers one tree (D28)
        entries = [Entry(kind=EntryKind.UNDONE, item=item, text=f"by {play.item}") for item in undone]
        if play.correction is not None and play.correction.way in (Way.SKIP, Way.REVERT_AND_SKIP):
            entries.append(Entry(kind=EntryKind.SKIPPED, item=play.correction.target, text=f"by {play.item}"))
        return tuple(entries)

    def undone_with(self, item: str, progress: Progress) -> tuple[str, ...]:
        """Return what is not done any more once ``item`` is undone: itself, and every approval that covered it."""
        names = [each.item for each in self.items]
        later = names[names.index(item) :] if item in names else []
        undone = [item] if item in progress.completed else []
        return (*undone, *(name for name in later if name in progress.approved))

    def knows(self, item: str) -> bool:
        """Whether the task has this step. A musician may delegate pieces of it that are not in the plan."""
        step = item.partition(" agent ")[0]
        return not self.is_read or any(
            isinstance(each, Play) and step == f"step {each.step}" for each in self.items
        )

    def play(self, item: str) -> Play:
        """Return the item of this name; a new one if it is a piece that is not in the plan."""
        named = (each for each in self.items if isinstance(each, Play) and each.item == item)
        return next(
            named, Play(item=item, title="", prose="", scripts=(), step=0, is_agent=" agent " in item)
        )

    def pieces_of(self, item: str) -> tuple[Play, ...]:
        """Return the subagent pieces of a step; () for anything else."""
        return tuple(
            each
            for each in self.items
            if isinstance(each, Play) and each.is_agent and item == f"step {each.step}"
        )

    def open_before(self, item: str, progress: Progress) -> tuple[str, ...]:
        """Return the unfinished items before this one: nothing is played or submitted out of order (D29).

        The pieces of a step may be delegated in any order while the step is played.
        """
        steps = [each.item.partition(" agent ")[0] for each in self.items]
        step = item.partition(" agent ")[0]
        before = {each.item for each in self.items[: steps.index(step)]} if step in steps else set()
        return tuple(
            each.item
            for each in self.ahead(progress)
            if each.item in before or (isinstance(each, Play) and each.correction is not None)
        )

    def check_after(self, item: str) -> CheckpointItem:
        """Return the next checkpoint after an item; the last one for an unknown item."""
        names = [each.item for each in self.items]
        ahead = self.items[names.index(item) :] if item in names else self.items[-1:]
        return next(each for each in ahead if isinstance(each, CheckpointItem))

    def pieces_to_checkpoint(self, progress: Progress) -> int:
        """Count the items before the next checkpoint."""
        ahead = self.ahead(progress)
        return next((n for n, item in enumerate(ahead) if isinstance(item, CheckpointItem)), len(ahead))

    def pieces_left(self, progress: Progress) -> int:
        """Count all items that are still to be played."""
        return sum(isinstance(item, Play) for item in self.ahead(progress))

    def remaining(self, progress: Progress) -> tuple[str, ...]:
        """Return the unfinished items, as ``step 3 (title)``."""
        return tuple(f"{item.item} ({item.title})" for item in self.ahead(progress))


def ordered(progress: Progress, text: str, message_id: int) -> tuple[Entry, ...]:
    """Return the journal entries for the correction steps in a message of the conductor's, each once (D17)."""
    return tuple(
        Entry(kind=EntryKind.CORRECTION, item=each.item, text=each.text)
        for each in corrections_in(text, message_id)
        if each.item not in progress.heard_corrections
    )


def _as_play(correction: Correction) -> Play:
    """The shell agent runs its text, a model reads it."""
    return Play(
        item=correction.item,
        title=correction.title,
        prose=correction.text,
        scripts=(correction.text,),
        step=0,
        correction=correction,
    )
