"""Reads what the gate before a session's end needs, and records its decisions (B01)."""

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind, Written
from musician.protocol.messages.kinds import MessageType
from musician.protocol.rules.gate import Duty
from musician.protocol.values import dataclass
from musician.service.pausing import pause_of_plan_in
from musician.service.rowwork import load_owned, load_task, say, write_entries
from musician.service.work import begun_in
from musician.store.port import Store
from musician.store.queries.clients import Clients
from musician.store.queries.gating import Gating
from musician.store.queries.messages import Messages
from musician.store.queries.work import Work

MOST_WAITING = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One attempt to stop. ``seen`` identifies what the client said, ``is_continued``: it was kept before in this turn.

    ``tool_mark`` grows with every tool call. ``started_s`` and ``now_s`` are by one clock of this machine's boot: when
    the hook's process was started, and now.
    """

    seen: str
    is_continued: bool
    tool_mark: int
    started_s: float
    now_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """``count`` stops while nothing moved, ``in_a_row`` without a tool call between; ``is_repeat``: counted already."""

    count: int
    in_a_row: int
    is_repeat: bool = False


def duty_of(store: Store, claim: Claim) -> Duty:
    """Return what a live claim of a session has to do, or waits for."""
    of = {"task_id": claim.task_id}
    with store.read() as tx:
        row = load_task(tx, claim.task_id)
        unread = tx.all(
            Messages.undelivered, task_id=claim.task_id, claim_epoch=claim.epoch, most=MOST_WAITING
        )
        begun = begun_in(tx.all(Work.journal_of_task, **of), claim.epoch)
        asks = tx.only(Gating.is_asking, **of)
        pause = pause_of_plan_in(tx, row.plan_id)
    return Duty(
        task_id=claim.task_id,
        state=row.state,
        message_ids=tuple(each.id for each in unread),
        item=begun[-1].item if begun else "",
        asks=asks,
        is_held=pause is not None,
    )


def count_stop(store: Store, session_id: str, stop: Stop) -> Stops:
    """Count an attempt to stop, once however many registrations of the hook report it.

    Two processes that were started for one event overlap: the second was started before the first had counted.
    """
    with store.write() as tx:
        client = tx.one(Clients.client, session_id=session_id)
        if client is None:
            return Stops(count=1, in_a_row=1)
        if client.stop_seen == stop.seen and stop.started_s < (client.stop_counted_s or 0.0) <= stop.now_s:
            return Stops(count=client.iterations, in_a_row=client.stops_in_a_row, is_repeat=True)
        mark = tx.only(Gating.moved, session_id=session_id)
        goes_on = stop.is_continued and client.tool_mark == stop.tool_mark
        stops = Stops(
            count=client.iterations + 1 if mark == client.progress_mark else 1,
            in_a_row=client.stops_in_a_row + 1 if goes_on else 1,
        )
        tx.run(
            Gating.count_stop,
            session_id=session_id,
            stops=stops.count,
            in_a_row=stops.in_a_row,
            mark=mark,
            tool_mark=stop.tool_mark,
            seen=stop.seen,
            now_s=stop.now_s,
        )
        return stops


def allow_stop(store: Store, claim: Claim, why: str) -> Written:
    """A session that should have gone on was let go: the journal and the conductor know why."""
    with store.write() as tx:
        row = load_owned(tx, claim)
        text = f"{claim.session_id} was let go in state {row.state}: {why}"
        entry = Entry(kind=EntryKind.LET_GO, text=text)
        write_entries(tx, claim, (entry,))
        say(tx, claim.task_id, claim.session_id, MessageType.SYSTEM, text)
        return ((claim.task_id, entry),)
