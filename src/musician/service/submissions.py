"""What an owner tells its conductor: submissions, reports, questions (DESIGN 3, D5, D14)."""

from musician.protocol.claim import Claim
from musician.protocol.errors import EvidenceMissing
from musician.protocol.journal import Entry
from musician.protocol.messages import MessageType
from musician.protocol.states import State
from musician.protocol.transitions import Actor, Event, find
from musician.service.rowwork import load_owned, move_owned, named, say, write_entries
from musician.store.port import Store, Tx
from musician.store.rows import TaskRow, VerificationRow, decode

__all__ = ["ask", "report", "resume", "submit"]

_ANSWERED = frozenset({State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED})


def submit(
    store: Store,
    claim: Claim,
    message_type: MessageType,
    text: str,
    *,
    verification_id: int | None = None,
    entries: tuple[Entry, ...] = (),
) -> int:
    """Go to the conductor with a checkpoint's or the task's work; the submission's message id.

    Needs fresh evidence: a verification of this claim, the latest of the task, with no work after it, and not
    red; :class:`EvidenceMissing` otherwise. Attached to this one submission (D7).
    """
    with store.write() as tx:
        row = load_owned(tx, claim)
        evidence = _evidence(tx, claim, verification_id)
        if row.state in _ANSWERED:
            move_owned(tx, row, claim, Event.RESUME)
            row = load_owned(tx, claim)
        write_entries(tx, claim, entries)
        message_id = say(tx, claim.task_id, claim.session_id, message_type, text)
        move_owned(tx, row, claim, Event.SUBMIT)
        tx.run("attach_verification", id=evidence.id, submission_id=message_id)
        return message_id


def report(
    store: Store,
    claim: Claim,
    message_type: MessageType,
    text: str,
    *,
    last_error: str,
    entries: tuple[Entry, ...] = (),
) -> int:
    """Go into ``error`` with an error report or a context warning, and wait; the message's id.

    A report while already in ``error`` is a message only: the state stays (D11).
    """
    with store.write() as tx:
        row = load_owned(tx, claim)
        if row.state in _ANSWERED:
            move_owned(tx, row, claim, Event.RESUME)
            row = load_owned(tx, claim)
        write_entries(tx, claim, entries)
        message_id = say(tx, claim.task_id, claim.session_id, message_type, text)
        if row.state is not State.ERROR:
            _move_to_error(tx, row, claim, message_type, last_error)
        return message_id


def resume(store: Store, claim: Claim, *entries: Entry) -> None:
    """Go on after a verdict: back to ``working``."""
    with store.write() as tx:
        row = load_owned(tx, claim)
        move_owned(tx, row, claim, Event.RESUME)
        write_entries(tx, claim, entries)


def ask(store: Store, claim: Claim, text: str, *entries: Entry) -> int:
    """Ask the conductor something; the state stays as it is. The question's message id."""
    with store.write() as tx:
        load_owned(tx, claim)
        write_entries(tx, claim, entries)
        tx.run("beat", **named(claim))
        return say(tx, claim.task_id, claim.session_id, MessageType.QUESTION, text)


def _evidence(tx: Tx, claim: Claim, verification_id: int | None) -> VerificationRow:
    found = tx.one("latest_verification", task_id=claim.task_id)
    evidence = None if found is None else decode(VerificationRow, found)
    problem = _problem_with(tx, claim, evidence, verification_id)
    if evidence is None or problem is not None:
        raise EvidenceMissing(
            task_id=claim.task_id,
            missing=problem or "nothing was verified",
            remedy="run the verification (`musician checkpoint` does both)",
        )
    return evidence


def _problem_with(
    tx: Tx, claim: Claim, evidence: VerificationRow | None, verification_id: int | None
) -> str | None:
    if evidence is None:
        return "nothing was verified"
    if evidence.claim_epoch != claim.epoch:
        return "the latest verification is of an earlier session"
    if verification_id is not None and evidence.id != verification_id:
        return "a later verification exists"
    if evidence.submission_id is not None:
        return "the latest verification belongs to an earlier submission"
    if tx.one("work_after", task_id=claim.task_id, journal_id=evidence.journal_id) is not None:
        return "work was done after the latest verification"
    if evidence.outcome == "red":
        return "the latest verification is red"
    return None


def _move_to_error(tx: Tx, row: TaskRow, claim: Claim, message_type: MessageType, last_error: str) -> None:
    find(row.state, Event.REPORT, task_id=row.task_id, actor=Actor.OWNER)
    tx.run(
        "move_to_error",
        last_error=last_error,
        is_retry=message_type is MessageType.ERROR,
        from_state=row.state,
        **named(claim),
    )
    tx.ring("task-00")
