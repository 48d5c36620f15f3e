"""Rebuilds the engine's state of a session without a driver from the database, at each verb (D30).

The journal is what the engine wrote, so a fold over it gives back what it knew. State that lives only while
something runs (a subagent's attempts, messages heard and not acted on) is not needed: by hand nothing runs
between two verbs.
"""

from collections.abc import Iterable, Sequence

from musician import service
from musician.protocol.journal import CONDUCTOR_TIMEOUT, Entry, EntryKind, Progress, open_items
from musician.protocol.musician.agreement import Agreement
from musician.protocol.musician.boundary import proposal
from musician.protocol.musician.inputs import VerdictArrived
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.since import IS_RED, Since
from musician.protocol.musician.state import Mode, MusicianState, Waiting
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, WAITING, State
from musician.protocol.values import replace
from musician.runtime.resuming.resumption import submitted_checkpoint, unheard_orders, unheard_verdicts
from musician.store.rows import MessageRow

_REPORTED = frozenset({EntryKind.CONTEXT, EntryKind.ERROR, EntryKind.SUBMITTED})


def rebuilt(
    view: service.TaskView,
    program: Program,
    settings: Settings,
    *,
    epoch: int,
    news: Iterable[Entry] = (),
    has_heard: bool = True,
    is_asking: bool = False,
    used_pct: float | None = None,
    report_path: str = "",
) -> MusicianState:
    """Return the state of the claim ``epoch``. Without ``has_heard`` it has not heard the row's verdict yet.

    ``news`` is what the journal does not have yet. ``is_asking``: a question of the task's is open.
    ``used_pct`` None is the claim's own last reading: a successor's context is a fresh one.
    """
    before = [row for row in view.journal if row.claim_epoch != epoch]
    own = [service.as_entry(row) for row in view.journal if row.claim_epoch == epoch] + list(news)
    entries = [*map(service.as_entry, view.journal), *news]
    readings = [entry.context_pct for entry in own if entry.context_pct is not None]
    begun = [entry.item for entry in open_items(own)]
    state, progress, since = view.row.state, Progress().after(entries), Since().after(entries)
    waiting, agreement = _waiting(view, own, has_heard=has_heard), Agreement().after(own)
    sent_back = "" if since.mended_in else since.feedback
    feedback = sent_back or (IS_RED if since.is_red else "")
    if waiting is Waiting.SUBMISSION:
        current: Play | CheckpointItem | None = submitted_checkpoint(view.submissions[-1], program)
    elif begun:
        current = program.play(begun[-1])
    else:
        current = program.next_item(progress) if feedback or progress.corrections else None
    rebuilt = MusicianState(
        program=program,
        settings=settings,
        mode=Mode.AWAITING_VERDICT if state in WAITING or not has_heard else Mode.CHOOSING,
        progress=progress,
        current=current,
        used_pct=used_pct if used_pct is not None or not readings else readings[-1],
        errors=view.error_count,
        retry_limit=view.row.retry_limit,
        report_path=report_path,
        since=since,
        earlier_self_corrections=sum(row.kind == EntryKind.SELF_CORRECTION for row in before),
        feedback=feedback,
        mended=sum(entry.kind is EntryKind.REWORKED for entry in own),
        waiting=waiting,
        timeouts=int(bool(own) and (own[-1].kind, own[-1].text) == (EntryKind.NOTE, CONDUCTOR_TIMEOUT)),
        question_open=is_asking,
        pause=view.order_to_pause,
        plan_pause="" if view.plan_pause is None else view.plan_pause.text,
        agreement=agreement,
        chooses=True,
        begun=frozenset(begun),
        is_approved=state is State.REVIEW_APPROVED and has_heard,
        leave_reason=agreement.reached,
    )
    if waiting is not Waiting.CONTEXT:
        return rebuilt
    warned_at = next(entry.context_pct for entry in reversed(own) if entry.kind is EntryKind.CONTEXT)
    return replace(rebuilt, proposed_pieces=proposal(replace(rebuilt, used_pct=warned_at)))


def unheard(
    view: service.TaskView, program: Program, said: Sequence[MessageRow]
) -> tuple[tuple[Entry, ...], str | None]:
    """Return the conductor's decisions and orders that the journal lacks, to be recorded with the next write;
    and the text of the row's verdict, which the engine hears when it is acted on; None if there is none or it
    was heard.
    """
    verdicts, answer = unheard_verdicts(view, program), None
    if view.row.state in VERDICTS and view.history:
        last = view.history[-1]
        on_submission = last.from_state is State.NEEDS_REVIEW
        if not on_submission or _is_last(verdicts, view, program):
            answer = next((each.message for each in said if each.id == last.message_id), "")
            verdicts = verdicts[:-1] if on_submission else verdicts
            said = [each for each in said if each.id != last.message_id]
    heard = Progress().after([*map(service.as_entry, view.journal), *verdicts])
    return (*verdicts, *unheard_orders(heard, tuple(said))), answer


def arrived(view: service.TaskView, state: MusicianState, text: str) -> VerdictArrived:
    """Return the row's verdict as an input of the engine."""
    message_id = view.history[-1].message_id or 0
    return VerdictArrived(state=view.row.state, text=text, progress=state.progress, message_id=message_id)


def _is_last(verdicts: tuple[Entry, ...], view: service.TaskView, program: Program) -> bool:
    """Whether the last submission was judged and the verdict was not heard yet."""
    if not verdicts or not view.submissions:
        return False
    return verdicts[-1].item == submitted_checkpoint(view.submissions[-1], program).item


def _waiting(view: service.TaskView, own: list[Entry], *, has_heard: bool) -> Waiting | None:
    """Return what the conductor was told last, if it has not answered or the answer was not heard."""
    state: State | None = view.row.state
    if state in VERDICTS and not has_heard:
        state = view.history[-1].from_state
    if state is State.NEEDS_REVIEW and view.submissions:
        return Waiting.SUBMISSION
    if state is State.ERROR:
        return Waiting.CONTEXT if _last(own) is EntryKind.CONTEXT else Waiting.ERROR
    return None


def _last(own: list[Entry]) -> EntryKind | None:
    return next((entry.kind for entry in reversed(own) if entry.kind in _REPORTED), None)
