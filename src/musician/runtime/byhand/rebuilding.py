"""The engine's state, of a session that no driver remembers: found in the database, at each verb anew (D30).

The journal is what the engine wrote, so a fold over it gives back what it knew. What lives only while something runs
(a subagent's attempts, words that were heard and not acted on) is not there: by hand nothing runs between two verbs.
"""

from collections.abc import Iterable

from musician import service
from musician.protocol.journal import Entry, Kind, Progress
from musician.protocol.musician.program import Check, Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import Mode, MusicianState, Waiting
from musician.protocol.settings import Settings
from musician.protocol.states import State

_REPORTED = {Kind.CONTEXT: Waiting.CONTEXT, Kind.ERROR: Waiting.ERROR}


def rebuilt(
    view: service.TaskView,
    program: Program,
    settings: Settings,
    *,
    epoch: int,
    news: Iterable[Entry] = (),
    is_asking: bool = False,
    used_pct: float | None = None,
    report_path: str = "",
) -> MusicianState:
    """The state of the claim ``epoch``. ``news`` is what the journal has not heard of yet.

    ``is_asking``: a question of the task's is open. ``used_pct`` None is the claim's own last reading: a successor's
    context is a fresh one.
    """
    before = [row for row in view.journal if row.claim_epoch != epoch]
    own = [service.as_entry(row) for row in view.journal if row.claim_epoch == epoch] + list(news)
    entries = [*map(service.as_entry, view.journal), *news]
    progress = Progress().after(entries)
    readings = [entry.context_pct for entry in own if entry.context_pct is not None]
    waiting, current = _waiting(view, own), _current(program, progress, own)
    return MusicianState(
        program=program,
        settings=settings,
        mode=_mode(waiting, is_begun=current is not None, is_asking=is_asking, pauses=bool(view.pause)),
        progress=progress,
        current=current,
        used_pct=used_pct if used_pct is not None or not readings else readings[-1],
        errors=view.error_count,
        retry_limit=view.row.retry_limit,
        report_path=report_path,
        since=Since().after(entries),
        earlier_self_corrections=sum(row.kind == Kind.SELF_CORRECTION for row in before),
        waiting=waiting,
        question_open=is_asking,
        pause=view.pause,
        granted=waiting is not Waiting.CONTEXT and _last(own, Kind.CONTEXT, Kind.APPROVED) is Kind.CONTEXT,
    )


def _last(entries: list[Entry], *kinds: Kind) -> Kind | None:
    return next((entry.kind for entry in reversed(entries) if entry.kind in kinds), None)


def _waiting(view: service.TaskView, own: list[Entry]) -> Waiting | None:
    """What the conductor was told last and has not answered; the row says whether it has."""
    if view.row.state is State.NEEDS_REVIEW:
        return Waiting.SUBMISSION
    if view.row.state is State.ERROR:  # of a wait that timed out the journal has neither
        return _REPORTED.get(_last(own, Kind.SUBMITTED, *_REPORTED) or Kind.ERROR, Waiting.ERROR)
    return None


def _current(program: Program, progress: Progress, own: list[Entry]) -> Play | Check | None:
    """What the claim has begun and not ended, or has submitted; None at a boundary."""
    begun = (Kind.STARTED, Kind.LAUNCHED, Kind.SUBMITTED)
    item = next((entry.item for entry in reversed(own) if entry.kind in begun), "")
    if not item or progress.is_done(item):
        return None
    named = (each for each in program.ahead(progress) if each.item == item)
    made_up = Play(item=item, title="", prose="", scripts=(), step=0, is_agent=" agent " in item)
    return next(named, made_up)


def _mode(waiting: Waiting | None, *, is_begun: bool, is_asking: bool, pauses: bool) -> Mode:
    if waiting is not None:
        return Mode.AWAITING_VERDICT
    if is_begun:
        return Mode.PLAYING
    if is_asking:
        return Mode.AWAITING_ANSWER
    return Mode.PAUSED if pauses else Mode.PLAYING
