"""The engine's state, of a session that no driver remembers: found in the database, at each verb anew (D30).

The journal is what the engine wrote, so a fold over it gives back what it knew. What lives only while something runs
(a subagent's attempts, words that were heard and not acted on) is not there: by hand nothing runs between two verbs.
"""

from collections.abc import Iterable

from musician import service
from musician.protocol.journal import CONDUCTOR_TIMEOUT, Entry, EntryKind, Progress
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import Mode, MusicianState, Waiting
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, WAITING, State
from musician.store.rows import MessageRow

_TOLD = {
    EntryKind.CONTEXT: Waiting.CONTEXT,
    EntryKind.ERROR: Waiting.ERROR,
    EntryKind.SUBMITTED: Waiting.SUBMISSION,
}
_BEGINNINGS = frozenset({EntryKind.STARTED, EntryKind.LAUNCHED, EntryKind.SUBMITTED})
_ENDS = frozenset(
    {EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.RECONCILED, EntryKind.SKIPPED, EntryKind.APPROVED}
)


def rebuilt(
    view: service.TaskView,
    program: Program,
    settings: Settings,
    *,
    epoch: int,
    news: Iterable[Entry] = (),
    said: Iterable[MessageRow] = (),
    is_asking: bool = False,
    used_pct: float | None = None,
    report_path: str = "",
) -> MusicianState:
    """The state of the claim ``epoch``. ``news`` is what the journal has not heard of yet, ``said`` all messages.

    ``is_asking``: a question of the task's is open. ``used_pct`` None is the claim's own last reading: a successor's
    context is a fresh one.
    """
    before = [row for row in view.journal if row.claim_epoch != epoch]
    own = [service.as_entry(row) for row in view.journal if row.claim_epoch == epoch] + list(news)
    entries = [*map(service.as_entry, view.journal), *news]
    readings = [entry.context_pct for entry in own if entry.context_pct is not None]
    state, begun = view.row.state, _begun(own)
    waiting, answer = _waiting(state, own), _answer(view, said)
    warned = _last(own, EntryKind.CONTEXT, EntryKind.APPROVED) if waiting is not Waiting.CONTEXT else None
    return MusicianState(
        program=program,
        settings=settings,
        mode=Mode.AWAITING_VERDICT if state in WAITING else Mode.CHOOSING,
        progress=Progress().after(entries),
        current=_named(program, begun[-1]) if begun else None,
        used_pct=used_pct if used_pct is not None or not readings else readings[-1],
        errors=view.error_count,
        retry_limit=view.row.retry_limit,
        report_path=report_path,
        since=Since().after(entries),
        earlier_self_corrections=sum(row.kind == EntryKind.SELF_CORRECTION for row in before),
        waiting=waiting,
        timeouts=int(bool(own) and (own[-1].kind, own[-1].text) == (EntryKind.NOTE, CONDUCTOR_TIMEOUT)),
        question_open=is_asking,
        pause=view.pause,
        granted=warned is EntryKind.CONTEXT or (waiting is Waiting.CONTEXT and answer is not None),
        chooses=True,
        begun=frozenset(begun),
        answer=answer,
        leave_reason=_leave_reason(state, waiting, own),
    )


def _last(entries: list[Entry], *kinds: EntryKind) -> EntryKind | None:
    return next((entry.kind for entry in reversed(entries) if entry.kind in kinds), None)


def _waiting(state: State, own: list[Entry]) -> Waiting | None:
    """What the conductor was told last, while it has not answered or the answer is not acted on."""
    if state is State.NEEDS_REVIEW:
        return Waiting.SUBMISSION
    if state is State.ERROR or state in VERDICTS:  # of a wait that timed out the journal has neither
        return _TOLD.get(_last(own, *_TOLD) or EntryKind.ERROR, Waiting.ERROR)
    return None


def _answer(view: service.TaskView, said: Iterable[MessageRow]) -> str | None:
    """The verdict that the session has not gone back to work after; the row's state says that there is one."""
    if view.row.state not in VERDICTS:
        return None
    answer_ids = {change.message_id for change in view.history[-1:]}
    return next((message.message for message in said if message.id in answer_ids), "")


def _leave_reason(state: State, waiting: Waiting | None, own: list[Entry]) -> str:
    """What was agreed of its context, and has come (D15)."""
    if waiting is Waiting.CONTEXT:
        return "the conductor has decided on a handoff now" if state is State.REVIEW_FAILED else ""
    agreed = any(entry.kind is EntryKind.CONTEXT for entry in own)
    reached = agreed and _last(own, EntryKind.CONTEXT, EntryKind.APPROVED) is EntryKind.APPROVED
    return "a handoff at this checkpoint was agreed" if reached else ""


def _begun(own: list[Entry]) -> list[str]:
    """What the claim has begun and not ended, or has submitted, in this order; empty at a boundary."""
    begun: list[str] = []
    for entry in own:
        if entry.kind in _BEGINNINGS or entry.kind in _ENDS:
            begun = [item for item in begun if item != entry.item]
        if entry.kind in _BEGINNINGS:
            begun.append(entry.item)
    return begun


def _named(program: Program, item: str) -> Play | CheckpointItem:
    return next((each for each in program.items if each.item == item), program.play(item))
