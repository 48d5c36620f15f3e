"""Records what a session did: journal, verification, processes."""

from collections.abc import Iterable, Sequence

from musician.processes.identity import OwnProgram, ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind, deviation_in, open_items
from musician.protocol.rules.deviations import Severity
from musician.protocol.rules.review import Verified
from musician.protocol.values import as_dict
from musician.service.rowwork import (
    beat_in,
    keep_verified,
    load_owned,
    load_task,
    since_started_over,
    write_entries,
)
from musician.store.port import Store
from musician.store.queries.sessions import Sessions
from musician.store.queries.work import BeginningRow, Work
from musician.store.rows import JournalRow, ProgramRow, SessionRow


def record(store: Store, claim: Claim, *entries: Entry, verified: Verified | None = None) -> None:
    """Append to the journal and refresh the heartbeat, at step boundaries above all (D10).

    ``verified`` is what was found, and led to no submission.
    """
    with store.write() as tx:
        beat_in(tx, claim)
        if verified is not None:
            keep_verified(tx, claim, verified)
        write_entries(tx, claim, entries)


def begin_piece(store: Store, claim: Claim, item: str, *, tip: str, outside: str) -> None:
    """Keep what stood when a piece was begun, for its end (D43): the commit its tree was at, and the user's main tree,
    as a text; "" where either could not be determined.
    """
    with store.write() as tx:
        load_owned(tx, claim)
        tx.run(
            Work.begin_piece,
            task_id=claim.task_id,
            claim_epoch=claim.epoch,
            item=item,
            tip=tip,
            outside=outside,
        )


def beginning_of(store: Store, claim: Claim, item: str) -> BeginningRow | None:
    """Return what was recorded at the beginning; None if nothing was."""
    with store.read() as tx:
        return tx.one(Work.beginning_of_piece, task_id=claim.task_id, claim_epoch=claim.epoch, item=item)


def measure_context(store: Store, claim: Claim, context_pct: float) -> None:
    """Keep how much of its context the session has used, as somebody measured it who is not the session (D15)."""
    with store.write() as tx:
        beat_in(tx, claim)
        tx.run(
            Sessions.measure_context, task_id=claim.task_id, claim_epoch=claim.epoch, context_pct=context_pct
        )


def record_process(store: Store, claim: Claim, role: str, identity: ProcessIdentity) -> None:
    """Record a process of the session before it executes anything (D23). ``role``: musician or agent."""
    with store.write() as tx:
        load_owned(tx, claim)
        tx.run(
            Sessions.record_process,
            task_id=claim.task_id,
            claim_epoch=claim.epoch,
            role=role,
            **as_dict(identity),
        )


def register_program(store: Store, task_id: str, epoch: int, program: OwnProgram) -> None:
    """Record with which program a claim is played, or the plans are conducted, and on which machine."""
    with store.write() as tx:
        tx.run(Sessions.register_program, task_id=task_id, claim_epoch=epoch, **as_dict(program))


def programs_at_work(store: Store) -> tuple[ProgramRow, ...]:
    """Return the programs that hold claims now, the conductor's among them."""
    with store.read() as tx:
        return tuple(tx.all(Sessions.programs_at_work))


def sessions_of(store: Store, task_ids: Iterable[str]) -> tuple[SessionRow, ...]:
    """Return every session of some tasks, those that ended among them."""
    with store.read() as tx:
        return tuple(row for each in task_ids for row in tx.all(Sessions.sessions_of_task, task_id=each))


def describe_session(store: Store, claim: Claim, *, agent: str, account: str = "") -> None:
    """Keep which agent plays, and the account it has with its provider; "" is one of the agent's own name."""
    of: dict[str, str | int] = {"task_id": claim.task_id, "claim_epoch": claim.epoch}
    with store.write() as tx:
        load_owned(tx, claim)
        tx.run(Sessions.describe_session, **of, agent=agent)
        if account in ("", agent):
            tx.run(Sessions.forget_account, **of)
        else:
            tx.run(Sessions.keep_account, **of, account=account)


def context_of(store: Store, claim: Claim) -> float | None:
    """How much of its context a claim's session has used, in per cent, as measured last; None if it never was (D15)."""
    with store.read() as tx:
        row = tx.one(Sessions.session, task_id=claim.task_id, claim_epoch=claim.epoch)
    return None if row is None else row.context_pct


def journal_of(store: Store, task_id: str) -> tuple[JournalRow, ...]:
    """Everything all sessions of a task wrote down, oldest first."""
    with store.read() as tx:
        load_task(tx, task_id)
        return tuple(tx.all(Work.journal_of_task, task_id=task_id))


def _severity(word: str) -> Severity:
    """A severity that is none counts as the worst."""
    return Severity(word) if word in set(Severity) else Severity.HIGH


def open_rows(journal: Sequence[JournalRow]) -> tuple[tuple[JournalRow, ...], tuple[JournalRow, ...]]:
    """What a reviewer has to rule: the deviations that nobody has ruled yet, what a musician left out by itself among
    them (D17, D29), and the findings of the latest submission (D26).
    """
    journal = since_started_over(journal)
    found = ((row, deviation_in(as_entry(row))) for row in journal)
    open_deviations = tuple(row for row, deviation in found if deviation is not None and not deviation.ruled)
    findings: list[JournalRow] = []
    submitted = 0
    for row in reversed(journal):
        submitted += row.kind == EntryKind.SUBMITTED
        if submitted == 1 and row.kind == EntryKind.FINDING and row.ruled_by is None:
            findings.insert(0, row)
    return open_deviations, tuple(findings)


def begun_in(journal: Iterable[JournalRow], epoch: int) -> tuple[Entry, ...]:
    """Return what a claim has begun and not ended yet, in its order."""
    return open_items(as_entry(row) for row in journal if row.claim_epoch == epoch)


def as_entry(row: JournalRow) -> Entry:
    return Entry(
        kind=EntryKind(row.kind),
        item=row.item,
        text=row.text,
        severity=None if row.severity is None else _severity(row.severity),
        context_pct=row.context_pct,
        commit_id=row.commit_id,
        ruled=row.ruled_by is not None,
        judged_by_person=row.judged_by_person,
    )
