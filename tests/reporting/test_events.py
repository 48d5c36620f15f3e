"""What a run tells: every row once, in order, however often or seldom somebody looks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from musician import service
from musician.cli.run_lines import line_of
from musician.protocol.conductor.opinion import Judgement, Opinion
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import AgentsRemaining, Counted, Nth
from musician.protocol.messages.types import ContextWarning, ErrorReport, Resumption
from musician.protocol.resumption.handoff import ENDED_WAITING
from musician.protocol.rules.deviations import Severity
from musician.protocol.states import State
from musician.reporting.events import Event
from musician.reporting.standing import Standing
from musician.reporting.wording import duration, say_change, say_entry
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.reporting.played import NO, NONE, Play, T, entry, look_at, reporter, submitted
from tests.said import evidence


def told(store: Store, looks: Sequence[Standing]) -> list[Event]:
    teller = reporter(store)
    return [event for look in looks for event in teller.news([look])]


@pytest.fixture
def play(store: Store) -> Play:
    made = Play(store)
    made.open()
    return made


def whole_life(play: Play) -> None:
    """Everything that usually happens to a task, much of it within one second."""
    play.claim("s1")
    play.write(entry(EntryKind.CLAIMED, text="s1"), entry(EntryKind.LOADED, text="docs/i.md"))
    play.write(entry(EntryKind.STARTED, "step 1", "Read the map"))
    play.write(entry(EntryKind.DEVIATION, "step 1", "a short cut", severity=Severity.MEDIUM))
    play.write(entry(EntryKind.COMPLETED, "step 1", context_pct=21))
    play.submit(1, 2)
    play.judge(State.REVIEW_FAILED, "1. undo it")
    play.resume(entry(EntryKind.SENT_BACK, "checkpoint 1", "1. undo it"))
    play.write(entry(EntryKind.REWORKED, "rework 1.1.0", context_pct=30))
    play.submit(1, 2)
    play.judge(State.REVIEW_APPROVED, "Approved.")
    play.resume(entry(EntryKind.APPROVED, "checkpoint 1"), entry(EntryKind.STARTED, "step 2", "Measure"))
    epoch = play.owner.epoch
    service.fence(play.store, T, epoch=epoch)
    play.look()
    service.take_over(play.store, T, "The last session died. It left no unfinished work.", reason="died")
    play.look()
    play.claim("s2")
    play.write(entry(EntryKind.STARTED, "step 2", "Measure"))
    play.write(entry(EntryKind.COMPLETED, "step 2"))
    play.exit("conductor requested")
    service.reopen(play.store, T, "Read the HANDOFF.")
    play.look()
    play.claim("s3")
    play.submit(2, 2)
    play.judge(State.REVIEW_APPROVED, "Approved; merged.")
    play.complete()


LIFE = [
    ("watching", "open: Find the way"),
    ("working", "musician-task-01 claimed it"),
    ("working", "step 1 started: Read the map"),
    ("working", "deviation in step 1 (Medium): a short cut"),
    ("working", "step 1 completed [context 21 %]"),
    ("working", "checkpoint 1 verified: All passing (4 tests)"),
    (
        "needs_review",
        "submitted for review (checkpoint 1 of 2), smoothness 2 of 9",
    ),
    ("review_failed", "sent back: 1. undo it"),
    ("working", "checkpoint 1 reworked [context 30 %]"),
    ("working", "checkpoint 1 verified: All passing (4 tests)"),
    (
        "needs_review",
        "submitted for review (checkpoint 1 of 2), smoothness 2 of 9",
    ),
    ("review_approved", "Approved."),
    ("working", "step 2 started: Measure"),
    (
        "fix_proposed",
        "musician-task-01 died; musician-task-01-S2 takes over. It left no unfinished work.",
    ),
    ("working", "musician-task-01-S2 claimed it, after musician-task-01"),
    ("working", "step 2 begins again"),
    ("working", "step 2 completed"),
    ("exited", "musician-task-01-S2 handed off: conductor requested"),
    ("fix_proposed", "open again: Read the HANDOFF."),
    ("working", "musician-task-01-S3 claimed it, after musician-task-01-S2"),
    ("working", "checkpoint 2 verified: All passing (4 tests)"),
    (
        "needs_review",
        "submitted for completion (checkpoint 2 of 2), smoothness 2 of 9",
    ),
    ("review_approved", "Approved; merged."),
    ("complete", "complete; report in docs/r.md"),
]


def test_a_whole_life_is_told_in_the_order_in_which_it_happened(play: Play) -> None:
    """DATA-8."""
    whole_life(play)
    assert [(event.state, event.text) for event in told(play.store, play.looks)] == LIFE


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    store = SqliteStore.create(tmp_path_factory.mktemp("lived") / "comms.db")
    played = Play(store)
    played.open()
    whole_life(played)
    yield played
    store.close()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_however_many_looks_are_missed_the_story_is_the_same(lived: Play, data: st.DataObject) -> None:
    """DATA-8."""
    seen = data.draw(st.sets(st.integers(1, len(lived.looks) - 2)))
    looks = [0, *sorted(seen), len(lived.looks) - 1]
    events = told(lived.store, [lived.looks[number] for number in looks])
    assert [(event.state, event.text) for event in events] == LIFE


def test_a_look_that_shows_nothing_new_tells_nothing(play: Play) -> None:
    whole_life(play)
    teller = reporter(play.store)
    teller.news(play.looks[:1])
    assert teller.news(play.looks[-1:])
    assert teller.news(play.looks[-1:]) == ()


def test_what_is_out_of_the_ordinary_is_told_once(play: Play) -> None:
    play.claim("s1")
    play.write(
        entry(EntryKind.STARTED, "step 1", context_pct=20.0),
        entry(EntryKind.COMPLETED, "step 1", context_pct=36.0),
    )
    play.write(entry(EntryKind.DEVIATION, "step 2", "otherwise", severity=Severity.HIGH))
    view = play.looks[-1].view
    quiet = [Standing(replace(view, quiet_s=seconds)) for seconds in (299.0, 300.0, 360.0)]
    texts = [event.text for event in told(play.store, [*play.looks, *quiet])]
    assert texts[-4:] == [
        "step 1 completed [context 36 %]",
        "anomaly: context jump from 20 % to 36 %",
        "anomaly: deviation in step 2 (High): otherwise",
        "anomaly: silence for 5 minutes",
    ]


def test_a_run_that_goes_on_begins_with_where_each_task_stands(play: Play) -> None:
    """What an earlier run has told is not told again."""
    whole_life(play)
    first = reporter(play.store).news(play.looks[-1:])
    assert [(event.state, event.text) for event in first] == [
        ("complete", "found so; last played by musician-task-01-S3")
    ]


def test_a_run_that_goes_on_says_what_is_skipped(play: Play) -> None:
    service.skip(play.store, T, "not worth it")
    (event,) = reporter(play.store).news([look_at(play.store)])
    assert event.text == "skipped; last played by nobody"


def test_reports_are_told_with_what_they_say(play: Play) -> None:
    play.claim("s1")
    report = ErrorReport(
        retry=Nth(number=1, of=5), context_usage_pct=None, self_correction=NO, error="it broke", report=None
    )
    kept = (entry(EntryKind.ERROR, "step 1", "it broke"),)
    service.report(play.store, play.owner, report, last_error="x", entries=kept)
    play.look()
    play.judge(State.FIX_PROPOSED, "Play it once more.")
    play.resume(entry(EntryKind.NOTE, text="conductor: Play it once more."))
    warning = ContextWarning(
        context_usage_pct=67,
        self_correction=NO,
        agents_remaining=AgentsRemaining(count=0, each_pct=8, total_pct=0),
        agents_that_fit=Counted(count=0),
        deviations=NONE,
        to_checkpoint_pct=8,
        recommendation="hand off now",
    )
    kept = (entry(EntryKind.CONTEXT, text="EVALUATION triggered"),)
    service.report(play.store, play.owner, warning, last_error="c", entries=kept)
    play.look()
    service.request_exit(play.store, T, "Prepare the handoff now.", urgent=False)
    play.look()
    play.exit("conductor requested")
    assert [(event.state, event.text) for event in told(play.store, play.looks)[2:]] == [
        ("error", "reports an error (1 of 5): it broke"),
        ("fix_proposed", "answered: Play it once more."),
        ("error", "context used 67 %, recommends: hand off now"),
        ("exit_requested", "asked to hand off: Prepare the handoff now."),
        ("exited", "musician-task-01 handed off: conductor requested"),
    ]


def test_who_ended_while_it_waited_is_not_said_to_have_died(play: Play) -> None:
    play.claim("s1")
    play.submit(1, 1)
    service.fence(play.store, T, epoch=play.owner.epoch)
    text = f"The last session {ENDED_WAITING}. It left no unfinished work."
    service.take_over(play.store, T, text, reason=ENDED_WAITING)
    play.look()
    assert told(play.store, play.looks)[-1].text == (
        "musician-task-01 ended while it waited; musician-task-01-S2 takes over. It left no unfinished work."
    )


def test_where_people_start_the_sessions_nobody_takes_over_by_himself(play: Play) -> None:
    """AUDIT-K9: with --jobs 0 the task waits for a session, and the command that is one is named."""
    play.claim("s1")
    service.fence(play.store, T, epoch=play.owner.epoch)
    service.take_over(play.store, T, "The last session died. It left no unfinished work.", reason="died")
    view = service.task_view(play.store, T)
    said = say_change(view.history[-1], view, "", {}, by_hand=True)
    assert said.startswith('musician-task-01 died; it waits for a session: claude "/musician task-01".')


def test_a_question_that_belongs_to_no_step_names_none(play: Play) -> None:
    """AUDIT-N6."""
    play.claim("s1")
    service.ask(play.store, play.owner, "what now?", Entry(kind=EntryKind.QUESTION, text="what now?"))
    view = service.task_view(play.store, T)
    assert say_entry(view.journal[-1]) == "asks: what now?"


def test_what_a_successor_found_is_told(play: Play) -> None:
    play.claim("s1")
    found = Resumption(
        worked_by="musician-task-01-S2",
        previous_session="s0",
        handoff="missing",
        context_usage_pct=None,
        deviations_found=NONE,
        mismatches=Counted(count=0),
        pending_messages=Counted(count=0),
        previous_self_correction=NO,
        assessment="needs verification",
        verification="checkpoint 1: All passing",
        resuming_from="step 2 (Measure)",
    )
    play.write(entry(EntryKind.RESUMED, text=found.render()), entry(EntryKind.RESUMED, text="something else"))
    assert [event.text for event in told(play.store, play.looks)][-1] == (
        "HANDOFF missing; checkpoint 1: All passing; goes on at step 2 (Measure)"
    )


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (entry(EntryKind.LAUNCHED, "step 1 agent 1", "Draw"), "step 1 agent 1 handed to a subagent: Draw"),
        (entry(EntryKind.RETURNED, "step 1 agent 1"), "step 1 agent 1 completed"),
        (entry(EntryKind.FAILED, "step 1", "exit code 1"), "step 1 failed: exit code 1"),
        (entry(EntryKind.SELF_CORRECTION, "step 1", "a slip"), "anomaly: self-correction in step 1: a slip"),
        (entry(EntryKind.PARTIAL, "step 1", "half"), "step 1 done in part: half"),
        (entry(EntryKind.QUESTION, "step 1", "may I?"), "asks in step 1: may I?"),
        (entry(EntryKind.NOT_VERIFIED, "checkpoint 1", "2 failed"), "checkpoint 1 is not green: 2 failed"),
        (entry(EntryKind.SET_ASIDE, text="refs/x"), "unfinished work set aside at refs/x"),
        (entry(EntryKind.RECONCILED, "step 1", "in git"), "step 1 was done already: in git"),
        (entry(EntryKind.STARTED, "step 1"), "step 1 started"),
        (entry(EntryKind.REWORKED, "by hand"), "by hand done"),
    ],
)
def test_an_entry_is_told_in_plain_words(play: Play, written: Entry, text: str) -> None:
    play.claim("s1")
    play.write(written)
    assert [event.text for event in told(play.store, play.looks)][-1] == text


def test_what_cannot_be_read_is_told_as_it_is(play: Play) -> None:
    """A raw writer's submission and report need no form (D6)."""
    play.claim("s1")
    play.say_raw(MessageType.REVIEW_REQUEST, "look please", State.NEEDS_REVIEW)
    play.judge(State.FIX_PROPOSED, "do this")
    play.resume()
    play.say_raw(MessageType.ERROR, "it broke", State.ERROR)
    play.judge(State.REVIEW_APPROVED, "go on then")
    assert [event.text for event in told(play.store, play.looks)[2:]] == [
        "asks for review: look please",
        "answered: do this",
        "reports: it broke",
        "approved: go on then",
    ]


def test_a_submission_tells_what_its_tests_said_where_no_line_before_it_does(play: Play) -> None:
    play.claim("s1")
    message = submitted(1, 2)
    service.submit(play.store, play.owner, message, verified=evidence())
    play.look()
    assert told(play.store, play.looks)[-1].text == (
        "submitted for review (checkpoint 1 of 2): All passing (4 tests), smoothness 2 of 9"
    )


def test_a_session_that_only_knows_sql_is_told_from_its_states(play: Play) -> None:
    """D6: no journal, no session of ours."""
    store = play.store
    assert isinstance(store, SqliteStore)
    store.connection.execute(
        "UPDATE orchestration_tasks SET state = 'working', session_id = 'raw', last_heartbeat = datetime('now')"
        " WHERE task_id = 'task-01'"
    )
    play.look()
    assert [event.text for event in told(store, play.looks)][1:] == ["musician-task-01 claimed it"]


def test_a_task_that_is_withdrawn_is_told(play: Play) -> None:
    service.withdraw(play.store, T, "gone from the plan")
    play.look()
    assert [(event.state, event.text) for event in told(play.store, play.looks)][1:] == [
        ("exited", "withdrawn from the plan")
    ]


def test_what_needs_a_person_is_told_once_with_the_command_that_answers_it(play: Play) -> None:
    service.ask_human(play.store, T, kind="question", subject_id=1, text="may I?")
    play.look()
    play.look()
    service.send(play.store, T, "yes")
    play.look()
    play.look()
    events = told(play.store, play.looks)[1:]
    assert [(event.text, event.needs_person) for event in events] == [
        ('needs a person (question): may I?; next: musician send task-01 "your answer"', True),
        ("it is settled: answered: yes", False),
    ]


def test_what_still_waits_when_a_run_begins_is_told_too(play: Play) -> None:
    service.ask_human(play.store, T, kind="question", subject_id=1, text="may I?")
    play.look()
    assert [event.needs_person for event in reporter(play.store).news(play.looks[-1:])] == [False, True]


def test_a_verdict_that_settles_something_is_told_once(play: Play) -> None:
    play.claim("s1")
    play.submit(1, 2)
    service.ask_human(play.store, T, kind="review", subject_id=1, text="a person reviews this")
    play.look()
    play.judge(State.REVIEW_APPROVED, "Approved.")
    assert [event.text for event in told(play.store, play.looks)][-2:] == [
        "needs a person (review): a person reviews this; next: musician review show task-01",
        "Approved.",
    ]


def test_events_of_all_tasks_are_in_one_line_of_time(store: Store) -> None:
    for number in (1, 2):
        service.open_task(store, f"task-0{number}", title="t", instruction_path="i.md")
    teller = reporter(store)
    looks = [look_at(store, f"task-0{number}") for number in (1, 2)]
    assert [event.task_id for event in teller.news(looks)] == ["task-01", "task-02"]


def test_what_one_second_holds_is_told_in_the_order_of_its_writing(store: Store) -> None:
    """DATA-8: over all tasks, whatever the clock said; and a change of state never before what led to it."""
    plays = [Play(store, task_id=task_id) for task_id in ("task-01", "task-02")]
    for each in plays:
        each.open()
    teller = reporter(store)
    teller.news([look_at(store, each.task_id) for each in plays])
    first, second = plays
    second.claim("s2")
    first.claim("s1")
    first.write(entry(EntryKind.STARTED, "step 1", "Read"))
    second.submit(1, 2)
    first.write(entry(EntryKind.COMPLETED, "step 1"))
    second.judge(State.REVIEW_APPROVED, "Approved.")
    assert isinstance(store, SqliteStore)
    for trigger, table in (("history_fixed", "history"), ("journal_fixed", "journal")):
        store.connection.execute(f"DROP TRIGGER {trigger}")
        store.connection.execute(f"UPDATE {table} SET at = datetime('2126-01-01', -id || ' seconds')")  # noqa: S608
    events = teller.news([look_at(store, each.task_id) for each in plays])
    assert [(event.task_id, event.text) for event in events] == [
        ("task-02", "musician-task-02 claimed it"),
        ("task-01", "musician-task-01 claimed it"),
        ("task-01", "step 1 started: Read"),
        ("task-02", "checkpoint 1 verified: All passing (4 tests)"),
        ("task-02", "submitted for review (checkpoint 1 of 2), smoothness 2 of 9"),
        ("task-01", "step 1 completed"),
        ("task-02", "Approved."),
    ]


def test_what_was_asked_and_settled_between_two_looks_is_told_too(play: Play) -> None:
    """DATA-8."""
    service.ask_human(play.store, T, kind="question", subject_id=1, text="may I?")
    service.send(play.store, T, "yes")
    play.look()
    assert [event.text for event in told(play.store, play.looks)[1:]] == [
        'needs a person (question): may I?; next: musician send task-01 "your answer"',
        "it is settled: answered: yes",
    ]


def test_a_task_that_comes_later_is_told_from_its_beginning(play: Play) -> None:
    teller = reporter(play.store)
    teller.news(play.looks)
    later = Play(play.store, task_id="task-02")
    later.open()
    later.claim("s2")
    play.claim("s1")
    events = teller.news([play.looks[-1], look_at(play.store, "task-02")])
    assert [(event.task_id, event.state, event.text) for event in events] == [
        ("task-02", "watching", "open: Find the way"),
        ("task-02", "working", "musician-task-02 claimed it"),
        ("task-01", "working", "musician-task-01 claimed it"),
    ]


def test_a_line_is_one_line_whatever_somebody_wrote() -> None:
    event = Event(at="2026-01-01 00:00:00", task_id=T, state=State.WORKING, text="\n a\x1b[2Jb\tc\nd")
    line = line_of(event, 7)
    assert line.endswith("task-01  working          a␛[2Jb c …")
    assert line.isprintable()


def test_times_are_local_ones(monkeypatch: pytest.MonkeyPatch, zone_of: Callable[[str], None]) -> None:
    from musician.cli.run_time import local_date, local_time, zone

    zone_of("XXX-05:30")  # as POSIX writes five and a half hours east
    assert local_time("2026-01-01 20:00:00") == "01:30:00"
    assert local_date("2026-01-01 20:00:00") == "2026-01-02"
    assert zone() == "UTC+05:30"
    zone_of("UTC0")
    assert zone() == "UTC"
    assert local_time("yesterday") == "yesterday"
    assert local_date("yesterday") == ""


def test_a_duration_has_hours_where_it_took_some() -> None:
    assert [duration(each) for each in (9.9, 725, 10_809)] == ["0:09", "12:05", "3:00:09"]


@pytest.fixture
def zone_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    import time

    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def test_every_kind_of_question_has_its_commands_and_each_of_them_exists() -> None:
    """The kinds are named where they are asked; a new one without an answer fails here."""
    import re
    import shlex

    import musician
    from musician.cli.main import program
    from musician.reporting.asks import ANSWERS

    source = Path(musician.__file__).parent
    asked = {
        kind
        for name in ("protocol/conductor/engine.py", "runtime/conductor/performing.py", "service/verdicts.py")
        for kind in re.findall(r'kind="([a-z]+)"', (source / name).read_text(encoding="utf-8"))
    }
    assert asked
    assert asked <= set(ANSWERS)
    for answers in ANSWERS.values():
        for command, _ in answers:
            words = shlex.split(command.format(task=T, plan="greeter", more="5usd", file="PLAN.md"))
            if words[0] == "musician":
                with program.make_context("musician", words[1:]) as context:
                    name, found, rest = program.resolve_command(context, words[1:])
                    assert found is not None
                    found.make_context(str(name), list(rest), parent=context).close()


def test_a_step_that_an_urgent_message_stopped_is_told_to_begin_again_and_why(play: Play) -> None:
    """D35.5: two lines that say the same would be read as two steps, or as a fault."""
    play.claim("s1")
    play.write(entry(EntryKind.STARTED, "step 1", "Read the map"))
    service.send(play.store, T, "the other map", urgent=True)
    play.write(entry(EntryKind.STARTED, "step 1", "Read the map"))
    service.request_exit(play.store, T, "Stop now.", urgent=True)
    play.look()
    texts = [event.text for event in told(play.store, play.looks)]
    assert texts[-5:] == [
        "step 1 started: Read the map",
        "told urgently: the other map",
        "step 1 begins again",
        "told urgently: Stop now.",
        "asked to hand off: at once",
    ]


def test_whose_verdict_and_answer_it_was_is_told(play: Play) -> None:
    """DASHBOARD-ORDERS: as where decisions are listed; what the rules decide bears no name."""
    ada = service.signed(play.store, service.Signer(name="ada"))
    session = service.signed(play.store, service.Signer(name="ada", session_id="4f2a"))

    def by_agent(message_id: int) -> None:
        service.keep_opinion(play.store, T, message_id, Opinion(judgement=Judgement.APPROVE, text="fine"))
        service.judge(play.store, T, State.REVIEW_FAILED, "no")

    play.claim("s1")
    for judge in (
        lambda _: service.judge_as_person(ada, T, State.REVIEW_FAILED, "no"),
        lambda _: service.judge_as_person(session, T, State.FIX_PROPOSED, "so"),
        by_agent,
        lambda _: service.judge_as_person(play.store, T, State.REVIEW_FAILED, "no"),
        lambda _: service.judge(play.store, T, State.REVIEW_FAILED, "no"),
    ):
        play.submit(1, 2)
        judge(service.task_view(play.store, T).history[-1].message_id or 0)
        play.look()
        play.resume(entry(EntryKind.SENT_BACK, "checkpoint 1", "x"))
    service.ask_human(play.store, T, kind="question", subject_id=1, text="may I?")
    service.send(session, T, "yes")
    play.look()
    texts = [each.text for each in told(play.store, play.looks)]
    assert [each for each in texts if each.endswith((": no", ": so", ": yes"))] == [
        "sent back by ada: no",
        "answered by session 4f2a for ada: so",
        "sent back by the reviewing agent: no",
        "sent back by a person: no",
        "sent back: no",
        "session 4f2a for ada has settled it: answered: yes",
    ]


def test_a_question_that_was_settled_and_asked_again_between_two_looks_is_told_as_it_was(play: Play) -> None:
    """DASHBOARD-ORDERS."""
    play.claim("s1")
    for name in ("ada", "bob"):
        service.ask_human(play.store, T, kind="question", subject_id=1, text=f"may I, {name}?")
        service.send(service.signed(play.store, service.Signer(name=name)), T, f"by {name}")
    play.look()
    texts = [each.text for each in told(play.store, play.looks)]
    assert [each for each in texts if "settled" in each] == [
        "ada has settled it: answered: by ada",
        "bob has settled it: answered: by bob",
    ]
