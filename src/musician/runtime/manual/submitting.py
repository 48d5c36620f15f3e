"""Commits, verifies and submits a checkpoint of a session that is played by hand (D14, D16)."""

from anyio.to_thread import run_sync

from musician import service
from musician.protocol.errors import EvidenceMissing, NotGreen
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.feedback import answer_text, numbered_answers
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.inputs import CheckpointChosen
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.musician.state import MusicianState
from musician.protocol.rules.review import worse
from musician.protocol.values import replace
from musician.runtime.approval import approved_as_it_is
from musician.runtime.belongings import check_alone
from musician.runtime.checkpoint import Found, run_checkpoint
from musician.runtime.heartbeat import beating
from musician.runtime.manual.manual_session import ManualSession
from musician.runtime.tasks import raising_one


async def submit_checkpoint(
    manual: ManualSession,
    number: int | None,
    *,
    summary: str | None,
    smoothness: int | None,
) -> tuple[Found, int]:
    """Commit the tree, verify it, and submit it; return what was found, and the submission's message id.

    ``number`` None means the next checkpoint. The agent may call its work rougher than it is scored, not
    smoother. :class:`NotGreen` if the verification is red; that is noted, and nothing is submitted.
    """
    await run_sync(service.beat, manual.store, manual.claim)
    await run_sync(manual.check_undriven)
    claimed = await run_sync(lambda: manual.claimed)
    await run_sync(check_alone, manual.store, manual.claim, claimed.tree, manual.world.machine)
    _ = manual.task  # raises if the task cannot be read: then there is no checkpoint to verify
    state, check = await run_sync(_begun, manual, number)
    with raising_one():
        async with beating(manual.store, manual.claim, manual.settings):
            await run_sync(claimed.tree.keep, f"work for {check.item}", check.title)
            if problem := await claimed.set_up():
                raise EvidenceMissing(
                    task_id=claimed.claim.task_id,
                    missing=problem,
                    remedy="mend the plan's setup command, or what it needs",
                )
            found = await run_checkpoint(claimed, check)
    records = [
        _in_own_words(state, check, record, summary, smoothness) if isinstance(record, r.Submit) else record
        for record in step(state, found.ended)[1].records
    ]
    message_id = await run_sync(manual.store_records, records)
    if any(isinstance(record, r.Submit) for record in records):
        return found, message_id or 0
    raise NotGreen(
        task_id=manual.claim.task_id,
        item=check.item,
        found=found.tests,
        failing=found.failing,
        reported=message_id,
        left=any(isinstance(record, r.ExitClaim) for record in records),
    )


def _in_own_words(
    state: MusicianState, check: CheckpointItem, record: r.Submit, own: str | None, smoothness: int | None
) -> r.Submit:
    """Return the submission with the session's own words: they may answer returned points by number, and what they
    leave out is completed. The answers go into the journal too, as those of a driven session do.
    """
    since, score = state.since, worse(record.message.smoothness or 0, smoothness)
    answers = numbered_answers(own or "") if since.points else {}
    summary = own or record.message.summary
    if own and not all(number in answers for number in range(1, len(since.points) + 1)):
        summary = f"{own}\n{answer_text(since.points, answers, since.mended_in)}"
    answered = (
        Entry(kind=EntryKind.ANSWER, item=check.item, text=f"{number}. {text}")
        for number, text in answers.items()
        if number <= len(since.points)
    )
    return replace(
        record,
        message=replace(record.message, smoothness=score, summary=summary),
        entries=(*answered, *record.entries),
    )


def _begun(manual: ManualSession, number: int | None) -> tuple[MusicianState, CheckpointItem]:
    """Return the engine's state and the checkpoint to verify now; a context check comes first (REF-4, D15)."""
    is_overtaken = (
        number is None and manual.program.next_item(manual.progress) is None and _is_overtaken(manual)
    )
    chosen = CheckpointChosen(number=number, is_overtaken=is_overtaken)
    state, ready = manual.choose(chosen)
    message_id = manual.store_records(ready.records)
    for act in ready.acts:
        if isinstance(act, r.ReworkPiece):
            manual.keep_rework(state, act)
            return _begun(manual.read_anew(), number)
        if isinstance(act, r.Verify):
            return state, act.check
    raise EvidenceMissing(
        task_id=manual.claim.task_id,
        missing=f"its context comes first: the conductor is warned by message {message_id}",
        remedy=f"`musician wait {manual.claim.task_id}`, then do as it says",
    )


def _is_overtaken(manual: ManualSession) -> bool:
    """Whether the tree is no longer what was approved, so that it must be submitted again (D28)."""
    try:
        approved_as_it_is(manual.store, manual.claim, manual.tree)
    except EvidenceMissing:
        return True
    return False
