"""A checkpoint of a session that is played by hand: committed, verified by the program, and submitted (D14, D16)."""

from functools import partial

from anyio.to_thread import run_sync

from musician import service
from musician.protocol.errors import EvidenceMissing, NotGreen
from musician.protocol.messages.feedback import answer_text, numbered_answers
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.inputs import CheckpointChosen, VerificationEnded
from musician.protocol.musician.program import Check
from musician.protocol.musician.state import MusicianState
from musician.protocol.values import replace
from musician.runtime.belongings import check_alone
from musician.runtime.byhand.hand import Hand
from musician.runtime.checkpoint import Found, run_checkpoint
from musician.runtime.covering import approved_as_it_is
from musician.runtime.heartbeat import beating
from musician.runtime.preparing import prepare_tree
from musician.runtime.tasks import raising_one
from musician.runtime.tasktree import key_outputs


async def submit_checkpoint(
    hand: Hand,
    number: int | None,
    *,
    context_pct: float | None,
    summary: str | None,
    smoothness: int | None,
) -> tuple[Found, int]:
    """Commit what is there, verify it, and submit it: what was found, and the submission's message id.

    ``number`` None is the next one. The agent may call its work rougher than it is scored, not smoother.
    :class:`NotGreen` if the verification is red; that is noted, and nothing is submitted.
    """
    await run_sync(partial(service.beat, hand.store, hand.claim))
    await run_sync(hand.check_undriven)
    await run_sync(lambda: check_alone(hand.store, hand.claim, hand.tree))
    _ = hand.task  # a task nobody can read has no checkpoint to verify
    state, check = await run_sync(partial(_begun, hand, number, context_pct))
    with raising_one():
        async with beating(hand.store, hand.claim, hand.settings):
            await run_sync(partial(hand.tree.keep, f"work for {check.item}", check.title))
            await _set_up(hand)
            found = await _verify(hand, check)
    records = [
        _in_own_words(state, record, summary, smoothness) if isinstance(record, r.Submit) else record
        for record in await _records(hand, state, found)
    ]
    message_id = await run_sync(partial(hand.store_records, records))
    if any(isinstance(record, r.Submit) for record in records):
        return found, message_id or 0
    raise NotGreen(
        task_id=hand.claim.task_id,
        item=check.item,
        found=found.tests,
        failing=found.failing,
        reported=message_id,
        left=any(isinstance(record, r.Leave) for record in records),
    )


def _in_own_words(
    state: MusicianState, record: r.Submit, summary: str | None, smoothness: int | None
) -> r.Submit:
    message = record.message
    score = max(message.smoothness or 0, smoothness or 0)
    return replace(
        record, message=replace(message, smoothness=score, summary=_summary(state, summary, message.summary))
    )


def _summary(state: MusicianState, own: str | None, filled_in: str) -> str:
    """In the session's own words, which may answer what was sent back by its numbers; what they leave is added."""
    since = state.since
    if own is None or not since.points:
        return own or filled_in
    answers = numbered_answers(own)
    if all(number in answers for number in range(1, len(since.points) + 1)):
        return own
    return f"{own}\n{answer_text(since.points, answers, since.mended_in)}"


def _begun(hand: Hand, number: int | None, context_pct: float | None) -> tuple[MusicianState, Check]:
    """The engine's state with the checkpoint that is verified now; a context check goes before it (REF-4, D15)."""
    is_overtaken = number is None and hand.program.next_item(hand.progress) is None and _is_overtaken(hand)
    chosen = CheckpointChosen(number=number, is_overtaken=is_overtaken)
    state, ready = hand.choose(chosen, context_pct)
    message_id = hand.store_records(ready.records)
    for act in ready.acts:
        if isinstance(act, r.Verify):
            return state, act.check
    raise EvidenceMissing(
        task_id=hand.claim.task_id,
        missing=f"its context comes first: the conductor is warned by message {message_id}",
        remedy=f"`musician wait {hand.claim.task_id}`, then do as it says",
    )


def _is_overtaken(hand: Hand) -> bool:
    """Whether what stands approved is no longer what is there: it is submitted again (D28)."""
    try:
        approved_as_it_is(hand.store, hand.claim, hand.tree)
    except EvidenceMissing:
        return True
    return False


async def _set_up(hand: Hand) -> None:
    problem = await prepare_tree(
        hand.task.setup,
        tree=hand.tree.path,
        env=hand.environment("setup"),
        time_limit_s=hand.settings.time.step_limit_s,
        on_process=hand.record_process,
    )
    if problem:
        raise EvidenceMissing(
            task_id=hand.claim.task_id,
            missing=problem,
            remedy="mend the plan's setup command, or what it needs",
        )


async def _verify(hand: Hand, check: Check) -> Found:
    return await run_checkpoint(
        hand.store,
        hand.claim,
        check,
        tree=hand.tree.path,
        tree_id=hand.tree.tree_id,
        start=hand.tree.start,
        baselines=hand.baselines,
        log=hand.log,
        env=hand.environment(check.item),
        settings=hand.settings,
        on_process=hand.record_process,
    )


async def _records(hand: Hand, state: MusicianState, found: Found) -> tuple[r.Record, ...]:
    """What the engine wants stored of a checkpoint."""
    changes = await run_sync(hand.tree.changes)
    ended = VerificationEnded(
        outcome=found.outcome,
        verification_id=found.verification_id,
        tests=found.tests,
        failing=found.failing,
        files_modified=len(changes),
        key_outputs=key_outputs(changes),
        findings=found.result.to_judge(),
    )
    return step(state, ended)[1].records
