"""The musician: one session playing one task, without doing anything itself.

Theory. The engine is told what happened (``inputs``) and says what must be stored and then done (``ready``). It
reads no clock and makes no ids; the same inputs give the same outputs. It is in one :class:`Mode` at a time, and
``_ACCEPTS`` says which inputs a mode takes: any other raises :class:`UnexpectedInput` and changes nothing.

Rules it keeps for every agent:

- Items are played in document order, each once; what is written down as done is never played again.
- Context is weighed at every boundary before a checkpoint is verified (REF-4); from ``exit_from_pct`` on the
  piece is stopped at once (D15).
- A checkpoint is verified by the program; a red one is mended by the agent before anybody reviews it (D16).
- Whatever goes to the conductor is answered before anything else is played (D11).
- Stopping: a running piece is stopped first, its work is set aside by the driver, and only then comes the
  terminal record, which is the last one (D1). A session that waits for a verdict ends without one: the
  submission stays, and so will its verdict (D7).
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from musician.protocol import inputs as i
from musician.protocol import ready as r
from musician.protocol.budget import WARNING_STANCES, Stance, average_agent_cost, evaluate, project
from musician.protocol.delegation import Failure, NextAttempt, next_attempt
from musician.protocol.deviations import Severity
from musician.protocol.errors import UnexpectedInput
from musician.protocol.journal import Entry, Kind, Progress
from musician.protocol.program import Check, Play, Program
from musician.protocol.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.writing import context_warning, error_report, leaving, submission

__all__ = ["MOST_REWORKS", "Mode", "MusicianState", "step"]

MOST_REWORKS = 3
"""A checkpoint that is still red after so many mendings in a row is an error for the conductor."""


class Mode(StrEnum):
    NEW = "new"
    PLAYING = "playing"
    REWORKING = "reworking"
    VERIFYING = "verifying"
    AWAITING_VERDICT = "awaiting verdict"
    AWAITING_ANSWER = "awaiting answer"
    STOPPING = "stopping"
    ENDED = "ended"


class Waiting(StrEnum):
    """What the conductor was told last, while it has not answered."""

    SUBMISSION = "submission"
    ERROR = "error"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """Counted since the last submission on the checkpoint: what makes its path rough (D14)."""

    failed_verifications: int = 0
    errors: int = 0
    agent_retries: int = 0
    self_corrected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MusicianState:
    """Everything the engine remembers."""

    program: Program
    settings: Settings
    mode: Mode = Mode.NEW
    progress: Progress = field(default_factory=Progress)
    current: Play | Check | None = None
    used_pct: float | None = None
    used_at_launch_pct: float | None = None
    errors: int = 0
    retry_limit: int = 5
    report_path: str = ""
    since: Since = field(default_factory=Since)
    failures: tuple[Failure, ...] = ()
    advice: tuple[str, ...] = ()
    reworks: int = 0
    rework_item: str = ""
    waiting: Waiting | None = None
    timeouts: int = 0
    question_open: bool = False
    granted: bool = False
    """The conductor has answered a context warning: only ``exit_from_pct`` ends it before the checkpoint."""
    hand_off_at_checkpoint: bool = False
    leave_reason: str = ""
    """Set as soon as the session is to end; it leaves at the next boundary."""
    acknowledge_id: int = 0

    @property
    def self_corrected(self) -> bool:
        return bool(self.progress.self_corrections)


_BUSY = frozenset({Mode.PLAYING, Mode.REWORKING, Mode.VERIFYING})
_ALIVE = frozenset(Mode) - {Mode.ENDED}
_ACCEPTS: dict[type[object], frozenset[Mode]] = {
    i.Started: frozenset({Mode.NEW}),
    i.PieceEnded: _BUSY | {Mode.STOPPING},
    i.VerificationEnded: frozenset({Mode.VERIFYING, Mode.STOPPING}),
    i.ContextTold: _ALIVE,
    i.DeviationTold: _BUSY | {Mode.STOPPING},
    i.SelfCorrectionTold: _BUSY | {Mode.STOPPING},
    i.QuestionTold: _BUSY | {Mode.STOPPING},
    i.PartialTold: _BUSY | {Mode.STOPPING},
    i.VerdictArrived: frozenset({Mode.AWAITING_VERDICT}),
    i.MessageArrived: _ALIVE - {Mode.NEW},
    i.ExitWasRequested: _ALIVE - {Mode.NEW},
    i.WaitTimedOut: frozenset({Mode.AWAITING_VERDICT}),
    i.StopAsked: _ALIVE,
    i.ClaimWasLost: _ALIVE,
}


def step(state: MusicianState, given: i.Input) -> tuple[MusicianState, r.Ready]:
    """Take one input. The records of the answer are stored before its acts are begun."""
    if state.mode not in _ACCEPTS[type(given)]:
        raise UnexpectedInput(what=type(given).__name__, mode=state.mode)
    turn = _Turn(state)
    turn.take(given)
    return turn.state, r.Ready(records=tuple(turn.records), acts=tuple(turn.acts))


class _Turn:
    """One step being decided: a copy of the state, and what will be given back."""

    def __init__(self, state: MusicianState) -> None:
        self.state = state
        self.records: list[r.Record] = []
        self.acts: list[r.Act] = []

    def take(self, given: i.Input) -> None:
        match given:
            case i.Started():
                self._start(given)
            case i.PieceEnded():
                self._piece_ended(given)
            case i.VerificationEnded():
                self._verified(given)
            case i.VerdictArrived():
                self._judged(given)
            case i.MessageArrived():
                self._message(given)
            case i.ExitWasRequested():
                self._leave_soon("conductor requested", at_once=False)
            case i.StopAsked():
                self._stop(given.reason)
            case i.ClaimWasLost():
                self._lost()
            case i.WaitTimedOut():
                self._timed_out(given)
            case _:
                self._told(given)

    # -- helpers ----------------------------------------------------------------------------------------------

    def _set(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def _entry(self, kind: Kind, item: str = "", text: str = "", **more: object) -> Entry:
        entry = Entry(kind=kind, item=item, text=text, context_pct=self.state.used_pct, **more)  # type: ignore[arg-type]
        self._set(progress=self.state.progress.after([entry]))
        return entry

    def _write(self, *entries: Entry) -> None:
        self.records.append(r.Write(entries=entries))

    def _item(self) -> str:
        return "" if self.state.current is None else self.state.current.item

    # -- beginning and going on -------------------------------------------------------------------------------

    def _start(self, given: i.Started) -> None:
        self._set(
            progress=given.progress,
            errors=given.errors_so_far,
            retry_limit=given.retry_limit,
            report_path=given.report_path,
            advice=(given.advice,) if given.advice else (),
        )
        upcoming = self.state.program.next_item(given.progress)
        if given.feedback and isinstance(upcoming, Check):
            self._rework(upcoming, given.feedback)
        else:
            self._go_on()

    def _go_on(self) -> None:
        """At a boundary: what comes next."""
        if self.state.leave_reason:
            self._leave()
        elif self.state.question_open:
            self._acknowledge()
            self._set(mode=Mode.AWAITING_ANSWER)
        elif not self._warn_if_tight():
            self._acknowledge()
            self._next()

    def _next(self) -> None:
        item = self.state.program.next_item(self.state.progress)
        self._set(current=item)
        if item is None:
            self._finish()
        elif isinstance(item, Play):
            self._play(item)
        else:
            self._set(mode=Mode.VERIFYING)
            self.acts.append(r.Verify(check=item))

    def _play(self, item: Play) -> None:
        kind = Kind.LAUNCHED if item.is_agent else Kind.STARTED
        self._write(self._entry(kind, item.item, item.title))
        self.acts.append(
            r.PlayPiece(
                play=item, attempt=len(self.state.failures) + 1, advice="\n\n".join(self.state.advice)
            )
        )
        self._set(mode=Mode.PLAYING, advice=(), used_at_launch_pct=self.state.used_pct)

    def _acknowledge(self) -> None:
        if self.state.acknowledge_id:
            self.records.append(r.Acknowledge(message_id=self.state.acknowledge_id))
            self._set(acknowledge_id=0)

    def _finish(self) -> None:
        self._acknowledge()
        self.records.append(r.Finish(entries=(self._entry(Kind.NOTE, text="task complete"),)))
        self._end(r.EndKind.COMPLETE, "complete")

    def _end(self, kind: r.EndKind, reason: str) -> None:
        self._set(mode=Mode.ENDED)
        self.acts.append(r.End(kind=kind, reason=reason))

    # -- pieces -----------------------------------------------------------------------------------------------

    def _piece_ended(self, given: i.PieceEnded) -> None:
        if self.state.mode is Mode.STOPPING:
            if given.ending is i.PieceEnding.DONE:  # it was done before the stop reached it
                self._note_done(given)
            self._after_stop()
        elif given.ending is i.PieceEnding.DONE:
            self._note_done(given)
            if self.state.rework_item:
                self._set(rework_item="")
                self._reverify()
            else:
                self._go_on()
        else:
            self._piece_failed(given)

    def _note_done(self, given: i.PieceEnded) -> None:
        current = self.state.current
        if self.state.rework_item:
            kind = Kind.REWORKED
        elif isinstance(current, Play) and current.is_agent:
            kind = Kind.RETURNED
            self._note_cost()
        else:
            kind = Kind.COMPLETED
        self._write(self._entry(kind, given.item, given.detail, commit_id=given.commit_id))
        self._set(failures=())

    def _note_cost(self) -> None:
        used, before = self.state.used_pct, self.state.used_at_launch_pct
        if used is not None and before is not None and used >= before:
            costs = (*self.state.progress.agent_costs_pct, used - before)
            self._set(progress=replace(self.state.progress, agent_costs_pct=costs))

    def _reverify(self) -> None:
        check = self.state.current
        assert isinstance(check, Check)  # noqa: S101  # a rework belongs to a checkpoint
        if self.state.leave_reason:
            self._leave()
            return
        self._set(mode=Mode.VERIFYING)
        self.acts.append(r.Verify(check=check))

    def _piece_failed(self, given: i.PieceEnded) -> None:
        self._write(self._entry(Kind.FAILED, given.item, given.detail))
        current = self.state.current
        if isinstance(current, Play) and current.is_agent and self._retry_agent(current, given):
            return
        self._set(failures=(), rework_item="")
        self._report_error(given.item, given.detail)

    def _retry_agent(self, play: Play, given: i.PieceEnded) -> bool:
        """The retry ladder of D19; False once it ends in the conductor's hands."""
        failure = Failure.LOST if given.ending is i.PieceEnding.LOST else Failure.EXPLAINED
        failures = (*self.state.failures, failure)
        following = next_attempt(failures, lines=None, well_defined=False, settings=self.state.settings)
        if following not in (NextAttempt.SAME_PROMPT, NextAttempt.ADJUSTED_PROMPT) or self.state.leave_reason:
            return False
        since = replace(self.state.since, agent_retries=self.state.since.agent_retries + 1)
        adjusted = (given.detail,) if following is NextAttempt.ADJUSTED_PROMPT else ()
        self._set(failures=failures, since=since, advice=(*self.state.advice, *adjusted))
        self._play(play)
        return True

    # -- what an agent tells while it plays -------------------------------------------------------------------

    def _told(self, given: i.Input) -> None:
        item = self.state.rework_item or self._item()
        match given:
            case i.ContextTold(used_pct=used):
                self._measure(used)
            case i.DeviationTold(severity=severity, text=text):
                self._write(self._entry(Kind.DEVIATION, item, text, severity=severity))
            case i.SelfCorrectionTold(text=text):
                self._write(self._entry(Kind.SELF_CORRECTION, item, text))
                self._set(since=replace(self.state.since, self_corrected=True))
            case i.QuestionTold(text=text):
                self.records.append(r.Ask(text=text, entries=(self._entry(Kind.QUESTION, item, text),)))
                self._set(question_open=True)
            case i.PartialTold(text=text):  # accepted as a deviation (D17)
                self._write(
                    self._entry(Kind.PARTIAL, item, text),
                    self._entry(Kind.DEVIATION, item, f"partial: {text}", severity=Severity.LOW),
                )

    def _measure(self, used_pct: float | None) -> None:
        if used_pct is None:
            return  # an impossible reading is unknown and forces nothing; the last one stands
        self._set(used_pct=used_pct)
        if evaluate(used_pct, None, self.state.settings) is Stance.EXIT and not self.state.leave_reason:
            self._leave_soon("context exhaustion", at_once=True)

    # -- context ----------------------------------------------------------------------------------------------

    def _projection(self) -> tuple[float, float | None]:
        """What an agent costs here, and the usage expected at the next checkpoint."""
        progress = self.state.progress
        cost = average_agent_cost(
            progress.agent_costs_pct, self_corrected=self.state.self_corrected, settings=self.state.settings
        )
        pieces = self.state.program.pieces_to_checkpoint(progress)
        return cost, project(self.state.used_pct, pieces, cost)

    def _warn_if_tight(self) -> bool:
        """Report a context warning if the way ahead is too dear; True if the session now waits."""
        if self.state.granted or self.state.program.next_item(self.state.progress) is None:
            return False
        cost_pct, projected_pct = self._projection()
        stance = evaluate(self.state.used_pct, projected_pct, self.state.settings)
        if stance not in WARNING_STANCES:
            return False
        warning = context_warning(self.state, cost_pct=cost_pct, projected_pct=projected_pct)
        entry = self._entry(Kind.CONTEXT, text=f"EVALUATION triggered: {stance.replace('_', ' ')}")
        self._wait_for(Waiting.CONTEXT)
        self.records.append(
            r.Report(message=warning, last_error="context_exhaustion_warning", entries=(entry,))
        )
        return True

    # -- checkpoints ------------------------------------------------------------------------------------------

    def _verified(self, given: i.VerificationEnded) -> None:
        check = self.state.current
        assert isinstance(check, Check)  # noqa: S101  # only a checkpoint is verified
        kind = Kind.NOT_VERIFIED if given.outcome is Verification.RED else Kind.VERIFIED
        entry = self._entry(kind, check.item, given.tests)
        if self.state.mode is Mode.STOPPING:
            self._write(entry)
            self._after_stop()
        elif given.outcome is not Verification.RED:
            self._submit(check, given, entry)
        else:
            self._write(entry)
            self._mend(check, given.failing)

    def _submit(self, check: Check, given: i.VerificationEnded, entry: Entry) -> None:
        submitted = self._entry(Kind.SUBMITTED, check.item)
        message = submission(self.state, check, given)
        self._acknowledge()
        self.records.append(
            r.Submit(message=message, verification_id=given.verification_id, entries=(entry, submitted))
        )
        self._set(since=Since(), reworks=0)
        self._wait_for(Waiting.SUBMISSION)

    def _mend(self, check: Check, feedback: str) -> None:
        since = replace(self.state.since, failed_verifications=self.state.since.failed_verifications + 1)
        self._set(since=since, reworks=self.state.reworks + 1)
        if self.state.leave_reason:
            self._leave()
        elif self.state.reworks > MOST_REWORKS:
            self._set(reworks=0)
            self._report_error(check.item, f"still red after {MOST_REWORKS} mendings: {feedback}")
        else:
            self._rework(check, feedback)

    def _rework(self, check: Check, feedback: str) -> None:
        round_number = self.state.progress.rounds.get(check.item, 0)
        item = f"rework {check.number}.{round_number}.{self.state.reworks}"
        advice = "\n\n".join((feedback, *self.state.advice))
        self._set(mode=Mode.REWORKING, rework_item=item, advice=(), current=check)
        self.acts.append(r.ReworkPiece(check=check, item=item, feedback=advice))

    # -- waiting for the conductor ----------------------------------------------------------------------------

    def _wait_for(self, waiting: Waiting) -> None:
        self._set(mode=Mode.AWAITING_VERDICT, waiting=waiting, timeouts=0)

    def _report_error(self, item: str, detail: str) -> None:
        errors = self.state.errors + 1
        since = replace(self.state.since, errors=self.state.since.errors + 1)
        self._set(errors=errors, since=since)
        if errors >= self.state.retry_limit and not self.state.leave_reason:
            self._set(leave_reason=f"retry exhaustion: {item}: {detail}")
        if self.state.leave_reason:
            self._leave()
            return
        message = error_report(self.state, item=item, detail=detail)
        self._acknowledge()
        self.records.append(
            r.Report(
                message=message,
                last_error=f"{item}: {detail}",
                entries=(self._entry(Kind.ERROR, item, f"{item}: {detail}"),),
            )
        )
        self._wait_for(Waiting.ERROR)

    def _judged(self, given: i.VerdictArrived) -> None:
        waiting = self.state.waiting
        self._set(progress=given.progress, waiting=None, timeouts=0)
        if given.state is State.EXIT_REQUESTED:
            self._leave_soon("conductor requested", at_once=False)
        elif waiting is Waiting.SUBMISSION:
            self._submission_judged(given)
        elif given.state is State.REVIEW_FAILED:  # "do not proceed, prepare handoff now"
            self._set(
                leave_reason=f"conductor requested: {given.text}" if given.text else "conductor requested"
            )
            self._leave()
        else:
            if waiting is Waiting.CONTEXT:
                self._set(granted=True, hand_off_at_checkpoint=True)
            self.records.append(r.Resume(entries=(self._entry(Kind.NOTE, text=f"conductor: {given.text}"),)))
            self._set(advice=(*self.state.advice, given.text) if given.text else self.state.advice)
            self._go_on()

    def _submission_judged(self, given: i.VerdictArrived) -> None:
        check = self.state.current
        assert isinstance(check, Check)  # noqa: S101  # what was submitted is a checkpoint
        if given.state is State.REVIEW_APPROVED:
            entry = self._entry(Kind.APPROVED, check.item, given.text)
            if check.final:
                self._write(entry)
                self._finish()
                return
            self.records.append(r.Resume(entries=(entry,)))
            self._set(granted=False)
            if self.state.hand_off_at_checkpoint and not self.state.leave_reason:
                self._set(leave_reason="context exhaustion (handoff at the checkpoint, as agreed)")
            self._go_on()
        else:
            self.records.append(r.Resume(entries=(self._entry(Kind.SENT_BACK, check.item, given.text),)))
            self._rework(check, given.text)

    def _timed_out(self, given: i.WaitTimedOut) -> None:
        if given.conductor_is_fresh:
            return  # alive but busy: wait on (D11)
        self._set(timeouts=self.state.timeouts + 1)
        if self.state.timeouts > 1:
            self._set(leave_reason="conductor unresponsive")
            self._leave()
            return
        message = error_report(self.state, item="wait", detail="conductor timeout")
        entry = self._entry(Kind.ERROR, "wait", "conductor timeout")
        self.records.append(r.Report(message=message, last_error="conductor timeout", entries=(entry,)))

    def _message(self, given: i.MessageArrived) -> None:
        self._set(
            acknowledge_id=max(self.state.acknowledge_id, given.message_id),
            advice=(*self.state.advice, given.text),
        )
        if self.state.mode is Mode.AWAITING_ANSWER:
            self._set(question_open=False)
            self._go_on()
        elif given.urgent and self.state.mode in _BUSY:
            self._stop_piece()
        elif self.state.mode is Mode.AWAITING_VERDICT:
            self._acknowledge()

    # -- leaving ----------------------------------------------------------------------------------------------

    def _stop_piece(self) -> None:
        self._set(mode=Mode.STOPPING)
        self.acts.append(r.StopPiece())

    def _after_stop(self) -> None:
        self._set(rework_item="", failures=())
        self._go_on()

    def _leave_soon(self, reason: str, *, at_once: bool) -> None:
        if not self.state.leave_reason:
            self._set(leave_reason=reason)
        if self.state.mode in _BUSY:
            if at_once:
                self._stop_piece()
        elif self.state.mode is not Mode.STOPPING:
            self._leave()

    def _stop(self, reason: str) -> None:
        if self.state.mode is Mode.AWAITING_VERDICT and not self.state.leave_reason:
            self._end(r.EndKind.WAITING, reason)
        elif self.state.mode is Mode.NEW:
            self._set(leave_reason=reason)
            self._leave()
        else:
            self._leave_soon(reason, at_once=True)

    def _lost(self) -> None:
        if self.state.mode in _BUSY:
            self.acts.append(r.StopPiece())
        self._end(r.EndKind.LOST, "the claim was taken over")

    def _leave(self) -> None:
        self._acknowledge()
        self.records.append(leaving(self.state))
        self._end(r.EndKind.EXITED, self.state.leave_reason)
