"""Lists everything that happened, in the order it was written: who did what to which task."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import assert_never

from musician import service
from musician.protocol.journal import status_line
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, succession_name
from musician.protocol.states import VERDICTS, State
from musician.protocol.values import dataclass, replace
from musician.reporting.asks import JUDGED
from musician.reporting.spending import say_usage
from musician.service.following import PlanChange, Source, newest_changes
from musician.service.work import as_entry
from musician.store.port import Store
from musician.store.rows import DecidedRow, HistoryRow, HumanRow, JournalRow, MessageRow, UsageRow

MOST_HAPPENINGS = 1000
"""How many of the newest are listed by default."""
MOST_DECISIONS = 200
"""On a page, about: those of one stretch of the order stay together."""
_PAUSING: Mapping[str, str] = {MessageType.PAUSE: "plan paused", MessageType.GO_ON: "plan goes on"}
"""What is said beside the conductor's row when a plan is paused, and when it goes on, whoever wrote it."""
_MOST_PAGES = 20
"""Of changes that are looked through for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One row of history, messages, journal or questions.

    ``at`` is UTC by the database's clock, ``id`` the row's own in its table. ``text`` may have several lines.
    """

    seq: int
    at: str
    source: Source
    id: int
    task_id: str
    who: str
    what: str
    text: str
    by: str = ""
    """The person, or the session, whose decision of the conductor's it was; "" where the program decided."""

    @property
    def shown_who(self) -> str:
        return f"{self.who} ({self.by})" if self.by else self.who


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """``happenings`` are sorted, oldest first; ``left_out`` counts the older ones that are not among them."""

    happenings: tuple[Happening, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """``happenings`` are sorted, oldest first. ``earlier`` is up to where older ones are asked for, if there are."""

    happenings: tuple[Happening, ...]
    earlier: int | None


def happenings(store: Store, *, most: int = MOST_HAPPENINGS) -> Timeline:
    """Return the newest ``most`` happenings."""
    changes, left_out = newest_changes(store, most=most)
    signers = service.signers_between(store, left_out, changes[-1].seq) if changes else {}
    told = (_happening(each, by=say_signer(signers.get(each.seq))) for each in changes)
    return Timeline(happenings=tuple(told), left_out=left_out)


def decisions(store: Store, *, until: int | None = None) -> Decisions:
    """Return what was decided up to a place in the one order, or to now: each verdict, how each question was settled,
    what became of each proposal, each pause of a plan and its end, and by whom. So many changes are looked through that
    enough is found, and no more than is quick.
    """
    until = service.newest_seq(store) if until is None else until
    found: tuple[Happening, ...] = ()
    for _ in range(_MOST_PAGES):
        if until <= 0 or len(found) >= MOST_DECISIONS:
            break
        after = service.seq_before(store, until)
        found = (*_decided_between(store, after, until), *found)
        until = after
    return Decisions(happenings=found, earlier=until if until > 0 else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """Who has decided what happened in a stretch of the one order, in words; "" where the program did by its rules."""

    signers: Mapping[int, service.Signer]
    by_persons: Collection[int]
    by_agents: Collection[int]

    @classmethod
    def between(cls, store: Store, after: int, until: int) -> "Deciders":
        return cls(
            signers=service.signers_between(store, after, until),
            by_persons=service.judged_by_persons(store, after, until),
            by_agents=service.judged_by_agents(store, after, until),
        )

    def of(self, change: PlanChange) -> str:
        if by := say_signer(self.signers.get(change.seq)):
            return by
        if change.source is not Source.STATE:
            return ""
        if change.seq in self.by_persons:
            return "a person"
        if change.seq not in self.by_agents:
            return ""
        is_report = isinstance(change.row, HistoryRow) and change.row.from_state is State.ERROR
        return "the answering agent" if is_report else "the reviewing agent"


def _decided_between(store: Store, after: int, until: int) -> Iterator[Happening]:
    deciders = Deciders.between(store, after, until)
    for change in service.every_change(store, after, until=until):
        who = deciders.of(change)
        match change.row:
            case HistoryRow(to_state=to_state) if to_state in VERDICTS:
                what = str(to_state).replace("_", " ")
                yield replace(_happening(change), who=who or "the rules", what=what, text=change.said)
            case HumanRow(kind=kind, resolution=text) if (
                change.source is Source.SETTLED and kind not in JUDGED
            ):
                what = f"{kind} settled"
                yield replace(_happening(change), who=who or "the program", what=what, text=text or "")
            case MessageRow(task_id=task_id, message_type=kind) if task_id == CONDUCTOR and kind in _PAUSING:
                yield replace(_happening(change), who=who or "somebody", what=_PAUSING[kind])
            case DecidedRow():
                yield replace(_happening(change), who=who or "the conductor")
            case _:
                pass


def decider_of(store: Store, task_id: str, message_id: int) -> str:
    """Return whose the verdict or the order was that a message says, in the words of :class:`Deciders`."""
    change = service.change_with(store, task_id, message_id)
    return "" if change is None else Deciders.between(store, change.seq - 1, change.seq).of(change)


def session_names(store: Store, found: Iterable[Happening]) -> dict[tuple[str, str], str]:
    """Return the names of those who wrote to the tasks, by task and id."""
    task_ids = sorted({each.task_id for each in found})
    sessions = service.sessions_of(store, task_ids)
    return {(each, CONDUCTOR): "conductor" for each in task_ids} | {
        (each.task_id, each.session_id): succession_name(each.task_id, each.number) for each in sessions
    }


def signers_of(store: Store, task_id: str, source: Source = Source.MESSAGE, *, most: int) -> dict[int, str]:
    """Return who has signed the newest ``most`` of a task's messages, or changes of state, by their ids, in words."""
    found = service.signers_of(store, task_id, source, most=most)
    return {number: say_signer(each) for number, each in found.items()}


def say_signer(signer: service.Signer | None) -> str:
    """Return who it was, as ``ada`` or ``session 4f2a for ada``; "" of nobody."""
    if signer is None:
        return ""
    return signer.name if signer.session_id is None else f"session {signer.session_id} for {signer.name}"


def _happening(change: PlanChange, *, by: str = "") -> Happening:
    match change.row:
        case MessageRow() as row:
            at, who, what, text = row.timestamp, row.from_session, row.message_type, row.message
        case HistoryRow() as row:
            at, who, what = row.at, row.who, f"{row.from_state or 'new'} → {row.to_state}"
            text = "" if row.message_id is None else f"message {row.message_id}"
        case JournalRow() as row:
            at, who, what, text = row.at, row.session_id, row.kind, status_line(as_entry(row))
        case UsageRow() as row:
            at, who, what, text = row.at, row.session_id, "used", f"{row.item}: {say_usage((row,))}"
        case HumanRow() as row if change.source is Source.ASKED:
            at, who, what, text = row.at, CONDUCTOR, "needs a person", f"{row.kind}: {row.text}"
        case HumanRow() as row:
            at, who, what, text = row.resolved_at or row.at, CONDUCTOR, "settled", row.resolution or ""
        case DecidedRow() as row:
            at, who, what = row.decided_at or "", CONDUCTOR, f"proposal {row.status}"
            text = f"{row.title}: {row.outcome}"
        case _:
            assert_never(change.row)
    return Happening(
        seq=change.seq,
        at=at,
        source=change.source,
        id=change.row.id,
        task_id=change.task_id,
        who=who,
        what=what,
        text=text,
        by=by,
    )
