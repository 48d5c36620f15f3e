"""The stage shows the newest look, survives what it shows on, and tells its own defects."""

import threading
from typing import Any, Protocol, cast

import pytest

from musician import service
from musician.cli import run_stage
from musician.cli.run_end import End
from musician.cli.run_lines import Lines
from musician.cli.run_stage import Stage
from musician.protocol.errors import UnknownTask
from musician.protocol.rules.review import Smoothness
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.reporting.account import account_of
from musician.reporting.standing import Standing
from musician.runtime.conductor.conduct import Ending, Outcome
from musician.service import PhaseSmoothness
from musician.store.port import Store
from musician.store.rows import HumanRow
from musician.testing.waiting import HANG_S
from musician.trees.base import FastForward, Move
from tests.conftest import Walk


def look(number: int) -> tuple[Standing, ...]:
    """A look is whatever it is: the stage does not open it."""
    return (cast("Standing", number),)


class Face(run_stage.Face):
    """Notes what it is shown; waits at a gate if it has one."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.shown: list[Any] = []
        self.ticked = threading.Event()
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.is_closed = False
        self._fault = fault

    def show(self, standings: tuple[Standing, ...]) -> None:
        self.entered.set()
        assert self.gate.wait(HANG_S)
        self.shown += standings
        if self._fault is not None:
            raise self._fault

    def tick(self) -> None:
        self.ticked.set()

    def close(self) -> None:
        self.is_closed = True


def test_a_slow_face_misses_looks_but_never_the_last() -> None:
    face = Face()
    face.gate.clear()
    stage = Stage(face)
    stage.on_look(look(1))
    assert face.entered.wait(HANG_S)
    for number in range(2, 10):
        stage.on_look(look(number))  # returns at once
    assert not stage.finish(0.01)
    face.gate.set()
    assert stage.finish()
    assert face.shown == [1, 9]
    assert face.is_closed


def test_a_face_ages_without_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_stage, "TICK_S", 0.001)
    face = Face()
    stage = Stage(face)
    assert face.ticked.wait(HANG_S)
    assert stage.finish()
    assert face.shown == []


@pytest.mark.parametrize("fault", [BrokenPipeError(), OSError(5, "gone"), UnknownTask(task_id="task-01")])
def test_what_cannot_be_shown_is_given_up_in_silence(
    fault: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Stage(Face(fault))
    stage.on_look(look(1))
    assert stage.finish()
    stage.on_look(look(2))
    assert capsys.readouterr() == ("", "")


def test_a_defect_is_raised_at_the_end_and_not_before() -> None:
    stage = Stage(Face(ZeroDivisionError("ours")))
    stage.on_look(look(1))
    stage.on_look(look(2))
    with pytest.raises(ZeroDivisionError, match="ours"):
        stage.finish()


def test_a_new_day_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from musician.reporting.events import Event

    class Days:
        def news(self, views: object) -> tuple[Event, ...]:
            return tuple(
                Event(at=f"2026-01-0{day} 12:00:00", task_id="task-01", state=State.WORKING, text=str(day))
                for day in (1, 1, 2)
            )

    monkeypatch.setattr("musician.cli.run_lines.today", lambda: "2026-01-01")
    Lines(cast("Any", Days()), head="head", id_width=7).show(())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines].count("2026-01-02") == 1
    assert lines.index("2026-01-02") == 3


class EndOf(Protocol):
    def __call__(self, outcome: Outcome, *asks: HumanRow) -> End: ...


@pytest.fixture
def end_of(store: Store, walk: Walk) -> EndOf:
    """The end of a run of one task that is at work."""
    walk(store, "task-01", State.WORKING)

    def make(outcome: Outcome, *asks: HumanRow) -> End:
        view = replace(service.task_view(store, "task-01"), asks=asks)
        standings = (Standing(view),)
        return End(
            plan_id="greeter",
            outcome=outcome,
            standings=standings,
            base_branch="trunk",
            integration="musician/greeter/_integration",
            again="musician run PLAN.md",
            phases=(
                PhaseSmoothness(
                    plan_id="greeter",
                    number=1,
                    title="Foundations",
                    smoothness=Smoothness(submissions=4, mean=1.25, worst=6),
                ),
                PhaseSmoothness(plan_id="greeter", number=2, title="Polish", smoothness=None),
            ),
            took_s=65,
            account=account_of(None, store, standings, plan_id="greeter", title="Greet people"),
        )

    return make


def test_the_smoothness_of_each_phase_is_summed_up_at_the_end(end_of: EndOf) -> None:
    end = end_of(Outcome(ending=Ending.COMPLETE))
    assert (
        "smoothness of phase 1 (Foundations): 1.2 on average of 4 submissions, the roughest 6 of 9"
        in end.summary
    )
    assert "phase 2" not in end.summary
    assert [each["smoothness"] for each in cast("Any", end.document["phases"])] == [
        {"submissions": 4, "mean": 1.25, "worst": 6},
        None,
    ]


def test_work_in_the_users_own_tree_is_not_called_merged(end_of: EndOf) -> None:
    said = end_of(Outcome(ending=Ending.COMPLETE)).summary
    assert "The work is in your working tree." in said
    assert "branch: `" not in end_of(Outcome(ending=Ending.COMPLETE)).page
    assert "in 1:05" in said


@pytest.mark.parametrize(
    ("moved", "text", "place"),
    [
        (FastForward(move=Move.MOVED), "your branch trunk was moved to the result", "- your branch: `trunk`"),
        (FastForward(move=Move.ALREADY), "your branch trunk has it all", "- your branch: `trunk`"),
        (
            FastForward(move=Move.NOT_POSSIBLE, reason="it is dirty", command="git merge x"),
            "Your branch was left alone: it is dirty.\nTo take it: git merge x",
            "- the plan's branch: `musician/",
        ),
    ],
)
def test_the_end_says_what_became_of_the_users_branch_and_which_has_the_work(
    end_of: EndOf, moved: FastForward, text: str, place: str
) -> None:
    end = end_of(Outcome(ending=Ending.COMPLETE, moved=moved))
    assert text in end.summary
    assert place in end.page
    assert cast("dict[str, object]", end.document["branch"])["move"] == moved.move


def test_work_that_was_set_aside_is_not_dropped_silently(end_of: EndOf) -> None:
    ref = "refs/musician/partial/greeter/task-01/1"
    end = end_of(Outcome(ending=Ending.COMPLETE, pruned=(ref,)))
    assert "the newest 10 states of each task are kept under" in end.summary
    assert "1 older state dropped." in end.summary
    assert end.document["pruned"] == [ref]
    assert "set aside" not in end_of(Outcome(ending=Ending.COMPLETE)).summary


def test_a_standstill_nobody_asked_about_is_not_passed_over(end_of: EndOf) -> None:
    said = end_of(Outcome(ending=Ending.NEEDS_HUMAN)).summary
    assert (
        "Nothing can go on, and nothing was asked: look at `musician status` and `musician doctor`." in said
    )


def test_a_question_of_a_kind_nobody_knows_can_be_answered(end_of: EndOf) -> None:
    ask = HumanRow(
        id=1,
        task_id="task-01",
        kind="odd",
        subject_id=0,
        text="what now?",
        at="2026-01-01 00:00:00",
        resolved_at=None,
        resolution=None,
    )
    said = end_of(Outcome(ending=Ending.INTERRUPTED), ask).summary
    assert "  task-01, odd: what now?" in said
    assert '    musician send task-01 "what to do"  answer, and let it go on' in said
