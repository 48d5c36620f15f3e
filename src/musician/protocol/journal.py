"""The journal: what a session did, in order, and the progress that follows from it.

Theory. A session records each thing after it is done, and never an intention. Entries do not change, so everything that
a successor must know (finished items, approved checkpoints, open deviations) is a fold over them:
:meth:`Progress.after`. The same entries are the lines of ``temp/<task>-status`` in the sources' form.

Items are named as people name them: ``step 2``, ``step 2 agent 1``, ``checkpoint 1``.
"""

from collections.abc import Iterable
from enum import StrEnum

from musician.protocol.messages.corrections import Correction, is_correction, order_id
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.values import dataclass, replace

JUDGED_BY_PERSON = "a person has judged"
"""The note written with a person's verdict, for who reads the journal. That it is one, its ruling says, and not these
words: a session can write them."""

AWAITS_ANSWER = "waits for the conductor's answer"
"""The note after which the session plays nothing until its question is answered."""

RESOLVED_BY_HAND = "resolved by hand"
"""The text of a rework that was found in the tree and that no session has played."""

PROVIDER_REFUSES = "refused by its provider: "
"""The beginning of the exit reason of a session whose provider refuses until a person acts."""

CEILING_REACHED = "a ceiling is reached: "
"""The beginning of the exit reason of a session that stopped because it may use no more."""

STARTED_OVER = "started over"
"""How the line of a status file begins from which on its lines count."""

REWORK_BEGINS = "reworks what cannot be merged"
"""The note after which changes in the task's tree are its session's, and not a person's resolution by hand."""

CONDUCTOR_TIMEOUT = "conductor timeout"
"""The note that a wait has timed out and goes on (D11)."""


class EntryKind(StrEnum):
    CLAIMED = "claimed"
    LOADED = "loaded"
    RESUMED = "resumed"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    UNPLAYABLE = "unplayable"
    """The piece cannot be played with the present plan; only a changed plan helps."""
    LAUNCHED = "launched"
    RETRIED = "retried"
    ABSORBED = "absorbed"
    RETURNED = "returned"
    REWORKED = "reworked"
    DEVIATION = "deviation"
    SELF_CORRECTION = "self-correction"
    PARTIAL = "partial"
    QUESTION = "question"
    PAUSED = "paused"
    LIMITED = "limited"
    """The agent's provider has a usage limit for now. Nothing has failed."""
    CONTEXT = "context"
    GRANTED = "granted"
    """The conductor's answer to a context warning; how far it goes is in ``musician/agreement``."""
    VERIFIED = "verified"
    NOT_VERIFIED = "not verified"
    FINDING = "finding"
    """A finding in the submission that follows; a reviewer must accept it (D26)."""
    SUBMITTED = "submitted"
    APPROVED = "approved"
    SENT_BACK = "sent back"
    ANSWER = "answer"
    ERROR = "error"
    WAIVED = "waived"
    """The conductor's answer to a report after which nothing is mended: go on as before, or with its corrections."""
    SET_ASIDE = "set aside"
    RECONCILED = "reconciled"
    UNDONE = "undone"
    """The item was done or approved, and is not any more."""
    REFUSED = "refused"
    LET_GO = "let go"
    CORRECTION = "correction"
    """A correction step of the conductor's, which comes before all others; ``text`` says what it is."""
    SKIPPED = "skipped"
    STARTED_OVER = "started over"
    """The conductor has the task played from its start: what is before counts for nothing, and is kept under a ref."""
    HANDOFF = "handoff"
    NOTE = "note"
    NOTICED = "noticed"
    WITH_PERSON = "with a person"
    """A person speaks with the agent in its own terminal; nothing is prompted meanwhile."""
    GIVEN_BACK = "given back"
    """The person is done; ``commit_id`` has what was changed."""
    SETTING_UP = "setting up"

    @classmethod
    def _missing_(cls, _value: object) -> "EntryKind":
        """Read an unknown kind, perhaps of a newer program, as a note, so that nothing fails over it (D39)."""
        return cls.NOTE


WORK = frozenset(
    {
        EntryKind.STARTED,
        EntryKind.COMPLETED,
        EntryKind.LAUNCHED,
        EntryKind.RETRIED,
        EntryKind.ABSORBED,
        EntryKind.RETURNED,
        EntryKind.REWORKED,
        EntryKind.SELF_CORRECTION,
        EntryKind.PARTIAL,
        EntryKind.RECONCILED,
        EntryKind.UNDONE,
        EntryKind.CORRECTION,
        EntryKind.SKIPPED,
        EntryKind.STARTED_OVER,
    }
)
"""The kinds that continue the work. After one of them an earlier submission is no longer complete (D28)."""


PLAYED = frozenset({EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.RECONCILED})
"""The kinds that say that an item is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the journal. ``commit_id`` is the commit of a completed item."""

    kind: EntryKind
    item: str = ""
    text: str = ""
    severity: Severity | None = None
    context_pct: float | None = None
    commit_id: str | None = None
    ruled: bool = False
    judged_by_person: bool = False
    """It stands for a person's verdict. Everything before it is settled and does not count as rough (D17)."""

    def __post_init__(self) -> None:
        if self.kind is EntryKind.DEVIATION and self.severity is None:
            raise ValueError("a deviation has a severity")


Written = tuple[tuple[str, Entry], ...]
"""The entries that a verb has written into journals, by task. The caller must append them to the status files too: a
line that only one of the two has is a mismatch that a successor must examine (D25)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress that follows from a journal. ``completed`` keeps the order in which items were played."""

    completed: tuple[str, ...] = ()
    approved: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    corrections: tuple[Correction, ...] = ()
    """The conductor's corrections that are not played yet, in their order (D17)."""
    heard_corrections: frozenset[str] = frozenset()
    """The items of all corrections there ever were."""
    deviations: tuple[Deviation, ...] = ()
    accepted: frozenset[str] = frozenset()
    """The findings that a reviewer has accepted."""
    self_corrections: tuple[str, ...] = ()
    agent_costs_pct: tuple[float, ...] = ()
    """The context that each of the session's subagents has cost."""
    launched_at_pct: float | None = None

    def after(self, entries: Iterable[Entry]) -> "Progress":
        """Return the progress after further entries."""
        progress = self
        for entry in entries:
            progress = _fold(progress, entry)
        return progress

    def is_done(self, item: str) -> bool:
        """Whether an item is done or skipped. A skipped step includes its pieces."""
        left_out = not self.skipped.isdisjoint((item, _step_of(item)))
        return left_out or item in self.completed or item in self.approved


def _fold(progress: Progress, entry: Entry) -> Progress:
    match entry.kind:
        case EntryKind.CLAIMED:
            return replace(progress, agent_costs_pct=(), launched_at_pct=None)
        case EntryKind.LAUNCHED | EntryKind.RETRIED:
            return replace(progress, launched_at_pct=entry.context_pct)
        case EntryKind.RETURNED:
            return _completed(_with_cost(progress, entry.context_pct), entry.item)
        case EntryKind.COMPLETED | EntryKind.RECONCILED:
            return _completed(progress, entry.item)
        case EntryKind.DEVIATION | EntryKind.SENT_BACK:
            found = deviation_in(entry)
            return progress if found is None else replace(progress, deviations=(*progress.deviations, found))
        case EntryKind.FINDING if entry.ruled:
            return replace(progress, accepted=progress.accepted | {entry.text})
        case EntryKind.SELF_CORRECTION:
            said = ": ".join(part for part in (entry.item, entry.text) if part)
            return replace(progress, self_corrections=(*progress.self_corrections, said))
        case EntryKind.SUBMITTED:  # a new submission ends the old approval (D28)
            return replace(progress, approved=progress.approved - {entry.item})
        case EntryKind.APPROVED:
            return replace(progress, approved=progress.approved | {entry.item})
        case EntryKind.UNDONE:
            return replace(
                progress,
                completed=tuple(item for item in progress.completed if item != entry.item),
                approved=progress.approved - {entry.item},
                skipped=progress.skipped - {entry.item},
            )
        case EntryKind.CORRECTION:
            same = [each for each in progress.corrections if order_id(each.item) == order_id(entry.item)]
            return replace(
                progress,
                corrections=(*same, Correction.of(entry.item, entry.text)),
                heard_corrections=progress.heard_corrections | {entry.item},
            )
        case EntryKind.SKIPPED:
            return _skipped(progress, entry)
        case EntryKind.STARTED_OVER:
            return Progress(heard_corrections=progress.heard_corrections)
        case _:
            return progress


def open_items(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries by which one claim began what it has not ended yet, in their order.

    A failure ends nothing: the item is still to be done. What is submitted has nothing open before it.
    """
    begun: dict[str, Entry] = {}
    for entry in entries:
        match entry.kind:
            case EntryKind.STARTED | EntryKind.LAUNCHED:
                begun.pop(entry.item, None)
                begun[entry.item] = entry
            case EntryKind.COMPLETED | EntryKind.RETURNED | EntryKind.RECONCILED | EntryKind.UNDONE:
                begun.pop(entry.item, None)
            case EntryKind.SKIPPED:
                begun = {
                    item: each for item, each in begun.items() if entry.item not in (item, _step_of(item))
                }
            case EntryKind.SUBMITTED | EntryKind.STARTED_OVER:
                begun.clear()
            case _:
                pass
    return tuple(begun.values())


def _step_of(item: str) -> str:
    """Return the step that a piece belongs to; any other item itself."""
    return item.partition(" agent ")[0]


def _with_cost(progress: Progress, used_pct: float | None) -> Progress:
    """Add a subagent's cost. The cost of those that run beside it is counted from this reading on."""
    before, costs = progress.launched_at_pct, progress.agent_costs_pct
    if used_pct is not None and before is not None and used_pct >= before:
        costs = (*costs, used_pct - before)
    return replace(progress, agent_costs_pct=costs, launched_at_pct=used_pct)


def _skipped(progress: Progress, entry: Entry) -> Progress:
    found = deviation_in(entry)
    deviations = progress.deviations if found is None else (*progress.deviations, found)
    skipped = progress.skipped | {entry.item}
    return replace(_without_correction(progress, entry.item), skipped=skipped, deviations=deviations)


def _without_correction(progress: Progress, item: str) -> Progress:
    return replace(progress, corrections=tuple(each for each in progress.corrections if each.item != item))


def _completed(progress: Progress, item: str) -> Progress:
    if is_correction(item):
        return _without_correction(progress, item)
    if item in progress.completed:
        return progress
    return replace(progress, completed=(*progress.completed, item))


_PHRASES = {
    EntryKind.CLAIMED: "bootstrap started: task claimed, session: {text}",
    EntryKind.LOADED: "instructions loaded: {text}",
    EntryKind.RESUMED: "{text}",
    EntryKind.STARTED: "{item} started",
    EntryKind.COMPLETED: "{item} completed {text}",
    EntryKind.LAUNCHED: "{item} launched",
    EntryKind.RETRIED: "{item} {text}",
    EntryKind.ABSORBED: "{item} absorbed: {text}",
    EntryKind.RETURNED: "{item} returned",
    EntryKind.FAILED: "{item} FAILED: {text}",
    EntryKind.UNPLAYABLE: "{item} cannot be played: {text}",
    EntryKind.REWORKED: "{item} reworked",
    EntryKind.DEVIATION: "{item} deviation: {text} ({severity})",
    EntryKind.SELF_CORRECTION: "{item} self-correction: {text}",
    EntryKind.PARTIAL: "{item} partial: {text}",
    EntryKind.QUESTION: "{item} question: {text}",
    EntryKind.PAUSED: "paused: {text}",
    EntryKind.LIMITED: "{item} waits for its provider: {text}",
    EntryKind.CONTEXT: "CONTEXT {text}",
    EntryKind.GRANTED: "CONTEXT granted: {text}",
    EntryKind.VERIFIED: "{item} verification: {text}",
    EntryKind.NOT_VERIFIED: "{item} verification failed: {text}",
    EntryKind.FINDING: "{item} needs a judge: {text}",
    EntryKind.SUBMITTED: "{item} reached, review requested",
    EntryKind.APPROVED: "{item} approved",
    EntryKind.SENT_BACK: "{item} sent back: {text}",
    EntryKind.ANSWER: "{item} answers {text}",
    EntryKind.ERROR: "error reported: {text}",
    EntryKind.WAIVED: "conductor: {text}",
    EntryKind.SET_ASIDE: "unfinished work set aside: {text}",
    EntryKind.RECONCILED: "{item} found completed: {text}",
    EntryKind.UNDONE: "{item} undone: {text}",
    EntryKind.REFUSED: "refused: {text}",
    EntryKind.LET_GO: "{text}",
    EntryKind.CORRECTION: "{item} ordered: {text}",
    EntryKind.SKIPPED: "{item} skipped: {text}",
    EntryKind.STARTED_OVER: STARTED_OVER + ": {text}",
    EntryKind.HANDOFF: "clean exit: HANDOFF written: {text}",
    EntryKind.NOTE: "{text}",
    EntryKind.NOTICED: "{item} noticed: {text}",
    EntryKind.SETTING_UP: "setting the tree up: {text}",
    EntryKind.WITH_PERSON: "with a person",
    EntryKind.GIVEN_BACK: "given back by the person",
}


def status_line(entry: Entry) -> str:
    """Return the entry as a line of ``temp/<task>-status``: ``step 1 completed [ctx: 18%]``.

    Only the resumption status keeps its several lines (sources "Verbose Resumption Status").
    """
    if entry.kind is EntryKind.RESUMED:
        return entry.text
    phrase = _PHRASES[entry.kind].format(item=entry.item, text=entry.text, severity=entry.severity)
    line = " ".join(phrase.split())
    return line if entry.context_pct is None else f"{line} [ctx: {entry.context_pct:.0f}%]"


def deviation_in(entry: Entry) -> Deviation | None:
    """Return the deviation that an entry records, for ``temp/<task>-deviations`` too; None for most entries.

    A rejection is a deviation that is ruled on already, and so is an item that the conductor has skipped. An item that
    the musician itself skips has a severity and waits to be ruled on (D29).
    """
    if entry.kind is EntryKind.SKIPPED and not is_correction(entry.item):
        return Deviation(
            severity=entry.severity or Severity.LOW,
            text=f"{entry.item}: skipped {entry.text}".rstrip(),
            ruled=entry.ruled or entry.severity is None,
        )
    if entry.severity is None or entry.kind not in (EntryKind.DEVIATION, EntryKind.SENT_BACK):
        return None
    if entry.kind is EntryKind.SENT_BACK:
        return Deviation(severity=entry.severity, text=f"{entry.item}: review_failed", ruled=True)
    return Deviation(severity=entry.severity, text=entry.text, ruled=entry.ruled)
