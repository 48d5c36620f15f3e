"""Every verb that writes, statement by statement: whole or not at all, again after any fault, message before state.

All verbs are played on one database in which each of them has something to do. The clock stands still, so that what
two plays leave can be compared row by row.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from musician import service
from musician.processes.identity import ProcessIdentity, own_program
from musician.protocol.claim import Claim
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.errors import DatabaseUnusable
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.forecasts import Foreseen, meeting
from musician.protocol.messages.remarks import Remark
from musician.protocol.names import CONDUCTOR
from musician.protocol.policy.forbidden import Act, Refusal
from musician.protocol.proposals import Draft, ProposalType
from musician.protocol.rules.ceilings import Amounts
from musician.protocol.settings import Settings
from musician.protocol.spending import Usage
from musician.protocol.states import State
from musician.protocol.transitions import TABLE
from musician.service import Met, Stop
from musician.store.port import Store
from musician.store.queries.limits import Limits
from musician.store.queries.subagents import SubagentRow
from musician.store.sqlite.store import SqliteStore
from musician.testing.observed_store import COMMIT, failing_at, observed
from musician.testing.simulation.clock import set_clock
from tests.conftest import walk_to
from tests.said import evidence, farewell, report, resumption, submission
from tests.service.conftest import everything
from tests.service.test_plan_verbs import lock, paths, plan, task

PROCESS = ProcessIdentity(pid=9, pgid=9, started_at_s=1.0, boot_id="boot", host="host")
MET = Met(identity=PROCESS, attended=True, hosted=False, source="startup")
CLEARED = Met(identity=PROCESS, attended=True, hosted=False, source="clear")
OTHER = Met(identity=dataclasses.replace(PROCESS, pid=8), attended=True, hosted=False)
LOCKED = plan((task("task-21"), task("task-22")))
AMENDED = plan((task("task-21"), task("task-23")), text="another")
STARTED = Entry(kind=EntryKind.STARTED, item="step 1")
DONE = Entry(kind=EntryKind.COMPLETED, item="step 1", commit_id="c1")
NOTE = Entry(kind=EntryKind.NOTE, text="noted")
STOP = Stop(seen="x", is_continued=False, tool_mark=1, started_s=1.0, now_s=2.0)
ARCHIVES = TemporaryDirectory()
OLD = Path(ARCHIVES.name) / "old.db"
REMARK = Remark(path="a.py", line=1, commit_id="c", text="why?")
OPINION = Opinion(judgement=Judgement.APPROVE, text="fine")


def claim(task_id: str) -> Claim:
    """What its session holds on the stage."""
    return Claim(task_id=task_id, session_id=f"of-{task_id}", epoch=1)


WORKING, SUBMITTED, FREE, APPROVED, LEFT, FAILED, PAUSED, FENCED, SENT_BACK, VERIFIED = (
    f"task-{number:02}" for number in range(1, 11)
)
STAGE: Mapping[str, State] = {
    WORKING: State.WORKING,
    SUBMITTED: State.NEEDS_REVIEW,
    FREE: State.WATCHING,
    APPROVED: State.REVIEW_APPROVED,
    LEFT: State.EXITED,
    FAILED: State.ERROR,
    PAUSED: State.WORKING,
    FENCED: State.WORKING,
    SENT_BACK: State.REVIEW_FAILED,
    VERIFIED: State.WORKING,
}


NEW_CHANGES = """
    SELECT h.from_state, h.to_state, h.message_type, m.seq BETWEEN ?1 + 1 AND s.seq
    FROM changes s JOIN history h ON h.id = s.id
    LEFT JOIN changes m ON m.source = 'message' AND m.id = h.message_id
    WHERE s.source = 'state' AND s.seq > ?1 AND h.task_id <> ?2
"""
"""Of the tasks' states, with the message bound to each, and whether it was written before."""

SAYS = f"""
    INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
    VALUES ('{WORKING}', 'of-{WORKING}', 'question', 'why?')
"""  # noqa: S608


def draft(title: str) -> Draft:
    return Draft(type=ProposalType.ANTI_PATTERN, title=title, body="do not")


def set_the_stage(store: Store) -> None:
    for task_id, state in STAGE.items():
        walk_to(store, task_id, state, session_id=f"of-{task_id}")
    service.record(store, claim(WORKING), STARTED)
    service.meet_client(store, claim(WORKING).session_id, MET)
    service.begin_subagent(store, claim(WORKING), SubagentRow(agent_id="sub", kind="explorer"))
    service.send(store, WORKING, "mind the gap")
    service.add_comment(store, SUBMITTED, REMARK)
    service.send(store, WORKING, "keep off the grass", urgent=True)
    service.pause(store, PAUSED, "for a checkpoint")
    service.fence(store, FENCED, epoch=1)
    lock(store, LOCKED)
    service.ask_human(store, "task-21", kind="trouble", subject_id=1, text="no room")
    service.ask_human(store, WORKING, kind="ruling", subject_id=1, text="may it?")
    for title in ("one", "another"):
        service.propose(store, claim(WORKING), draft(title), folder="proposals", taken=())
    lock(store, plan((task("task-51"),), plan_id="old"))
    service.archive_plan(store, "old", OLD, abandoned="no time")
    lock(store, plan((task("task-61"),), plan_id="still"))
    service.pause_plan(store, "still", who="ada", reason="lunch")
    service.start_conducting(store, "conductor", settings=Settings())
    with store.write() as tx:  # a limit that is over, of the account of all these sessions
        tx.run(Limits.keep_limit, account="", met_at_s=1.0, until_s=2.0, times=1)
    service.begin_conducting(store, "sitting", OTHER, lives=lambda _: False)


CONDUCTING = service.Conducting(session_id="conductor", epoch=1)


def latest_submission(store: Store, task_id: str) -> int:
    (submitted,) = (
        each for each in service.history_of(store, task_id) if each.to_state is State.NEEDS_REVIEW
    )
    assert submitted.message_id is not None
    return submitted.message_id


# fmt: off
VERBS: Mapping[str, Callable[[Store], object]] = {
    "accept_proposal": lambda s: service.accept_proposal(s, 1, lambda kept: "landed.md"),
    "acknowledge": lambda s: service.acknowledge(s, claim(WORKING), service.messages_of(s, WORKING)[-1].id),
    "amend_plan": lambda s: service.amend_plan(s, AMENDED, instructions=paths(AMENDED), withdrawn=("task-22",)),
    "announce": lambda s: service.announce(s, claim(WORKING), resumption(), NOTE),
    "archive_plan": lambda s: service.archive_plan(s, LOCKED.plan_id, Path(f"{s.name}-away"), abandoned="no time"),
    "ask": lambda s: service.ask(s, claim(WORKING), "left or right?", NOTE),
    "ask_human": lambda s: service.ask_human(s, SUBMITTED, kind="ruling", subject_id=7, text="may it?"),
    "beat": lambda s: service.beat(s, claim(WORKING)),
    "beat_conductor": lambda s: service.beat_conductor(s, CONDUCTING),
    "begin_piece": lambda s: service.begin_piece(s, claim(WORKING), "step 2", tip="c", outside=""),
    "begin_subagent": lambda s: service.begin_subagent(s, claim(WORKING), SubagentRow(agent_id="b", kind="k")),
    "block_claim": lambda s: service.block_claim(s, WORKING, "late", "it is taken"),
    "claim": lambda s: service.claim(s, FREE, "new", settings=Settings()),
    "complete": lambda s: service.complete(s, claim(APPROVED), report_path="r.md", report="all", notice="done"),
    "count_stop": lambda s: service.count_stop(s, claim(WORKING).session_id, STOP),
    "deliver": lambda s: service.deliver(s, claim(WORKING), (service.messages_of(s, WORKING)[-1].id,)),
    "describe_session": lambda s: service.describe_session(s, claim(WORKING), agent="shell"),
    "end_client": lambda s: service.end_client(s, claim(WORKING).session_id, reason="other"),
    "end_subagent": lambda s: service.end_subagent(s, "sub"),
    "execute": lambda s: service.execute(s, claim(WORKING).session_id, SAYS),
    "exit_task": lambda s: service.exit_task(s, claim(WORKING), farewell(), handoff="go on", entries=(NOTE,)),
    "fence": lambda s: service.fence(s, WORKING, epoch=1),
    "finish_conducting": lambda s: service.finish_conducting(s, CONDUCTING, LOCKED.plan_id),
    "drop_plan": lambda s: service.drop_plan(s, "old"),
    "forget_dropped": lambda s: service.forget_dropped(s, "old"),
    "go_on": lambda s: service.go_on(s, PAUSED),
    "send_and_grant": lambda s: service.send(s, FAILED, "go on", retries=2, more=Amounts(cost_usd=2.0)),
    "hand_over": lambda s: service.hand_over(s, LEFT, "go on"),
    "interrupt_conducting": lambda s: service.interrupt_conducting(s, CONDUCTING),
    "judge": lambda s: service.judge(s, SUBMITTED, State.REVIEW_APPROVED, "well done"),
    "judge_as_person": lambda s: service.judge_as_person(s, SUBMITTED, State.REVIEW_FAILED, "not yet"),
    "keep_baseline": lambda s: service.keep_baseline(s, "c0", setup="", command="make", result="{}"),
    "keep_conversation": lambda s: service.keep_conversation(s, claim(WORKING), "token"),
    "record_usage": lambda s: service.record_usage(s, claim(WORKING), "step 1", Usage(model="m", input_tokens=1)),
    "leave_to_ask": lambda s: service.leave_to_ask(s, "", "new"),
    "prove": lambda s: service.prove(s, ""),
    "record_playtime": lambda s: service.record_playtime(s, claim(WORKING), 1.5),
    "foretell": lambda s: service.foretell(s, WORKING, Foreseen(conflicts=(meeting("task-02", ("a.py",)),))),
    "keep_opinion": lambda s: service.keep_opinion(s, SUBMITTED, latest_submission(s, SUBMITTED), OPINION),
    "keep_settings": lambda s: service.keep_settings(s, Settings()),
    "leave_handoff": lambda s: service.leave_handoff(s, claim(WORKING), path="h", handoff="so far"),
    "add_comment": lambda s: service.add_comment(s, SUBMITTED, REMARK),
    "drop_comment": lambda s: service.drop_comment(s, SUBMITTED, 1),
    "judge_with_comments": lambda s: service.judge_as_person(s, SUBMITTED, State.REVIEW_FAILED),
    "allow_stop": lambda s: service.allow_stop(s, claim(WORKING), "it stands still"),
    "leave_conducting": lambda s: service.leave_conducting(s, "sitting"),
    "begin_conducting": lambda s: service.begin_conducting(s, "next", MET, lives=lambda _: False),
    "tell_conductor_session": lambda s: service.tell_conductor_session(s, "sitting", ("a review",)),
    "lift": lambda s: service.lift(s, claim(WORKING), NOTE),
    "limit": lambda s: service.limit(s, claim(WORKING), NOTE, said_s=60.0, own_s=1.0),
    "limit_account": lambda s: service.limit_account(s, "", said_s=60.0, own_s=1.0),
    "refuse_account": lambda s: service.refuse_account(s, "", WORKING, "no credit"),
    "refuse": lambda s: service.refuse(s, claim(WORKING), "no credit", NOTE),
    "pause_plan": lambda s: service.pause_plan(s, LOCKED.plan_id, who="ada", reason="lunch"),
    "resume_plan": lambda s: service.resume_plan(s, "still", who="ada"),
    "lock_plan": lambda s: lock(s, plan((task("task-31"),), plan_id="second")),
    "measure_context": lambda s: service.measure_context(s, claim(WORKING), 12.5),
    "meet_client": lambda s: service.meet_client(s, claim(SUBMITTED).session_id, MET),
    "merge_proposal": lambda s: service.merge_proposal(s, 1, 2),
    "note_client_failure": lambda s: service.note_client_failure(s, claim(WORKING).session_id, "no answer"),
    "note_refusal": lambda s: service.note_refusal(s, claim(WORKING), Refusal(act=Act.PUSH, what="git push")),
    "open_task": lambda s: service.open_task(s, "task-41", title="t", instruction_path="p.md"),
    "pause": lambda s: service.pause(s, WORKING, "for a checkpoint"),
    "propose": lambda s: service.propose(s, claim(WORKING), draft("third"), folder="proposals", taken=()),
    "rebind": lambda s: service.rebind(s, "cleared", CLEARED),
    "record": lambda s: service.record(s, claim(WORKING), DONE),
    "record_verified": lambda s: service.record(s, claim(WORKING), DONE, verified=evidence("red")),
    "record_process": lambda s: service.record_process(s, claim(WORKING), "agent", PROCESS),
    "register_program": lambda s: service.register_program(s, WORKING, 1, own_program()),
    "reject_proposal": lambda s: service.reject_proposal(s, 1, "no"),
    "reopen": lambda s: service.reopen(s, LEFT),
    "report": lambda s: service.report(s, claim(WORKING), report(), last_error="it", entries=(NOTE,),
                                       document=("report.md", "how")),
    "nudge": lambda s: service.nudge(s, WORKING),
    "request_exit": lambda s: service.request_exit(s, WORKING, "leave", urgent=True),
    "resolve_asks": lambda s: service.resolve_asks(s, WORKING, "it may"),
    "restore_plan": lambda s: service.restore_plan(s, "old", OLD),
    "resume": lambda s: service.resume(s, claim(SENT_BACK), NOTE),
    "retry": lambda s: service.retry(s, LEFT, "once more", from_start=True, patience=9),
    "skip": lambda s: service.skip(s, FREE, "no need"),
    "retry_troubles": lambda s: service.retry_troubles(s, LOCKED.plan_id),
    "send": lambda s: service.send(s, WORKING, "look out", urgent=True, grants=(Act.PUSH,)),
    "start_conducting": lambda s: service.start_conducting(s, "next", settings=Settings()),
    "submit": lambda s: service.submit(s, claim(VERIFIED), submission(), verified=evidence(), entries=(NOTE,),
                                       commit_id="c", tree_id="t", changed_files=1),
    "take_over": lambda s: service.take_over(s, FENCED, "go on", reason="died", handoff=("h", "as far as seen")),
    "tell_conductor": lambda s: service.tell_conductor(s, claim(WORKING).session_id, "by the way"),
    "warn_client": lambda s: service.warn_client(s, claim(WORKING).session_id, 50.0),
    "withdraw": lambda s: service.withdraw(s, FREE, "not needed"),
}
# fmt: on


@pytest.fixture(scope="module")
def staged() -> Iterator[bytes]:
    """The stage as a database file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "comms.db"
        store = SqliteStore.create(path)
        set_clock(store.connection, lambda: 0.0)
        set_the_stage(store)
        store.close()
        yield path.read_bytes()


@pytest.fixture
def stages(staged: bytes, tmp_path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """Each call sets the same stage anew."""
    stores: list[SqliteStore] = []

    def one() -> SqliteStore:
        path = tmp_path / f"{len(stores)}.db"
        path.write_bytes(staged)
        stores.append(SqliteStore.open(path))
        set_clock(stores[-1].connection, lambda: 60.0)
        return stores[-1]

    yield one
    for store in stores:
        store.close()


def test_every_verb_that_writes_is_played_here() -> None:
    """PROOF-12."""
    writing = {
        name
        for name in vars(service)["__all__"]
        if inspect.isfunction(verb := getattr(service, name)) and ".write()" in inspect.getsource(verb)
    }
    assert writing <= VERBS.keys()


def try_with_faults(stages: Callable[[], SqliteStore], verb: Callable[[Store], object]) -> None:
    """Play it with a fault at each of its statements in turn, then without."""
    smooth, names = stages(), list[str]()
    verb(observed(smooth, names.append))
    rough = stages()
    before = everything(rough)
    for number, name in enumerate(names):
        with pytest.raises(DatabaseUnusable, match="no room for"):
            verb(observed(rough, failing_at(number)))
        assert everything(rough) == before, name
    verb(rough)
    assert everything(rough) == everything(smooth)
    assert names.count(COMMIT) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_fault_at_any_statement_leaves_nothing_and_the_verb_can_be_said_again(
    stages: Callable[[], SqliteStore], verb: str
) -> None:
    """PROOF-12: whichever statement finds the disk full, the commit among them."""
    try_with_faults(stages, VERBS[verb])


def test_a_verb_in_two_transactions_would_be_found(stages: Callable[[], SqliteStore]) -> None:
    """PROOF-12: a proof that could not fail would be none."""

    def twice(store: Store) -> None:
        for text in ("first", "second"):
            service.send(store, WORKING, text)

    with pytest.raises(AssertionError):
        try_with_faults(stages, twice)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_writes_its_message_before_the_state(stages: Callable[[], SqliteStore], verb: str) -> None:
    """D5.1, PROOF-12: the message first, and wherever the table wants one there is one."""
    store = stages()
    last = service.newest_seq(store)
    VERBS[verb](store)
    rows = store.connection.execute(NEW_CHANGES, (last, CONDUCTOR)).fetchall()
    for source, target, message_type, is_before in rows:
        wanted = {
            kind for row in TABLE if (row.source, row.target) == (source, target) for kind in row.messages
        }
        assert is_before == (1 if wanted else None), (source, target)
        assert message_type in wanted or not (wanted or message_type)


STATEMENTS = {"record": 3, "begin_piece": 3, "beat": 2, "claim": 6, "submit": 8, "judge": 6, "complete": 8}
"""Of the transactions that a task is made of, the commit among them. Each costs some 20 microseconds of every step."""


@pytest.mark.parametrize("verb", STATEMENTS)
def test_a_verb_says_no_more_than_it_must(stages: Callable[[], SqliteStore], verb: str) -> None:
    """PROOF-12."""
    names: list[str] = []
    VERBS[verb](observed(stages(), names.append))
    assert len(names) == STATEMENTS[verb], names
