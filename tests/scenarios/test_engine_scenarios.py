"""The musician's engine, told what happens line by line, and what it wants stored and done.

Each command is one input of :mod:`musician.protocol.musician.inputs`. What is printed are the records in their order
(a word, what it says, and below it the journal entries that come with it), then the acts (``->``), then the mode.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from musician.protocol.errors import UnexpectedInput
from musician.protocol.journal import Entry, EntryKind, Progress, status_line
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import MusicianState
from musician.protocol.rules.deviations import parse_severity
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.said import evidence

HERE = Path(__file__).parent / "engine"
SCRIPTS = sorted(HERE.glob("*.txt"))
ENDINGS = {each.value: each for each in i.PieceEnding}
OUTCOMES = {"green": Verification.GREEN, "red": Verification.RED, "flaky": Verification.FLAKY}
VERDICTS = {
    "approve": State.REVIEW_APPROVED,
    "reject": State.REVIEW_FAILED,
    "fix": State.FIX_PROPOSED,
}


class Engine:
    """A stage without a world around it."""

    _state: MusicianState

    def __init__(self) -> None:
        self._begin("step 1")

    def write(self, path: str, text: str) -> None:
        raise ValueError(f"the engine reads no files: {path}")

    def play(self, command: str) -> str:
        word, _, rest = command.partition(" ")
        if word == "program":
            self._begin(rest)
            return ""
        try:
            self._state, ready = step(self._state, self._input(word, rest))
        except UnexpectedInput as refusal:
            return f"refused: {refusal.what} while {refusal.mode}"
        told = [line for record in ready.records for line in told_of(record)]
        acts = [f"-> {act_of(act)}" for act in ready.acts]
        return "\n".join([*told, *acts, f"[{self._state.mode}]"])

    def _begin(self, names: str) -> None:
        self._state = MusicianState(program=program_of(names), settings=Settings())
        self._last_message_id = 0

    def _input(self, word: str, rest: str) -> i.Input:
        if word in ENDINGS:
            return i.PieceEnded(item=self._state.item, ending=ENDINGS[word], detail=rest)
        if word in OUTCOMES:
            return _verified(OUTCOMES[word], rest)
        if word in VERDICTS:
            progress, message_id = self._state.progress, self._message_id()
            return i.VerdictArrived(state=VERDICTS[word], text=rest, progress=progress, message_id=message_id)
        first, _, more = rest.partition(" ")
        match word:
            case "start":
                return _started(rest, self._message_id())
            case "context":
                return i.ContextTold(used_pct=float(rest))
            case "deviation":
                return i.DeviationTold(severity=parse_severity(first), text=more)
            case "note" | "urgent":
                return i.MessageArrived(message_id=self._message_id(), text=rest, urgent=word == "urgent")
            case "silence":
                return i.WaitTimedOut(conductor_is_fresh=rest == "fresh")
            case "claim-lost":
                return i.ClaimWasLost()
        made: dict[str, Callable[[], i.Input]] = {
            "self-correction": lambda: i.SelfCorrectionTold(text=rest),
            "question": lambda: i.QuestionTold(text=rest),
            "partial": lambda: i.PartialTold(text=rest),
            "exit-request": lambda: i.ExitWasRequested(text=rest, message_id=self._message_id()),
            "signal": lambda: i.StopAsked(reason=f"interrupted by {rest}"),
        }
        return made[word]()

    def _message_id(self) -> int:
        """The conductor's messages are numbered in the order they come; the first is the instruction."""
        self._last_message_id += 1
        return self._last_message_id


def program_of(names: str) -> Program:
    """``step 1, step 1 agent 1, checkpoint 1, step 2``; the final checkpoint goes without saying."""
    items = [each.strip() for each in names.split(",")]
    checks = sum(each.startswith("checkpoint") for each in items) + 1
    items.append(f"checkpoint {checks}")
    return Program(
        task_id="task-03", title="The task", items=tuple(_item(each, checks=checks) for each in items)
    )


def _item(name: str, *, checks: int) -> Play | CheckpointItem:
    kind, number = name.split()[:2]
    if kind == "step":
        is_agent = "agent" in name
        return Play(item=name, title=name, prose="", scripts=(), step=int(number), is_agent=is_agent)
    final = int(number) == checks
    return CheckpointItem(
        item=name, number=int(number), of=checks, title=name, commands=(), rework=(), final=final
    )


def _started(rest: str, message_id: int) -> i.Started:
    """``done: step 1, checkpoint 1; errors: 4; advice: …; feedback: …``"""
    given = dict(part.split(": ", 1) for part in rest.split("; ")) if rest else {}
    done = [each.strip() for each in given.get("done", "").split(",") if each]
    kinds = {True: EntryKind.APPROVED, False: EntryKind.COMPLETED}
    entries = (Entry(kind=kinds[each.startswith("checkpoint")], item=each) for each in done)
    deviations = int(given.get("deviations", 0))
    left = (
        Entry(kind=EntryKind.DEVIATION, text=f"left open {n}", severity=parse_severity("Low"))
        for n in range(1, deviations + 1)
    )
    return i.Started(
        progress=Progress().after([*entries, *left]),
        errors_so_far=int(given.get("errors", 0)),
        retry_limit=5,
        report_path="docs/implementation/reports/task-03-completion.md",
        advice=given.get("advice", ""),
        since=Since(feedback=given.get("feedback", "")),
        last_message_id=message_id if "advice" in given else 0,
    )


def _verified(outcome: Verification, tests: str) -> i.VerificationEnded:
    said = tests or "all passing"
    return i.VerificationEnded(
        outcome=outcome, verified=evidence(), tests=said, failing=said, files_modified=1, key_outputs=()
    )


# -- what is printed ------------------------------------------------------------------------------------------------


def told_of(record: r.Record) -> Iterator[str]:
    match record:
        case r.Write(entries=entries):
            yield from (f"write   {line}" for entry in entries for line in _lines(entry))
            return
        case r.Submit(message=ReviewRequest() | Completion() as message):
            yield f"submit  {_submitted(message)}"
        case r.ReportProblem(message=ErrorReport() as message):
            word = "remind" if record.is_reminder else "report"
            retry = (
                "no retry" if message.retry is None else f"retry {message.retry.number} of {message.retry.of}"
            )
            yield f"{word}  error, {retry}: {message.error}"
        case r.ReportProblem(message=ContextWarning() as message):
            yield f"report  {_warned(message)}"
        case r.Ask(text=text):
            yield from _block("ask     ", text)
        case r.Resume():
            yield "resume"
        case r.Limit():
            yield f"limited for {record.said_s:g} s"
        case r.Acknowledge(message_id=message_id):
            yield f"ack     message {message_id}"
        case r.ExitClaim():
            yield f"leave   {record.reason}"
            yield f"        last {record.last_completed}, remaining {', '.join(record.remaining) or 'none'}"
        case r.CompleteTask():
            yield "finish"
    yield from (f"        | {line}" for entry in record.entries for line in _lines(entry))


def _lines(entry: Entry) -> list[str]:
    return status_line(entry).split("\n")


def _block(word: str, text: str) -> Iterator[str]:
    first, *others = text.split("\n")
    yield word + first
    yield from (" " * len(word) + line.strip() for line in others)


def _submitted(message: ReviewRequest | Completion) -> str:
    kind = "completion" if isinstance(message, Completion) else "review request"
    checkpoint = message.checkpoint
    number = "" if checkpoint is None else f"{checkpoint.number} of {checkpoint.of}"
    return f"{kind}, checkpoint {number}, smoothness {message.smoothness}, {message.tests}"


def _warned(message: ContextWarning) -> str:
    each, ahead = message.agents_remaining.each_pct, message.to_checkpoint_pct
    way = "unknown" if ahead is None else f"{ahead:.0f}%"
    return (
        f"context warning at {message.context_usage_pct:.0f}%: {message.agents_remaining.count} pieces left"
        f" at {each:.0f}%, {message.agents_that_fit.count} fit, {way} to the checkpoint: {message.recommendation}"
    )


def act_of(act: r.Act) -> str:
    match act:
        case r.PlayPiece():
            attempt = f", attempt {act.attempt}" if act.attempt > 1 else ""
            return f"play {act.play.item}{attempt}" + _told_to("advice", act.advice)
        case r.ReworkPiece():
            return f"{act.item} for {act.check.item}" + _told_to("feedback", act.feedback)
        case r.KeepPiece():
            return f"keep {act.play.item}"
        case r.Verify():
            return f"verify {act.check.item}"
        case r.StopPiece():
            return "stop what runs"
        case r.AwaitLimit():
            return "wait for the provider"
        case r.Release():
            return "release the conversation to a person"
        case r.TakeBack():
            return "take the conversation back"
        case r.Steer():
            return f"say to what runs: {act.text}"
        case r.End():
            return f"end, {act.kind}: {act.reason}"
    raise AssertionError(act)


def _told_to(word: str, text: str) -> str:
    return f", {word}: {text!r}" if text else ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_engine_answers_as_it_is_told(script: Path, play: Callable[[Path, Any], None]) -> None:
    play(script, Engine())


def test_every_worked_example_of_the_sources_is_told_to_the_engine() -> None:
    assert {script.stem for script in SCRIPTS} >= {
        "bootstrap",
        "subagents",
        "checkpoint",
        "rejection",
        "tight-context",
        "resumption",
        "error-recovery",
        "clean-exit",
    }
