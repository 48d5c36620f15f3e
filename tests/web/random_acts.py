"""Whatever may happen to a project, at random, each by a process that is killed once it has happened.

A program: it reads a line an act, ``ACT TASK SEED``, and forks a process for it. That acts by the verbs that every
surface calls, says its own id and how it went, and waits to be killed. What the task's state does not allow is tried,
too: it must change nothing.
"""

import os
import random
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from musician import service
from musician.project import Project
from musician.protocol.claim import Claim
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.errors import MusicianError
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.remarks import Remark
from musician.protocol.proposals import Draft, ProposalType
from musician.protocol.rules.deviations import Severity
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime import archiving
from musician.runtime.again import retry_task, skip_task
from musician.runtime.takeover import hand_over
from musician.store.rows import TaskRow
from tests.said import evidence, farewell, report, submission

ODD = "Which <b>one</b>?\n\x1b[31m\u202e"
"""What sessions and persons say."""
PLAN = "greeter"
_CONDUCTOR = "a-run"


class Now:
    """One task at this moment, and whoever acts on it."""

    def __init__(self, project: Project, task_id: str, chance: random.Random) -> None:
        self.project, self.store, self.task_id, self.chance = project, project.store, task_id, chance

    @property
    def row(self) -> TaskRow:
        return service.task_row(self.store, self.task_id)

    @property
    def claim(self) -> Claim:
        row = self.row
        return Claim(
            task_id=self.task_id, session_id=row.session_id or "nobody", epoch=max(row.claim_epoch, 1)
        )

    @property
    def where(self) -> tuple[Any, Any, str]:
        return self.project.root, self.store, self.task_id


def claim(now: Now) -> None:
    session_id = f"s{now.row.claim_epoch + 1}-{now.task_id}"
    service.claim(now.store, now.task_id, session_id, settings=Settings())


def note(kind: EntryKind, item: str = "", **more: Any) -> Callable[[Now], None]:
    entry = Entry(kind=kind, item=item, text=ODD, **more)
    return lambda now: service.record(now.store, now.claim, entry)


def submit(kind: MessageType, now: Now) -> None:
    service.submit(
        now.store,
        now.claim,
        submission(kind, ODD),
        verified=evidence(now.chance.choice(("green", "cannot_run"))),
        entries=(Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1"),),
        tree_id="tree",
        changed_files=1,
    )


def go_in_trouble(kind: MessageType, now: Now) -> None:
    service.report(now.store, now.claim, report(kind, ODD), last_error=ODD)


def leave(now: Now) -> None:
    service.exit_task(now.store, now.claim, farewell(now.chance.choice(("context", "released"))), handoff=ODD)


def complete(now: Now) -> None:
    service.complete(now.store, now.claim, report_path="docs/report.md", report=ODD, notice="COMPLETED")


def question(now: Now) -> None:
    service.ask(now.store, now.claim, ODD, Entry(kind=EntryKind.QUESTION, text=ODD))


def judge(verdict: State, now: Now) -> None:
    if now.chance.random() < 0.5:
        service.judge(now.store, now.task_id, verdict, "so be it")
    else:
        said = "" if verdict is State.REVIEW_APPROVED else ODD
        service.judge_as_person(now.store, now.task_id, verdict, said)


def opine(now: Now) -> None:
    for each in service.task_view(now.store, now.task_id).submissions[-1:]:
        opinion = Opinion(judgement=now.chance.choice(list(Judgement)), text=ODD)
        service.keep_opinion(now.store, now.task_id, each.message_id, opinion)


def comment(now: Now) -> None:
    remark = Remark(path="greeter.py", line=1, commit_id="0" * 40, text=ODD)
    service.add_comment(now.store, now.task_id, remark)


def drop_comment(now: Now) -> None:
    drafts = (each for each in service.comments_of(now.store, now.task_id) if each.message_id is None)
    service.drop_comment(now.store, now.task_id, next((each.id for each in drafts), 0))


def answer(now: Now) -> None:
    asked = service.task_view(now.store, now.task_id).question
    service.send(now.store, now.task_id, ODD, question_id=1 if asked is None else asked.id)


def hear(now: Now) -> None:
    for each in service.unread(now.store, now.task_id)[-1:]:
        service.deliver(now.store, now.claim, (each.id,))
        service.acknowledge(now.store, now.claim, each.id)


def ask_person(now: Now) -> None:
    kind = now.chance.choice(("trouble", "retries", "budget", "conflict", "stopped", "provider"))
    subject_id = now.chance.randrange(1, 3)
    service.ask_human(now.store, now.task_id, kind=kind, subject_id=subject_id, text=ODD)


def propose(now: Now) -> None:
    draft = Draft(type=ProposalType.PATTERN, title="Tabs", body=ODD)
    service.propose(now.store, now.claim, draft, folder="docs/implementation/proposals", taken=())


def decline(now: Now) -> None:
    for each in service.list_proposals(now.store, only_open=True)[:1]:
        service.reject_proposal(now.store, each.row.id, "no")


def retry(now: Now) -> None:
    retry_task(*now.where, now.project.settings, ODD, from_start=now.chance.random() < 0.3)


def skip(now: Now) -> None:
    dependents = now.chance.choice((None, *service.Dependents))
    skip_task(*now.where, ODD, now.project.settings, dependents=dependents)


def conduct(now: Now) -> None:
    service.start_conducting(now.store, _CONDUCTOR, settings=Settings())


def stop_conducting(now: Now) -> None:
    row = service.conductor_row(now.store)
    conducting = service.Conducting(session_id=_CONDUCTOR, epoch=0 if row is None else row.claim_epoch)
    if not service.finish_conducting(now.store, conducting, PLAN):
        service.interrupt_conducting(now.store, conducting)


def archive(now: Now) -> None:
    abandoned = ODD if now.chance.random() < 0.5 else None
    archiving.archive_plan(now.project.root, now.store, PLAN, now.project.settings, abandoned=abandoned)


def restore(now: Now) -> None:
    archiving.restore_plan(now.project.root, now.store, PLAN)


ACTS: Mapping[str, Callable[[Now], object]] = MappingProxyType(
    {
        "claim": claim,
        "start": note(EntryKind.STARTED, "step 1"),
        "done": note(EntryKind.COMPLETED, "step 1"),
        "rest": note(EntryKind.PAUSED),
        "measure": note(EntryKind.NOTE, context_pct=66.0),
        "deviate": note(EntryKind.DEVIATION, severity=Severity.MEDIUM),
        "find": note(EntryKind.FINDING),
        "correct": note(EntryKind.SELF_CORRECTION),
        "question": question,
        "submit": partial(submit, MessageType.REVIEW_REQUEST),
        "finish": partial(submit, MessageType.COMPLETION),
        "fail": partial(go_in_trouble, MessageType.ERROR),
        "warn": partial(go_in_trouble, MessageType.CONTEXT_WARNING),
        "resume": lambda now: service.resume(now.store, now.claim),
        "hear": hear,
        "propose": propose,
        "leave": leave,
        "complete": complete,
        "approve": partial(judge, State.REVIEW_APPROVED),
        "reject": partial(judge, State.REVIEW_FAILED),
        "fix": partial(judge, State.FIX_PROPOSED),
        "opine": opine,
        "comment": comment,
        "drop_comment": drop_comment,
        "answer": answer,
        "send": lambda now: service.send(now.store, now.task_id, ODD),
        "urge": lambda now: service.send(now.store, now.task_id, ODD, urgent=True),
        "pause": lambda now: service.pause(now.store, now.task_id, ODD),
        "go_on": lambda now: service.go_on(now.store, now.task_id),
        "pause_plan": lambda now: service.pause_plan(now.store, PLAN, who=ODD, reason=ODD),
        "resume_plan": lambda now: service.resume_plan(now.store, PLAN, who=ODD),
        "stop": lambda now: service.request_exit(now.store, now.task_id, ODD, urgent=True, hold=True),
        "hand_over": lambda now: hand_over(*now.where, ODD, now.project.settings),
        "withdraw": lambda now: service.withdraw(now.store, now.task_id, ODD),
        "retry": retry,
        "skip": skip,
        "ask_person": ask_person,
        "settle": lambda now: service.resolve_asks(now.store, now.task_id, ODD),
        "decline": decline,
        "conduct": conduct,
        "stop_conducting": stop_conducting,
        "archive": archive,
        "restore": restore,
    }
)
"""By their names; each may be refused."""

_AT_WORK = ("start", "done", "measure", "deviate", "find", "correct", "question", "propose", "hear")
_ENDS = ("submit", "finish", "finish", "fail", "warn", "leave")
_OF_PERSONS = (
    "send",
    "urge",
    "answer",
    "pause",
    "go_on",
    "pause_plan",
    "resume_plan",
    "stop",
    "hand_over",
    "ask_person",
    "settle",
    "skip",
)
_GOES_ON = ("resume", "submit", "finish")

LIKELY: Mapping[State, tuple[str, ...]] = MappingProxyType(
    {
        State.WATCHING: ("claim", "claim", "claim", "resume_plan", "send", "withdraw", "skip"),
        State.WORKING: (*_AT_WORK, *_ENDS, *_ENDS, *_OF_PERSONS, "rest"),
        State.NEEDS_REVIEW: (
            "approve",
            "approve",
            "reject",
            "fix",
            "opine",
            "comment",
            "drop_comment",
            "stop",
        ),
        State.ERROR: ("fix", "reject", "hear", "stop", "retry"),
        State.REVIEW_APPROVED: ("complete", "complete", *_GOES_ON, "retry"),
        State.REVIEW_FAILED: (*_GOES_ON, "hear", "stop"),
        State.FIX_PROPOSED: (*_GOES_ON, "claim", "claim", "skip"),
        State.EXIT_REQUESTED: ("leave", "leave", "send", "claim"),
        State.EXITED: ("hand_over", "retry", "skip", "ask_person", "pause_plan", "resume_plan"),
        State.COMPLETE: ("archive", "archive", "retry", "stop_conducting"),
    }
)
"""What may well happen to a task in this state."""


def act(name: str, task_id: str, seed: str) -> str:
    """Return how it went: ``done``, or what has refused it."""
    try:
        ACTS[name](Now(Project("."), task_id, random.Random(seed)))
    except MusicianError as error:
        return type(error).__name__
    return "done"


def main() -> None:
    for line in sys.stdin:
        if not (child := os.fork()):
            try:
                went = act(*line.split())
            except Exception as error:  # for the test to fail by
                went = f"crashed: {error!r}"
            sys.stdout.write(f"{os.getpid()} {went}\n")
            sys.stdout.flush()
            signal.pause()
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
