"""What the sessions of a task said and did, in lines as people like to read them.

An agent's words stand as they are. All else is one line, indented: a tool it used, with what it was used for; what was
refused to it and why; a message; what a verification found. A message bears the name of whoever has signed it, a
verdict that of whoever gave it, by the fold that the run's lines and the list of decisions use. Who prints a line makes
it printable.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from threading import Lock

from musician import service
from musician.processes.output import headline, one_line
from musician.processes.transcript import Kind
from musician.reporting.spans import stored_s
from musician.reporting.timeline import decider_of, say_signer
from musician.reporting.transcripts import LATE_S, Event, Reader, Speaker
from musician.service import TaskView
from musician.store.port import Store
from musician.trees.root import Root

_MOST_LINE_CHARS = 160
_MOST_NUMBER = 2**63 - 1
"""That a database has: what a file says may be any."""
CONTEXT_STEP_PCT = 5
"""A smaller change of the context is not worth a line."""

_TOLD = {
    "DeviationTold": "deviation",
    "SelfCorrectionTold": "self-correction",
    "QuestionTold": "asks",
    "PartialTold": "done in part",
    "AnswerTold": "answers a point",
    "ProposalMade": "proposes",
    "GaveUp": "gives up",
    "VerdictGiven": "verdict",
    "DeviationRuled": "accepts point",
    "Replied": "replies",
    "LeftToPerson": "leaves it to a person",
}
_MESSAGES = {
    "MessageArrived": "conductor",
    "ExitWasRequested": "conductor asks for a handoff",
    "PauseAsked": "pause",
    "PauseLifted": "the pause is over",
    "PlanPaused": "pause",
    "PlanResumed": "the pause is over",
    "StopAsked": "to end",
    "ClaimWasLost": "the claim is another's now",
}


class TranscriptLines:
    """Tells a transcript event by event; remembers what needs no second line."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._heading = ""
        self._context_pct = 0.0

    def tell(self, speaker: Speaker, event: Event | None) -> Iterator[str]:
        """Yield the lines of one event; None stands for a session without a transcript."""
        heading = _heading(speaker)
        if heading != self._heading:
            self._heading, self._context_pct = heading, 0.0
            yield heading
        if event is None:
            is_by_hand = speaker.session is not None and speaker.session.agent is None
            why = "opened by hand: its client keeps its own" if is_by_hand else "its file is gone"
            yield f"   no transcript: {why}"
        else:
            yield from self._told(event, speaker.task_id)

    def _told(self, event: Event, task_id: str) -> Iterator[str]:
        said = _Words(event.said)
        match event.kind:
            case Kind.TEXT:
                yield from said["text"].splitlines()
            case Kind.USAGE:
                yield from self._context(event.said.get("used_pct"))
            case Kind.BEGIN:
                again = ", which goes on with its conversation" if event.said.get("goes_on") else ""
                yield f"   {said['agent']}{again}, at {event.at[:19].replace('T', ' ')} UTC"
            case Kind.PROMPT:
                yield f"-- {event.piece}: {said['title']}"
            case Kind.TOOL_USE:
                yield _line(f"[{said['name']}] {said['what']}")
            case Kind.TOOL_RESULT if event.said.get("failed"):
                yield _line(f"  failed: {headline(said['text'])}")
            case Kind.PERMISSION if said["refused"]:
                yield _line(f"  refused: {said['name']}: {said['refused']}")
            case Kind.TOLD:
                what = " ".join(
                    filter(None, map(said.__getitem__, ("severity", "judgement", "number", "text", "title")))
                )
                yield _line(f"{_TOLD.get(said['what'], said['what'])}: {what}")
            case Kind.REMARK | Kind.CUT:
                yield _line(f"musician: {said['text']}")
            case Kind.MESSAGE:
                apart = (self._signer(task_id, event), "urgent" if event.said.get("urgent") else "")
                told = ", ".join(filter(None, apart))
                what = _MESSAGES.get(said["what"], said["what"]) + (f" ({told})" if told else "")
                yield _line(f"{what}: {said['text']}{said['reason']}")
            case Kind.HEARD:
                yield _line("the agent has taken the message in")
            case Kind.VERDICT:
                yield _line(f"{self._judge(task_id, event)}: {said['state']}: {said['text']}")
            case Kind.INTERRUPT:
                yield _line("interrupted")
            case Kind.LIMIT:
                yield _line(
                    f"its provider gives nothing: {said['detail']}" if said["detail"] else "the limit is over"
                )
            case Kind.VERIFICATION:
                yield _line(f"verified, {said['outcome']}: {said['tests']}")
            case Kind.ENDED:
                yield _line(f"{event.piece} {said['ending']}{': ' * bool(said['detail'])}{said['detail']}")
            case Kind.END:
                yield f"== {said['ending']}" + f": {said['reason']}" * (said["reason"] != said["ending"])

    def _judge(self, task_id: str, event: Event) -> str:
        number = _message_id(event)
        by = decider_of(self._store, task_id, number) if number else ""
        return f"conductor ({by})" if by else "conductor"

    def _signer(self, task_id: str, event: Event) -> str:
        number = _message_id(event)
        return say_signer(service.signer_of(self._store, task_id, number)) if number else ""

    def _context(self, pct: object) -> Iterator[str]:
        if isinstance(pct, int | float) and abs(pct - self._context_pct) >= CONTEXT_STEP_PCT:
            self._context_pct = pct
            yield _line(f"context {pct:.0f} %")


class TaskLog:
    """The end of a task's transcripts, for who shows it again and again: what was read is not read anew."""

    def __init__(self, root: Root, store: Store, task_id: str, *, most: int) -> None:
        self._told, self._reader = TranscriptLines(store), Reader(root, task_id)
        self._lines: deque[str] = deque(maxlen=most)
        self._lock = Lock()

    def lines(self, view: TaskView) -> list[str]:
        """Return the newest lines there are."""
        with self._lock:
            self._lines.extend(self.fresh(view))
            return list(self._lines)

    def fresh(self, view: TaskView) -> Iterator[str]:
        """Yield those that were not read before, for who keeps them himself."""
        now_s = stored_s(view.at)
        late = {row.claim_epoch for row in view.sessions if now_s - stored_s(row.started_at) < LATE_S}
        for each in self._reader.fresh(view.sessions, late=late):
            yield from self._told.tell(*each)


def _heading(speaker: Speaker) -> str:
    session = speaker.session
    if session is None:
        return f"== {speaker.asked}: an agent was asked"
    return f"== {session.name} ({session.session_id})"


def _message_id(event: Event) -> int:
    """Return the id of the message an event is of; 0 where it names none that there can be."""
    match event.said.get("message_id"):
        case int(number) if 0 < number <= _MOST_NUMBER:
            return number
    return 0


class _Words:
    """The fields of an event as text, "" where there is none: a file may say anything."""

    def __init__(self, said: Mapping[str, object]) -> None:
        self._said = said

    def __getitem__(self, name: str) -> str:
        return str(self._said.get(name, ""))


def _line(text: str) -> str:
    return f"   {one_line(text, _MOST_LINE_CHARS)}"
