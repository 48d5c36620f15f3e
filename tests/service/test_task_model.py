"""One task, several sessions and a conductor in any order, against a plain dictionary (Hypothesis)."""

import tempfile
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import (
    ClaimBlocked,
    ClaimLost,
    EvidenceMissing,
    IllegalEvent,
    JudgedAlready,
    MusicianError,
    StaleVerdict,
)
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.store.queries.history import History
from musician.store.sqlite.store import SqliteStore
from tests.said import evidence, farewell, submission
from tests.said import report as report_of

TASK = "task-01"
ACTIVE = {
    "working",
    "needs_review",
    "review_approved",
    "review_failed",
    "fix_proposed",
    "error",
    "exit_requested",
}
VERDICTS = {"review_approved", "review_failed", "fix_proposed"}
WAITING = {"needs_review", "error"}

SESSIONS = st.sampled_from(["a", "b", "c"])
KINDS = st.sampled_from([MessageType.REVIEW_REQUEST, MessageType.COMPLETION])
REPORTS = st.sampled_from([MessageType.ERROR, MessageType.CONTEXT_WARNING])


class OneTask(RuleBasedStateMachine):
    """``model`` is the task as a dictionary; every rule does the act and says what it must have come to."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore.create(Path(self.folder.name) / "comms.db")
        service.open_task(self.store, TASK, title="t", instruction_path="a.md")
        self.claims: list[Claim] = []
        self.known_entry_id = 0
        self.waiting_with: int | None = None
        self.older_submissions: list[int] = []
        self.judged: set[int | None] = set()
        self.model: dict[str, object] = {
            "state": "watching",
            "owner": None,
            "epoch": 0,
            "fenced": False,
            "stale": False,
            "is_fresh": True,  # whether no work was done since what was looked at last
            "submission": None,  # the latest one's kind
            "approved": False,  # whether that one is
            "sessions": 0,
            "retries": 0,
        }

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    # What the model says.

    @property
    def state(self) -> str:
        return str(self.model["state"])

    def owns(self, claim: Claim) -> bool:
        return (
            self.state in ACTIVE
            and not self.model["fenced"]
            and (claim.session_id, claim.epoch) == (self.model["owner"], self.model["epoch"])
        )

    def refused(self, act: Callable[[], object], *kinds: type[MusicianError]) -> None:
        changes = len(service.history_of(self.store, TASK))
        with pytest.raises(kinds):
            act()
        assert len(service.history_of(self.store, TASK)) == changes

    def by_owner(
        self,
        claim: Claim,
        act: Callable[[], object],
        *,
        possible: bool,
        refusal: type[MusicianError] = IllegalEvent,
    ) -> bool:
        """Whether the owner's act was done; otherwise that it was refused for the right reason."""
        if not self.owns(claim):
            self.refused(act, ClaimLost)
        elif not possible:
            self.refused(act, refusal)
        else:
            act()
            self.model["stale"] = False
            return True
        return False

    def some_claim(self, data: st.DataObject) -> Claim:
        """The newest more often than an older one."""
        return data.draw(st.one_of(st.just(self.claims[-1]), st.sampled_from(self.claims)))

    # Sessions.

    @rule(session=SESSIONS)
    def try_to_claim(self, session: str) -> None:
        self.claim(session)

    def claim(self, session: str) -> None:
        model = self.model
        lives = model["owner"] is not None and not model["stale"]
        if model["owner"] == session and self.state in ACTIVE - {"exit_requested"} and not model["fenced"]:
            taken = service.claim(self.store, TASK, session, settings=Settings())
            assert (taken.is_new, taken.claim.epoch) == (False, model["epoch"])
            return
        is_open = self.state in {"watching", "fix_proposed", "exit_requested"}
        asked_to_exit = model["owner"] == session and self.state == "exit_requested"
        taken_over = model["fenced"] and model["owner"] is not None
        if not is_open or lives or asked_to_exit or taken_over:
            self.refused(lambda: service.claim(self.store, TASK, session, settings=Settings()), ClaimBlocked)
            return
        taken = service.claim(self.store, TASK, session, settings=Settings())
        model["sessions"] = int(str(model["sessions"])) + 1
        assert taken.number == model["sessions"]
        assert taken.claim.epoch > int(str(model["epoch"]))
        self.claims.append(taken.claim)
        model.update(state="working", owner=session, epoch=taken.claim.epoch, fenced=False, stale=False)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def beat(self, data: st.DataObject) -> None:
        claim = self.some_claim(data)
        self.by_owner(claim, lambda: service.beat(self.store, claim), possible=True)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), works=st.booleans())
    def record(self, data: st.DataObject, works: bool) -> None:
        claim = self.some_claim(data)
        entry = Entry(kind=EntryKind.COMPLETED if works else EntryKind.NOTE, item="step 1")
        done = self.by_owner(claim, lambda: service.record(self.store, claim, entry), possible=True)
        if done and works:
            self.model["is_fresh"] = False

    @rule()
    def begin_to_verify(self) -> None:
        journal = service.journal_of(self.store, TASK)
        self.known_entry_id = journal[-1].id if journal else 0
        self.model["is_fresh"] = True

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), kind=KINDS, green=st.booleans())
    def submit(self, data: st.DataObject, kind: MessageType, green: bool) -> None:
        self.submit_with(self.some_claim(data), kind, green=green)

    def submit_with(self, claim: Claim, kind: MessageType, *, green: bool) -> None:
        legal = self.state in VERDICTS | {"working"}
        proven = green and self.model["is_fresh"] is True
        verified = replace(evidence("green" if green else "red"), known_entry_id=self.known_entry_id)
        sent: list[int] = []
        done = self.by_owner(
            claim,
            lambda: sent.append(service.submit(self.store, claim, submission(kind, "x"), verified=verified)),
            possible=legal and proven,
            refusal=EvidenceMissing if legal else IllegalEvent,
        )
        if done:
            self.older_submissions.append(sent[0])
            self.waiting_with = sent[0]
            self.model.update(state="needs_review", submission=kind, approved=False)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), kind=REPORTS)
    def report(self, data: st.DataObject, kind: MessageType) -> None:
        claim = self.some_claim(data)
        before = self.state
        sent: list[int] = []
        done = self.by_owner(
            claim,
            lambda: sent.append(service.report(self.store, claim, report_of(kind, "x"), last_error="x")),
            possible=before != "exit_requested",
        )
        if done and before != "error":
            self.waiting_with = sent[0]
            self.model["state"] = "error"
            if kind is MessageType.ERROR and before != "needs_review":
                self.model["retries"] = int(str(self.model["retries"])) + 1

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        claim = self.some_claim(data)
        act = partial(service.resume, self.store, claim)
        if self.by_owner(claim, act, possible=self.state in VERDICTS):
            self.model["state"] = "working"

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def exit(self, data: st.DataObject) -> None:
        self.exit_with(self.some_claim(data))

    def exit_with(self, claim: Claim) -> None:
        done = self.by_owner(
            claim,
            lambda: service.exit_task(self.store, claim, farewell("r", path="p"), handoff="h"),
            possible=True,
        )
        if done:
            self.model["state"] = "exited"

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        self.complete_with(self.some_claim(data))

    def complete_with(self, claim: Claim) -> None:
        legal = self.state in {"working", "review_approved"}
        approved = self.model["submission"] == MessageType.COMPLETION and bool(self.model["approved"])
        done = self.by_owner(
            claim,
            lambda: service.complete(self.store, claim, report_path="p", report="r", notice="n"),
            possible=legal and approved,
            refusal=EvidenceMissing if legal else IllegalEvent,
        )
        if done:
            self.model["state"] = "complete"

    @rule(session=SESSIONS, kind=KINDS, verdict=st.sampled_from(sorted(VERDICTS)))
    def go_on(self, session: str, kind: MessageType, verdict: str) -> None:
        """What usually comes next; single steps alone seldom get far."""
        newest = self.claims[-1] if self.claims else None
        if self.model["fenced"] and self.model["owner"] is not None:
            self.take_over()
        elif self.state == "exited":
            self.reopen()
        elif self.state in WAITING:
            self.judge(verdict, stale=False)
        elif newest is None or not self.owns(newest):
            self.claim(session)
        elif self.state == "exit_requested":
            self.exit_with(newest)
        elif self.model["submission"] == MessageType.COMPLETION and self.model["approved"]:
            self.complete_with(newest)
        else:
            self.begin_to_verify()
            self.submit_with(newest, kind, green=True)

    # The conductor, and time.

    @rule(verdict=st.sampled_from(sorted(VERDICTS)), stale=st.booleans())
    def give_a_verdict(self, verdict: str, stale: bool) -> None:
        self.judge(verdict, stale=stale)

    def judge(self, verdict: str, *, stale: bool) -> None:
        older = [each for each in self.older_submissions if each != self.waiting_with]
        judged = older[-1] if stale and older else self.waiting_with
        act = partial(service.judge, self.store, TASK, State(verdict), "x", submission_id=judged)
        if self.state not in WAITING:
            self.refused(act, JudgedAlready if judged in self.judged else IllegalEvent)
        elif judged != self.waiting_with:
            self.refused(act, StaleVerdict)
        else:
            was_submission = self.state == "needs_review"
            act()
            self.judged.add(judged)
            self.model["state"] = verdict
            if was_submission:
                self.model["approved"] = verdict == "review_approved"

    @rule(urgent=st.booleans())
    def request_exit(self, urgent: bool) -> None:
        act = partial(service.request_exit, self.store, TASK, "x", urgent=urgent)
        if self.state not in ACTIVE:
            self.refused(act, IllegalEvent)
        else:
            act()
            self.model["state"] = "exit_requested"

    @rule(behind=st.sampled_from([0, 0, 1]))
    def fence(self, behind: int) -> None:
        epoch = int(str(self.model["epoch"])) - behind
        act = partial(service.fence, self.store, TASK, epoch=epoch)
        if behind or self.model["fenced"]:
            assert act() == self.model["epoch"]
        elif self.state not in ACTIVE:
            self.refused(act, IllegalEvent)
        elif self.model["owner"] is not None:
            self.model.update(epoch=act(), fenced=True)
            assert self.model["epoch"] == epoch + 1

    @rule()
    def try_to_take_over(self) -> None:
        self.take_over()

    def take_over(self) -> None:
        act = partial(service.take_over, self.store, TASK, "x", reason="dead")
        if self.state not in ACTIVE:
            self.refused(act, IllegalEvent)
        elif self.state == "fix_proposed" and self.model["owner"] is None:
            act()
        elif not self.model["fenced"]:
            self.refused(act, EvidenceMissing)
        else:
            act()
            self.model.update(state="fix_proposed", owner=None, stale=False)

    @rule()
    def try_to_reopen(self) -> None:
        self.reopen()

    def reopen(self) -> None:
        act = partial(service.reopen, self.store, TASK, "x")
        if self.state != "exited":
            self.refused(act, IllegalEvent)
        else:
            act()
            self.model.update(state="fix_proposed", owner=None, stale=False, fenced=False)

    @precondition(lambda self: self.model["owner"] is not None and self.state in ACTIVE)
    @rule()
    def nine_minutes_pass(self) -> None:
        self.store.connection.execute(
            "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-541 seconds')"
            " WHERE session_id IS NOT NULL AND task_id = 'task-01'"
        )
        self.model["stale"] = True

    # What always holds.

    @invariant()
    def the_row_is_the_models(self) -> None:
        row = service.task_row(self.store, TASK)
        assert row.state == self.state
        assert row.claim_epoch == self.model["epoch"]
        if self.state != "exited":
            assert row.session_id == self.model["owner"]
        with self.store.read() as tx:
            assert tx.only(History.count_error_reports, task_id=TASK) == self.model["retries"]

    @invariant()
    def the_history_is_a_chain_that_ends_here(self) -> None:
        changes = service.history_of(self.store, TASK)
        assert changes[0].from_state is None
        for before, after in pairwise(changes):
            assert after.from_state == before.to_state
            assert after.claim_epoch >= before.claim_epoch
        assert changes[-1].to_state == self.state

    @invariant()
    def no_two_sessions_live(self) -> None:
        sessions = service.task_view(self.store, TASK).sessions
        living = [session.session_id for session in sessions if session.ended_at is None]
        expected = [self.model["owner"]] if self.state in ACTIVE and self.model["owner"] is not None else []
        assert living == expected


OneTask.TestCase.settings = settings(stateful_step_count=40)
TestOneTask = OneTask.TestCase
