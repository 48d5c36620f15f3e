"""Every input in every mode: taken, or refused with nothing changed."""

from contextlib import suppress
from dataclasses import replace

import pytest

from musician.protocol.errors import BadField, EvidenceMissing, UnexpectedInput
from musician.protocol.journal import Progress
from musician.protocol.musician import inputs as i
from musician.protocol.musician.engine import step, takes
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.state import Mode, MusicianState, Waiting
from musician.protocol.rules.deviations import Severity
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS, State
from tests.said import evidence

STEP = Play(item="step 1", title="", prose="", scripts=(), step=1)
CHECK = CheckpointItem(item="checkpoint 1", number=1, of=1, title="", commands=(), rework=(), final=True)
NEW = MusicianState(program=Program(task_id="task-01", title="", items=(STEP, CHECK)), settings=Settings())
PLAYED = Progress(completed=("step 1",))

WHERE: dict[str, MusicianState] = {
    "new": NEW,
    "playing": replace(NEW, mode=Mode.PLAYING, current=STEP),
    "reworking": replace(
        NEW, mode=Mode.REWORKING, current=CHECK, rework_item="rework 1.1", progress=PLAYED, feedback="x"
    ),
    "verifying": replace(NEW, mode=Mode.VERIFYING, current=CHECK, progress=PLAYED),
    "awaiting verdict": replace(
        NEW, mode=Mode.AWAITING_VERDICT, current=CHECK, progress=PLAYED, waiting=Waiting.SUBMISSION
    ),
    "awaiting answer": replace(NEW, mode=Mode.AWAITING_ANSWER, current=STEP, question_open=True),
    "paused": replace(NEW, mode=Mode.PAUSED, current=STEP, pause="all pause"),
    "with a person": replace(NEW, mode=Mode.WITH_PERSON, current=STEP, is_wanted=True),
    "limited": replace(NEW, mode=Mode.LIMITED, current=STEP),
    "stopping a step": replace(NEW, mode=Mode.STOPPING, current=STEP),
    "stopping a rework": replace(
        NEW, mode=Mode.STOPPING, current=CHECK, rework_item="rework 1.1", progress=PLAYED
    ),
    "stopping a verification": replace(NEW, mode=Mode.STOPPING, current=CHECK, progress=PLAYED),
    "choosing": replace(NEW, mode=Mode.CHOOSING, chooses=True, used_pct=50.0, progress=PLAYED),
    "ended": replace(NEW, mode=Mode.ENDED),
}

STARTED = [name for name in WHERE if name not in ("new", "ended")]
STOPPING = [name for name in WHERE if name.startswith("stopping")]
RUNNING = ["playing", "reworking", "verifying", *STOPPING]
STEPS, REWORKS = ["playing", "stopping a step"], ["reworking", "stopping a rework"]
CHOOSING = ["choosing"]
BY_HAND = ["awaiting verdict", *CHOOSING]
CHECKS = ["verifying", "stopping a verification"]


def ended(item: str, ending: i.PieceEnding) -> i.PieceEnded:
    return i.PieceEnded(item=item, ending=ending, detail="d")


DONE, STOPPED = i.PieceEnding.DONE, i.PieceEnding.STOPPED
BADLY = [each for each in i.PieceEnding if each not in (DONE, STOPPED)]
TAKEN: list[tuple[i.Input, list[str]]] = [
    (i.Started(progress=Progress(), errors_so_far=0, retry_limit=5, report_path=""), ["new"]),
    *((ended("step 1", each), STEPS) for each in (DONE, *BADLY)),
    *((ended("rework 1.1", each), REWORKS) for each in (DONE, *BADLY)),
    (ended("checkpoint 1", DONE), []),
    *((ended("checkpoint 1", each), CHECKS) for each in BADLY),
    *((ended(item, STOPPED), STOPPING) for item in ("step 1", "checkpoint 1", "rework 1.1", "")),
    *((ended("step 9", each), []) for each in (DONE, *BADLY)),
    *(
        (
            i.VerificationEnded(
                outcome=outcome,
                verified=evidence(),
                tests="",
                failing="",
                files_modified=0,
                key_outputs=(),
            ),
            CHECKS,
        )
        for outcome in Verification
    ),
    *((i.ContextTold(used_pct=used), STARTED) for used in (None, 40.0, 90.0)),
    (i.DeviationTold(severity=Severity.LOW, text="t"), [*RUNNING, *BY_HAND]),
    (i.SelfCorrectionTold(text="t"), [*RUNNING, *BY_HAND]),
    (i.QuestionTold(text="t"), [*RUNNING, *BY_HAND]),
    (i.PartialTold(text="t"), RUNNING),
    (i.AnswerTold(number=1, text="t"), RUNNING),
    *(
        (
            i.VerdictArrived(state=state, text="t", progress=PLAYED),
            ["awaiting verdict"] if state in VERDICTS | {State.EXIT_REQUESTED} else [],
        )
        for state in State
    ),
    *((i.MessageArrived(message_id=1, text="t", urgent=urgent), STARTED) for urgent in (False, True)),
    (i.Steered(message_id=1), STARTED),
    (i.PauseAsked(text="t"), STARTED),
    (i.PauseLifted(), STARTED),
    (i.PlanPaused(text="t"), STARTED),
    (i.PlanResumed(), STARTED),
    (i.ExitWasRequested(text="t"), STARTED),
    (i.PersonCame(), [mode for mode in STARTED if mode not in (*CHOOSING, "with a person")]),
    (i.PersonLeft(), STARTED),
    *(
        (
            i.WaitTimedOut(conductor_is_fresh=fresh),
            ["awaiting verdict", "awaiting answer", "paused", *CHOOSING],
        )
        for fresh in (False, True)
    ),
    (i.LimitLifted(), ["limited"]),
    (i.StopAsked(reason="SIGTERM"), STARTED),
    (i.ClaimWasLost(), ["new", *STARTED]),
    (i.LeavingChosen(reason="session ended"), BY_HAND),
    (i.BeginningChosen(item="step 1"), CHOOSING),
    (i.EndingChosen(item="step 1"), BY_HAND),
    (i.SkippingChosen(item="step 1 agent 1", why="t"), CHOOSING),
    (i.CorrectionChosen(), CHOOSING),
    (i.CheckpointChosen(number=None), CHOOSING),
    (i.FailureChosen(text="t"), BY_HAND),
    (i.WarningChosen(), BY_HAND),
    (i.CompletionChosen(), CHOOSING),
]


def test_the_pairs_below_are_all_there_are() -> None:
    every = {each.__name__ for each in i.Input.__subclasses__()}
    assert {type(given).__name__ for given, _ in TAKEN} == every
    assert {state.mode for state in WHERE.values()} == set(Mode)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("given", "taken_in"), TAKEN, ids=lambda value: type(value).__name__)
def test_an_input_is_taken_where_it_can_happen_and_elsewhere_changes_nothing(
    given: i.Input, taken_in: list[str], where: str
) -> None:
    state = WHERE[where]
    assert takes(state, given) is (where in taken_in)
    if where in taken_in:
        with suppress(EvidenceMissing, BadField):  # who chooses may be refused
            assert step(state, given) == step(state, given)
        return
    with pytest.raises(UnexpectedInput) as caught:
        step(state, given)
    assert (caught.value.what, caught.value.mode) == (type(given).__name__, state.mode)
    assert state == WHERE[where]
